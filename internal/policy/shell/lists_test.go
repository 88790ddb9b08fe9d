package shell

import (
	"maps"
	"slices"
	"testing"
)

func TestLists(t *testing.T) {
	lists := Lists("# of nobody\nx\n\n[two words]\n a b=c=d\tb2= [ \n[empty]\n[one]\n# not a\nz\n")
	for _, tt := range []struct {
		list string
		want Names
	}{
		{"", Names{"x": ""}},
		{"two words", Names{"a": "", "b": "c=d", "b2": "", "[": ""}},
		{"empty", nil},
		{"one", Names{"z": ""}},
	} {
		t.Run(tt.list, func(t *testing.T) {
			if got := lists[tt.list]; !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// The lists that the code asks for are there, and no others.
func TestPrograms(t *testing.T) {
	want := []string{"follows", "follows after a word", "hands over", "runs its input", "words"}
	if got := slices.Sorted(maps.Keys(Lists(programsText))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, list := range []Names{programs().handsOver, programs().follows, programs().followsAfter, programs().words, programs().runsInput} {
		if len(list) == 0 {
			t.Error("a list is empty")
		}
	}
	for name := range programs().runsInput {
		if IsShell(name) {
			t.Errorf("%s is a shell and stands among the others", name)
		}
	}
}
