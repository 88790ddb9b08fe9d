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
	want := []string{"any order", "commands of cargo", "commands of gh", "commands of git", "commands of npm", "every operand", "finds files", "inline code", "no directory", "other names", "own words", "plain words", "prints its words", "runs its operand", "searches", "shortens"}
	if got := slices.Sorted(maps.Keys(shell.Lists(programsText))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for title, names := range shell.Lists(programsText) {
		if len(names) == 0 {
			t.Errorf("the list %q is empty", title)
		}
	}
	count := map[programKind]int{}
	for name, p := range programs().byName {
		kind := p.kind
		for one := programKind(1); one <= noDirectory; one <<= 1 {
			if kind&one != 0 {
				count[one]++
			}
		}
		if words := kind &^ noDirectory; words&(words-1) != 0 {
			t.Errorf("%s stands in two lists", name)
		}
	}
	if len(count) != 5 {
		t.Errorf("of five lists there are %v", count)
	}
}
