package policy

import (
	_ "embed"
	"strings"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed programs.txt
var programsText string

// programs are the lists of programs.txt, which says what they mean.
var programs = sync.OnceValue(func() *programLists {
	lists := shell.Lists(programsText)
	all := &programLists{inlineCode: lists["inline code"], byName: map[string]*program{}}
	each := func(title string, note func(p *program, value string)) {
		for name, value := range lists[title] {
			note(all.get(name), value)
		}
	}
	each("runs its operand", func(p *program, _ string) { p.runsOperand = true })
	each("every operand", func(p *program, _ string) { p.everyOperand = true })
	each("other names", func(p *program, names string) { p.otherNames = names })
	each("any order", func(p *program, _ string) { p.ways |= inAnyOrder })
	each("shortens", func(p *program, _ string) { p.ways |= shortened })
	each("own words", func(p *program, _ string) { p.ownWords = true })
	for title, kind := range map[string]programKind{"plain words": plainWords, "prints its words": printsWords, "finds files": findsFiles, "searches": searches, "no directory": noDirectory} {
		each(title, func(p *program, _ string) { p.kind |= kind })
	}
	for title, words := range lists {
		if name, is := strings.CutPrefix(title, "commands of "); is {
			all.get(name).commands = words
		}
	}
	for name, doors := range sideTable() {
		all.get(name).doors = doors
	}
	for name, rows := range alikeTable() {
		all.get(name).alike = rows
	}
	return all
})

type programLists struct {
	inlineCode shell.Names
	byName     map[string]*program
}

func (l *programLists) get(name string) *program {
	p := l.byName[name]
	if p == nil {
		p = &program{}
		l.byName[name] = p
	}
	return p
}

// program is what the lists and the table of side doors say about one program.
type program struct {
	kind                                programKind
	ways                                ways
	runsOperand, everyOperand, ownWords bool
	otherNames                          string
	commands                            shell.Names   // that it has itself; nil: not known
	doors                               *programDoors // nil: none are known
	alike                               []alikeRow    // what else its commands may do
}

// unknownProgram is one of which nothing is said.
var unknownProgram program // read-only

// programOf is what is said about a program, by its name without a directory.
func programOf(name string) *program {
	if p := programs().byName[name]; p != nil {
		return p
	}
	return &unknownProgram
}

// programOf is that of the unit that is looked at mostly.
func (e *scope) programOf(name string) *program {
	if e.program == nil || e.programName != name {
		e.program, e.programName = programOf(name), name
	}
	return e.program
}

// programKind says in which of the lists about a program's words it stands.
type programKind uint8

const (
	plainWords programKind = 1 << iota
	printsWords
	findsFiles
	searches
	noDirectory
)

// usesOf says what a program does with its words.
func usesOf(program string) programKind { return programOf(program).kind }

// withoutVersion is a name without the digits and dots at its end.
func withoutVersion(name string) string {
	n := len(name)
	for n > 0 && (name[n-1] >= '0' && name[n-1] <= '9' || name[n-1] == '.') {
		n--
	}
	return name[:n]
}
