package suggest

import (
	"fmt"
	"testing"
)

// BenchmarkPropose makes the proposals of a command with two packs in force, and looks at a
// thousand past requests, of which a tenth are for its program.
func BenchmarkPropose(b *testing.B) {
	d := newDesk(b, "version: 1\nuse: [builtin/readonly@1, builtin/git-read@1]\n")
	req := d.bash("go test ./... -run X | head -5")
	for i := range maxPast {
		command := "npm run x"
		if i%10 == 0 {
			command = fmt.Sprintf("go test ./x%d -run Y | head -5", i%7)
		}
		r := d.bash(command)
		r.ID = fmt.Sprint(i)
		d.past = append(d.past, r)
	}
	for b.Loop() {
		if p, err := d.Propose(b.Context(), req); err != nil || len(p.Proposals) != 2 || p.Proposals[1].Past.Matched != maxPast/10 {
			b.Fatalf("%d proposals, %v", len(p.Proposals), err)
		}
	}
}
