package policy

import (
	_ "embed"
	"sync"

	"assent/internal/policy/shell"
)

//go:embed programs.txt
var programsText string

// programs are the lists of programs.txt, which says what they mean.
var programs = sync.OnceValue(func() map[string]shell.Names { return shell.Lists(programsText) })
