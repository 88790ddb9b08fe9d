package policy

import (
	"maps"
	"slices"
	"testing"

	"assent/internal/policy/shell"
)

// The lists that the code asks for are there, and no others; those that tell what the words of a
// command are share no name.
func TestPrograms(t *testing.T) {
	want := []string{"every operand", "finds files", "inline code", "no directory", "plain words", "prints its words", "runs its operand", "searches"}
	if got := slices.Sorted(maps.Keys(shell.Lists(programsText))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p := programs()
	for _, list := range []shell.Names{p.runsOperand, p.everyOperand, p.plainWords, p.printsWords, p.findsFiles, p.searches, p.noDirectory, p.inlineCode} {
		if len(list) == 0 {
			t.Error("a list is empty")
		}
	}
	stands := map[string]string{}
	for list, names := range map[string]shell.Names{
		"plain words": p.plainWords, "prints its words": p.printsWords, "finds files": p.findsFiles, "searches": p.searches,
	} {
		for name := range names {
			if other := stands[name]; other != "" {
				t.Errorf("%s stands in %q and %q", name, other, list)
			}
			stands[name] = list
		}
	}
}
