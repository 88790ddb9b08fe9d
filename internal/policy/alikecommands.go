package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed alikecommands.txt
var alikeText string

// alikeRow says that a command may do what another one does, see alikecommands.txt.
type alikeRow struct {
	words   []string // without a dash, in this order; none: a command that has no such words
	flags   []string // that stand anywhere
	without []string // flags that do not
	program string   // of the other command; empty: the same
	other   []string
}

// alikeTable are the rows by program.
var alikeTable = sync.OnceValue(func() map[string][]alikeRow {
	table, err := readAlike(alikeText)
	if err != nil {
		return nil // a test reads it
	}
	return table
})

func readAlike(text string) (map[string][]alikeRow, error) {
	table := map[string][]alikeRow{}
	var programs []string
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != '\t' {
			programs = strings.Split(line, ",")
			continue
		}
		left, right, is := strings.Cut(line, " = ")
		if !is || programs == nil {
			return nil, fmt.Errorf("commands that are alike, line %d: expected WORDS = WORDS below programs", n+1)
		}
		row := alikeRow{other: strings.Fields(right)}
		for word := range strings.FieldsSeq(left) {
			switch {
			case word == "." && strings.TrimSpace(left) == ".":
			case word[0] == '!':
				row.without = append(row.without, word[1:])
			case word[0] == '-':
				row.flags = append(row.flags, word)
			default:
				row.words = append(row.words, word)
			}
		}
		if name, is := strings.CutPrefix(row.other[0], "@"); is {
			row.program, row.other = name, row.other[1:]
		}
		for _, p := range programs {
			table[p] = append(table[p], row)
		}
	}
	return table, nil
}

// alikeCommands yields what a command may do as well, in the words of another one.
func (p *program) alikeCommands(base string, argv []shell.Word) func(func([]shell.Word) bool) {
	return func(yield func([]shell.Word) bool) {
		for i := range p.alike {
			row := &p.alike[i]
			if len(row.words) > 0 && len(argv) > 1 && argv[1].Static && argv[1].Text != row.words[0] && !strings.HasPrefix(argv[1].Prefix, "-") {
				continue // another command, as most are
			}
			rest, is := row.rest(argv[1:])
			if !is {
				continue
			}
			program := base
			if row.program != "" {
				program = row.program
			}
			words := []shell.Word{plainWord(argv[0], program)}
			for _, w := range row.other {
				words = append(words, plainWord(argv[0], w))
			}
			if !yield(append(words, rest...)) {
				return
			}
		}
	}
}

// rest returns the words of a command that the row does not name; is is false for another command.
func (r *alikeRow) rest(words []shell.Word) (rest []shell.Word, is bool) {
	next, bare := 0, true
	for i, w := range words {
		switch flag := strings.HasPrefix(w.Prefix, "-"); {
		case flag:
		case next < len(r.words) && w.Static && w.Text == r.words[next]:
			next++
			bare = false
			continue
		case i > 0 && strings.HasPrefix(words[i-1].Prefix, "-") && !strings.Contains(words[i-1].Prefix, "="):
			// It may be the value of the flag.
		case next < len(r.words):
			return nil, false
		default:
			bare = false
		}
		rest = append(rest, w)
	}
	if next < len(r.words) || len(r.words) == 0 && !bare && len(r.flags) == 0 {
		return nil, false
	}
	for _, flag := range r.flags {
		if !slices.ContainsFunc(words, func(w shell.Word) bool { return saysFlag(w, flag) }) {
			return nil, false
		}
	}
	for _, flag := range r.without {
		if slices.ContainsFunc(words, func(w shell.Word) bool { return saysFlag(w, flag) }) {
			return nil, false
		}
	}
	return rest, true
}

// saysFlag says whether a word is a flag, in full or shortened, with one dash or two, with a value or among others.
func saysFlag(w shell.Word, flag string) bool {
	t := w.Prefix
	if flag == "--" || len(t) < 2 || t[0] != '-' {
		return t == flag
	}
	name, _, _ := strings.Cut(strings.TrimLeft(t, "-"), "=")
	want := strings.TrimLeft(flag, "-")
	switch {
	case name == want, name != "" && !w.Static && strings.HasPrefix(want, name):
		return true
	case len(want) == 1:
		return t[1] != '-' && strings.Contains(name, want)
	}
	return len(name) > 2 && strings.HasPrefix(want, name)
}

// alikeGuards has the rules that deny or ask about a command count as perhaps meant where another one may do the same.
// It is called while what is looked at counts as feared.
func (s *Set) alikeGuards(u *shell.Unit, e *scope, o *outcome) {
	was, found := o.maybe, 0
	look := func(argv []shell.Word) {
		if len(argv) == 0 || !argv[0].Static {
			return
		}
		base := argv[0].Text[strings.LastIndexByte(argv[0].Text, '/')+1:]
		for words := range e.programOf(base).alikeCommands(base, argv) {
			if s.guards.byProgram[words[0].Text] == nil {
				continue
			}
			if !e.spend(1 + len(words)) {
				return
			}
			if found++; found > maxFeared {
				e.partial = true
				return
			}
			s.unitGuards(&shell.Unit{Kind: shell.Command, Start: u.Start, End: u.End, Base: words[0].Text, Argv: words, Dir: u.Dir, DirKnown: u.DirKnown, Out: -1, Of: -1, DenyOnly: true}, e, o)
			if was == nil && o.maybe != nil && o.alike == "" {
				o.alike = quote(unitText(u)) + " may do what " + quote(unitText(&shell.Unit{Kind: shell.Command, Argv: words})) + " does"
			}
		}
	}
	look(u.Argv)
	for _, argv := range u.Alt {
		look(argv)
	}
	if len(u.Argv) > 0 && u.Argv[0].Static {
		for _, words := range e.programOf(u.Base).sameCommands(u.Base, u.Argv) {
			look(words)
		}
	}
}
