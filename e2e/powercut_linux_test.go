package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/internal/tool/powercut"
)

var powerCuts = flag.Int("powercuts", 6, "how many times TestPowerCutsLoseNoDecision cuts the power")

// TestPowerCutsLoseNoDecision: the broker's state lies on a file system that forgets at a power cut
// what was not synced. Whatever was told before, to an approver or to a hook, is in the record
// after it. It is skipped where nothing can be mounted, in CI, too.
func TestPowerCutsLoseNoDecision(t *testing.T) {
	d := newDaemon(t)
	backing := filepath.Join(d.dir, "backing")
	must(t, errors.Join(os.Mkdir(backing, 0o700), os.Mkdir(d.state, 0o700)))
	disk, err := powercut.Mount(backing, d.state)
	if errors.Is(err, powercut.ErrMissing) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { // before the broker's own, which would find no state to look at
		if d.cmd != nil {
			d.kill()
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	d.start()

	outcomes := map[string]string{"allow": "allowed", "deny": "denied"}
	told := map[string]string{} // by request, what was decided
	for cut := range *powerCuts {
		// Two of three requests are decided when the power fails, and one of their hooks has its answer.
		session := fmt.Sprintf("s%d", cut)
		hooks := map[string]*hookRun{} // by command
		for i := range 3 {
			command := fmt.Sprintf("echo %d", i)
			hooks[command] = d.hook(bash(session, command), "--timeout", "10m")
		}
		var asked []request
		eventually(t, 2*soon, "the requests of the round", func() bool {
			asked = slices.DeleteFunc(d.pending(), func(r request) bool { return r.SessionID != session })
			return len(asked) == len(hooks)
		})
		for i, r := range asked[:2] {
			behavior := []string{"allow", "deny"}[(cut+i)%2]
			d.decide(r, decision{Behavior: behavior})
			told[r.ID] = behavior
			if i > 0 {
				continue
			}
			var input struct{ Command string }
			must(t, json.Unmarshal(r.ToolInput, &input))
			if out := hooks[input.Command].wait(); !strings.Contains(out, `"behavior":"`+behavior+`"`) {
				t.Errorf("a hook printed %q, and the decision was %s", out, behavior)
			}
		}
		d.kill()
		for _, h := range hooks {
			_ = h.cmd.Process.Kill() // the power fails for them, too
		}
		must(t, disk.Cut())
		d.start()
		for id, behavior := range told {
			if got := d.request(id); got.Outcome != outcomes[behavior] {
				t.Fatalf("after cut %d: request %s was decided, %q, and is %q (%s)", cut, id, behavior, got.Outcome, got.State)
			}
		}
	}
	if disk.Syncs() == 0 {
		t.Error("nothing was ever synced: this test says nothing")
	}
}
