package policy

import (
	_ "embed"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed programs.txt
var programsText string

// programs are the lists of programs.txt, which says what they mean.
var programs = sync.OnceValue(func() *programLists {
	lists := shell.Lists(programsText)
	all := &programLists{runsOperand: lists["runs its operand"], everyOperand: lists["every operand"], inlineCode: lists["inline code"],
		otherNames: lists["other names"], anyOrder: lists["any order"], shortens: lists["shortens"], ownWords: lists["own words"], kinds: map[string]programKind{}}
	for title, kind := range map[string]programKind{"plain words": plainWords, "prints its words": printsWords, "finds files": findsFiles, "searches": searches, "no directory": noDirectory} {
		for name := range lists[title] {
			all.kinds[name] |= kind
		}
	}
	return all
})

type programLists struct {
	runsOperand, everyOperand, inlineCode    shell.Names
	otherNames, anyOrder, shortens, ownWords shell.Names
	kinds                                    map[string]programKind
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
func usesOf(program string) programKind { return programs().kinds[program] }
