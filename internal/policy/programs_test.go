package policy

import (
	"maps"
	"slices"
	"testing"
)

// The lists that the code asks for are there, and no others; those that tell what the words of a
// command are share no name.
func TestPrograms(t *testing.T) {
	want := []string{"every operand", "finds files", "inline code", "no directory", "plain words", "prints its words", "runs its operand", "searches"}
	if got := slices.Sorted(maps.Keys(programs())); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	stands := map[string]string{}
	for _, list := range []string{"plain words", "prints its words", "finds files", "searches"} {
		for name := range programs()[list] {
			if other := stands[name]; other != "" {
				t.Errorf("%s stands in %q and %q", name, other, list)
			}
			stands[name] = list
		}
	}
}
