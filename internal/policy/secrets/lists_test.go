package secrets

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write lists.gen.go")

// TestLists: the lists in the program are those of the text.
func TestLists(t *testing.T) {
	want, err := format.Source(generate())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("lists.gen.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("lists.gen.go")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("lists.gen.go is not what secrets.txt says (%v): go test ./internal/policy/secrets -run Lists -update", err)
	}
}

func generate() []byte {
	var names, kinds, dirs, many []string
	var shapes []shape
	var paths [][]string
	grams, dirGrams := map[uint32][]uint16{}, map[uint32][]uint16{}
	parts, wild := map[string][]uint16{}, map[string][]uint16{}
	add := func(s shape) {
		need := rarest(s.src)
		s.src = negated(s.src)
		shapes = append(shapes, s)
		i := uint16(len(shapes) - 1)
		if len(need) < 3 {
			panic(s.src + " says too little: every name would be compared with it")
		}
		grams[gramOf(need)] = append(grams[gramOf(need)], i)
	}
	section := ""
	for line := range strings.SplitSeq(Text, "\n") {
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
				names = append(names, line)
			case strings.HasPrefix(line, "*.") && !strings.ContainsAny(line[1:], "*?["):
				kinds = append(kinds, line[1:])
			default:
				add(shape{src: line})
			}
		case "[words]":
			add(shape{line, true})
		case "[directories]":
			if plain {
				dirs = append(dirs, line)
			} else {
				if slices.Contains(many, negated(line)) {
					break
				}
				many = append(many, negated(line))
				need := rarest(line)
				if len(need) < 3 {
					panic(line + " says too little: every name would be compared with it")
				}
				dirGrams[gramOf(need)] = append(dirGrams[gramOf(need)], uint16(len(many)-1))
			}
		case "[paths]":
			p := strings.Split(negated(strings.TrimPrefix(strings.TrimPrefix(line, "~"), "/")), "/")
			if line[0] == '~' { // wherever a home is
				p = append([]string{"**"}, p...)
			}
			paths = append(paths, p)
			i, trigger := uint16(len(paths)-1), ""
			for _, s := range p {
				if !strings.ContainsAny(s, "*?[") && len(s) > len(trigger) {
					trigger = s
				}
			}
			if trigger != "" {
				parts[trigger] = append(parts[trigger], i)
				continue
			}
			for _, s := range p {
				if len(literal(s)) > len(literal(trigger)) {
					trigger = s
				}
			}
			if trigger == "" || literal(trigger) == "" {
				panic(line + " says nothing")
			}
			wild[trigger] = append(wild[trigger], i)
		}
	}
	var b bytes.Buffer
	b.WriteString("// Code generated from secrets.txt; see the package's documentation. DO NOT EDIT.\n\npackage secrets\n\n")
	listed := func(name string, all []string) {
		fmt.Fprintf(&b, "var %s = []string{", name)
		for i, s := range all {
			if i%8 == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%q,", s)
		}
		b.WriteString("\n}\n\n")
	}
	list := func(name string, all []string) {
		slices.Sort(all)
		listed(name, slices.Compact(all))
	}
	numbers := func(all []uint16) string {
		s := make([]string, len(all))
		for i, n := range all {
			s[i] = fmt.Sprint(n)
		}
		return "[]uint16{" + strings.Join(s, ", ") + "}"
	}
	list("names", names)
	list("kinds", kinds)
	list("directories", dirs)
	listed("manyDirectories", many)
	b.WriteString("var shapes = []shape{\n")
	for _, s := range shapes {
		fmt.Fprintf(&b, "{%q, %v},\n", s.src, s.word)
	}
	b.WriteString("}\n")
	index := func(name, bitsName string, all map[uint32][]uint16) {
		fmt.Fprintf(&b, "\nvar %s = []gram{\n", name)
		var bits [1 << 9]uint64
		for _, k := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&b, "{%#x, %s},\n", k, numbers(all[k]))
			w, bit := gramBit(k)
			bits[w] |= 1 << bit
		}
		fmt.Fprintf(&b, "}\n\nvar %s = [1 << 9]uint64{\n", bitsName)
		for i, w := range bits {
			if w != 0 {
				fmt.Fprintf(&b, "%d: %#x,\n", i, w)
			}
		}
		b.WriteString("}\n")
	}
	index("grams", "gramBits", grams)
	index("dirGrams", "dirBits", dirGrams)
	b.WriteString("\nvar paths = [][]string{\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "{\"%s\"},\n", strings.Join(p, `", "`))
	}
	b.WriteString("}\n\nvar pathParts = []part{\n")
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(&b, "{%q, %s},\n", k, numbers(parts[k]))
	}
	b.WriteString("}\n\nvar manyParts = []part{\n")
	for _, k := range slices.Sorted(maps.Keys(wild)) {
		fmt.Fprintf(&b, "{%q, %s},\n", k, numbers(wild[k]))
	}
	b.WriteString("}\n\nvar exactBits = [1 << 10]uint64{\n")
	var exact [1 << 10]uint64
	for _, list := range [][]string{names, kinds, dirs, slices.Collect(maps.Keys(parts))} {
		for _, s := range list {
			w, bit := bitOf(s)
			exact[w] |= 1 << bit
		}
	}
	for i, w := range exact {
		if w != 0 {
			fmt.Fprintf(&b, "%d: %#x,\n", i, w)
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// negated writes the sets of characters as package path has them.
func negated(pattern string) string { return strings.ReplaceAll(pattern, "[!", "[^") }

// rarest are the three characters of which every match has some, and fewest other names.
func rarest(pattern string) string {
	best, least := "", 1<<30
	for _, part := range strings.FieldsFunc(plainOnly(pattern), func(r rune) bool { return r == 0 }) {
		for i := 0; i+3 <= len(part); i++ {
			s := part[i : i+3]
			count := strings.Count(Text, s)
			if strings.Contains(s, ".") {
				count += 1000 // every file of a kind
			}
			if count < least {
				best, least = s, count
			}
		}
	}
	return best
}

// plainOnly has a NUL where a pattern has no fixed character.
func plainOnly(pattern string) string {
	b := []byte(pattern)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '*', '?':
			b[i] = 0
		case '[':
			end := i + 1 + strings.IndexByte(pattern[i+1:], ']')
			for ; i < end; i++ {
				b[i] = 0
			}
			b[end] = 0
		}
	}
	return string(b)
}

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
