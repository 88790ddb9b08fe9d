// Package secrets has the one list of files that hold keys, passwords or tokens, and finds them in a
// tree. What the list says about a path anywhere, package policy knows; here only what lies below a
// directory counts. The list as it is needed for that is part of the program's data (lists.gen.go), so
// that a program that runs for each command has nothing to read as it starts:
//
//	go test ./internal/policy/secrets -run Lists -update
package secrets

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// Text is the list; its first lines say how it is read.
//
//go:embed secrets.txt
var Text string

// shape is a pattern for names.
type shape struct {
	src  string
	word bool // src stands somewhere in the name, and the name is that of data
}

// gram are the shapes, by their places in the list, of which every match has some three characters.
type gram struct {
	key    uint32
	shapes []uint16
}

// anyGram says whether one of the patterns does of which a name has the characters that every match has.
func anyGram(name string, bits *[1 << 9]uint64, all []gram, match func(uint16) bool) bool {
	for i := 0; i+2 < len(name); i++ {
		key := gramOf(name[i:])
		if w, b := gramBit(key); bits[w]&(1<<b) == 0 {
			continue
		}
		n, ok := slices.BinarySearchFunc(all, key, func(g gram, k uint32) int { return int(g.key) - int(k) })
		if ok && slices.ContainsFunc(all[n].shapes, match) {
			return true
		}
	}
	return false
}

func gramOf(s string) uint32 { return uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2]) }

func gramBit(key uint32) (word, bit uint32) {
	h := key * 0x9e3779b1 >> 17
	return h >> 6, h & 63
}

// bitOf is where a text would be marked in exactBits: most names are on no list, and are known by it.
func bitOf(s string) (word, bit uint32) {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	h = h * 0x9e3779b1 >> 16
	return h >> 6, h & 63
}

func maybe(s string) bool {
	w, b := bitOf(s)
	return exactBits[w]&(1<<b) != 0
}

func has(sorted []string, s string) bool {
	if !maybe(s) {
		return false
	}
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}

// Directory says whether nothing below a directory of this name is shown, nor a file of it.
func Directory(name string) bool { return directory(Fold(name)) }

func directory(name string) bool {
	return directoryItself(name) || slices.ContainsFunc(Originals(name), directory)
}

// directoryItself is directory without regard to copies.
func directoryItself(name string) bool {
	return has(directories, name) || anyGram(name, &dirBits, dirGrams, func(i uint16) bool { return fits(manyDirectories[i], name) })
}

// Name says whether a file of this name may hold a secret, wherever it lies.
func Name(name string) bool { return file(Fold(name)) }

func file(name string) bool {
	return fileItself(name) || slices.ContainsFunc(Originals(name), file)
}

// fileItself is file without regard to copies.
func fileItself(name string) bool {
	if has(names, name) {
		return true
	}
	for i := 1; i < len(name); i++ {
		if name[i] == '.' && has(kinds, name[i:]) {
			return true
		}
	}
	if anyGram(name, &gramBits, grams, func(i uint16) bool { return shapes[i].match(name) }) {
		return true
	}
	return name == "core" || strings.HasPrefix(name, "vgcore.") // what a program had in its memory
}

func (s *shape) match(name string) bool {
	harmless := func() bool { return Code(name) && !strings.HasPrefix(name, ".env") }
	if s.word {
		return strings.Contains(name, s.src) && !harmless() && !strings.Contains(name, "tokeniz") && Data(name)
	}
	return fits(s.src, name) && !(strings.HasSuffix(s.src, "*") && harmless())
}

// A Place is where in a tree one is, for the patterns of the list that are paths.
type Place struct {
	parts []string // folded
	may   []uint16 // patterns of which a part of the path is that which is spelled out
}

// Top is the place of an absolute path.
func Top(dir string) Place {
	p := Place{}
	for part := range strings.SplitSeq(strings.Trim(path.Clean(dir), "/"), "/") {
		p = p.Below(part)
	}
	return p
}

// Below is the place of an entry.
func (p Place) Below(name string) Place {
	name = Fold(name)
	q := Place{parts: append(p.parts[:len(p.parts):len(p.parts)], name), may: p.may}
	if more := byPart(name); len(more) > 0 {
		q.may = append(p.may[:len(p.may):len(p.may)], more...)
	}
	return q
}

// Depth is how many directories lie above.
func (p Place) Depth() int { return len(p.parts) }

// Secret says whether an entry of a place is not shown: a file, or a directory with all below it.
func (p Place) Secret(name string, isFile bool) bool {
	name = Fold(name)
	if directoryItself(name) || isFile && fileItself(name) || p.listed(name) {
		return true
	}
	return slices.ContainsFunc(Originals(name), func(original string) bool { // of most names there is none
		return directory(original) || isFile && file(original) || p.listed(original)
	})
}

// listed says whether an entry is one of those that are listed with their whole path.
func (p Place) listed(name string) bool {
	more := byPart(name)
	if len(p.may)+len(more) == 0 {
		return false
	}
	var few [32]string
	parts := append(append(few[:0], p.parts...), name)
	match := func(i uint16) bool {
		if len(paths[i]) != len(parts) && !slices.Contains(paths[i], "**") {
			return false // as most are
		}
		return below(paths[i], parts) && !(Code(name) && slices.Contains(paths[i], "secrets"))
	}
	return slices.ContainsFunc(p.may, match) || slices.ContainsFunc(more, match)
}

// part are the patterns for paths that have a part.
type part struct {
	name  string
	paths []uint16
}

// byPart are the patterns of which a name fits the part that says most.
func byPart(name string) []uint16 {
	for i := range manyParts { // few, and each for few names
		if fits(manyParts[i].name, name) {
			return append(exactPart(name), manyParts[i].paths...)
		}
	}
	return exactPart(name)
}

func exactPart(name string) []uint16 {
	if !maybe(name) {
		return nil
	}
	if i, ok := slices.BinarySearchFunc(pathParts, name, func(p part, s string) int { return strings.Compare(p.name, s) }); ok {
		return slices.Clip(pathParts[i].paths)
	}
	return nil
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

// fits compares a name, which has no slash; a pattern that cannot be read fits everything.
func fits(pattern, name string) bool {
	// Most differ in how they begin or end: path.Match tries each place for a * before it comes to the end.
	for pattern != "" && name != "" && plain(pattern[0]) {
		if pattern[0] != name[0] {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	for pattern != "" && plain(pattern[len(pattern)-1]) {
		if name == "" || pattern[len(pattern)-1] != name[len(name)-1] {
			return false
		}
		pattern, name = pattern[:len(pattern)-1], name[:len(name)-1]
	}
	if pattern == "*" {
		return true
	}
	if !hasRuns(pattern, name) {
		return false
	}
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}

// hasRuns says whether each part of a pattern that is spelled out stands somewhere in a name.
func hasRuns(pattern, name string) bool {
	for i := 0; i < len(pattern); i++ {
		from := i
		for i < len(pattern) && plain(pattern[i]) {
			i++
		}
		if from < i && !strings.Contains(name, pattern[from:i]) {
			return false
		}
		if i < len(pattern) && pattern[i] != '*' && pattern[i] != '?' { // a set of characters: the rest is left to path.Match
			return true
		}
	}
	return true
}

func plain(c byte) bool { return c != '*' && c != '?' && c != '[' && c != ']' && c != '\\' }
