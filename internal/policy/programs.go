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
	return &programLists{
		runsOperand: lists["runs its operand"], everyOperand: lists["every operand"],
		plainWords: lists["plain words"], printsWords: lists["prints its words"], findsFiles: lists["finds files"], searches: lists["searches"],
		noDirectory: lists["no directory"], inlineCode: lists["inline code"],
	}
})

type programLists struct {
	runsOperand, everyOperand                     shell.Names
	plainWords, printsWords, findsFiles, searches shell.Names
	noDirectory, inlineCode                       shell.Names
}
