// Package secrets has the one list of files that hold keys, passwords or tokens, and finds them in a
// tree. What the list says about a path anywhere, package policy knows; here only names below a project
// count, and a reading of the list starts in a fraction of a millisecond.
package secrets

import (
	_ "embed"
	"path"
	"strings"
)

// Text is the list; its first lines say how it is read.
//
//go:embed secrets.txt
var Text string

// Tree says which files of a tree may hold a secret. It may say so of more than the rules do, never of
// less. A Tree may be used by several goroutines at once.
type Tree struct {
	names       map[string]struct{} // exact names
	kinds       map[string]struct{} // ends of names: .pem
	directories map[string]struct{}
	shapes      []shape
	by          grams // of shapes and words, by what stands in every match
	manyDirs    []string
	paths       [][]string // patterns for whole paths, by their parts
	parts       map[string]struct{}
}

// shape is a pattern for names.
type shape struct {
	src  string
	word bool // src stands somewhere in the name, and the name is that of data
}

// grams finds the shapes that a name may match, by three characters that stand in every match.
type grams struct {
	bits [1 << 9]uint64
	of   map[[3]byte][]int32
	rest []int32 // shapes without three such characters
}

func (g *grams) add(need string, i int32) {
	if len(need) < 3 {
		g.rest = append(g.rest, i)
		return
	}
	k := [3]byte{need[0], need[1], need[2]}
	h := gram(k[0], k[1], k[2])
	g.bits[h>>6] |= 1 << (h & 63)
	g.of[k] = append(g.of[k], i)
}

func gram(a, b, c byte) uint { return (uint(a)*961 + uint(b)*31 + uint(c)) & (1<<15 - 1) }

// any says whether one of the shapes that may match does.
func (g *grams) any(name string, match func(int32) bool) bool {
	for _, i := range g.rest {
		if match(i) {
			return true
		}
	}
	for i := 0; i+2 < len(name); i++ {
		h := gram(name[i], name[i+1], name[i+2])
		if g.bits[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, n := range g.of[[3]byte{name[i], name[i+1], name[i+2]}] {
			if match(n) {
				return true
			}
		}
	}
	return false
}

// NewTree reads the list.
func NewTree() *Tree {
	t := &Tree{names: make(map[string]struct{}, 1024), kinds: make(map[string]struct{}, 256), directories: make(map[string]struct{}, 256), parts: map[string]struct{}{}}
	t.by.of = make(map[[3]byte][]int32, 512)
	section := ""
	for text := Text; text != ""; {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = line
			continue
		}
		plain := !strings.ContainsAny(line, "*?[")
		switch section {
		case "[names]":
			switch {
			case plain:
				t.names[line] = struct{}{}
			case line[0] == '*' && strings.HasPrefix(line, "*.") && !strings.ContainsAny(line[1:], "*?["):
				t.kinds[line[1:]] = struct{}{}
			default:
				t.add(shape{src: line}, literal(line))
			}
		case "[words]":
			t.add(shape{src: line, word: true}, line)
		case "[directories]":
			if plain {
				t.directories[line] = struct{}{}
			} else {
				t.manyDirs = append(t.manyDirs, negated(line))
			}
		case "[paths]":
			parts := strings.Split(negated(strings.TrimPrefix(strings.TrimPrefix(line, "~"), "/")), "/")
			if parts[0] != "**" { // wherever a home or a system's directories are copied to
				parts = append([]string{"**"}, parts...)
			}
			t.paths = append(t.paths, parts)
			for _, p := range parts[:len(parts)-1] {
				t.parts[p] = struct{}{}
			}
		}
	}
	return t
}

func (t *Tree) add(s shape, need string) {
	s.src = negated(s.src)
	t.shapes = append(t.shapes, s)
	t.by.add(need, int32(len(t.shapes)-1))
}

// negated writes the sets of characters as package path has them.
func negated(pattern string) string { return strings.ReplaceAll(pattern, "[!", "[^") }

// literal is the longest part of a pattern that stands in every match.
func literal(pattern string) string {
	best, from := "", 0
	for i := 0; i <= len(pattern); i++ {
		if i < len(pattern) && !strings.ContainsRune("*?[", rune(pattern[i])) {
			continue
		}
		if i-from > len(best) {
			best = pattern[from:i]
		}
		if i < len(pattern) && pattern[i] == '[' {
			if end := strings.IndexByte(pattern[i+1:], ']'); end >= 0 {
				i += end + 1
			}
		}
		from = i + 1
	}
	return best
}

// Directory says whether nothing below a directory of this name is shown.
func (t *Tree) Directory(name string) bool {
	name = Fold(name)
	if _, ok := t.directories[name]; ok {
		return true
	}
	for _, p := range t.manyDirs {
		if fits(p, name) {
			return true
		}
	}
	return false
}

// Name says whether a file of this name may hold a secret, wherever it lies.
func (t *Tree) Name(name string) bool {
	name = Fold(name)
	if _, ok := t.names[name]; ok {
		return true
	}
	for i := 1; i < len(name); i++ {
		if name[i] == '.' {
			if _, ok := t.kinds[name[i:]]; ok {
				return true
			}
		}
	}
	// Of a name that is code only some patterns count, and that is seldom asked: most match nothing.
	asked, harmless := false, false
	return t.by.any(name, func(i int32) bool {
		s := &t.shapes[i]
		if !s.word && !fits(s.src, name) || s.word && !strings.Contains(name, s.src) {
			return false
		}
		if !asked {
			asked, harmless = true, Code(name) && !strings.HasPrefix(name, ".env")
		}
		if s.word {
			return !harmless && !strings.Contains(name, "tokeniz") && Data(name)
		}
		return !harmless || !strings.HasSuffix(s.src, "*")
	})
}

// Part says whether Path has to be asked about what lies below a directory of this name.
func (t *Tree) Part(name string) bool {
	name = Fold(name)
	if _, ok := t.parts[name]; ok {
		return true
	}
	for p := range t.parts {
		if strings.ContainsAny(p, "*?[") && p != "**" && p != "*" && fits(p, name) {
			return true
		}
	}
	return false
}

// Path says whether a path that ends in a file or directory is one of those that are listed as a whole.
// Its parts are those below some root, without an empty one.
func (t *Tree) Path(parts []string) bool {
	folded := make([]string, len(parts))
	for i, p := range parts {
		folded[i] = Fold(p)
	}
	for _, pattern := range t.paths {
		if below(pattern, folded) && !(Code(folded[len(folded)-1]) && strings.Contains(strings.Join(pattern, "/"), "secrets/")) {
			return true
		}
	}
	return false
}

// below matches the parts of a path with those of a pattern, in which ** stands for any number of them.
func below(pattern, parts []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return true
			}
			for i := 0; i <= len(parts); i++ {
				if below(pattern[1:], parts[i:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 || !fits(pattern[0], parts[0]) {
			return false
		}
		pattern, parts = pattern[1:], parts[1:]
	}
	return len(parts) == 0
}

// fits compares a name; a pattern that cannot be read fits everything.
func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(name, "/", "_"))
	return ok || err != nil
}
