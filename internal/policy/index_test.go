package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assent/internal/policy/shell"
)

// TestGuardsInOrder: a word that may become any of those that rules name has all of them looked at, each once and in the
// order of the file. Where a bound of work ends the look, the answer would else differ from one time to the next.
func TestGuardsInOrder(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\ndeny:\n")
	const n = 60
	for i := range n {
		fmt.Fprintf(&text, "  - Bash(git verb%d *)\n", i)
	}
	s := load(t, text.String())
	u := &shell.Unit{Kind: shell.Command, Argv: []shell.Word{{Text: "git", Static: true}, {Text: "x"}}}
	look := func() (seen []int) {
		s.guards.guards(u, func(r *rule) bool {
			seen = append(seen, slices.Index(s.guards.byProgram["git"].anyArg, r))
			return true
		})
		return seen
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i
	}
	for range 10 {
		if got := look(); !slices.Equal(got, want) {
			t.Fatalf("looked at %v", got)
		}
	}
}
