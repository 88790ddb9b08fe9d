package broker

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

	"assent/e2e/rig"
	"assent/internal/tool/powercut"
)

var powerCuts = flag.Int("powercuts", 6, "how many times TestPowerCutsLoseNoDecision cuts the power")

// TestPowerCutsLoseNoDecision: the broker's state lies on a file system that forgets at a power cut
// what was not synced. Whatever was told before, to an approver or to a hook, is in the record
// after it. It is skipped where nothing can be mounted, in CI, too.
func TestPowerCutsLoseNoDecision(t *testing.T) {
	d := rig.NewDaemon(t)
	backing := filepath.Join(d.Dir, "backing")
	rig.Must(t, errors.Join(os.Mkdir(backing, 0o700), os.Mkdir(d.State, 0o700)))
	disk, err := powercut.Mount(backing, d.State)
	if errors.Is(err, powercut.ErrMissing) {
		t.Skip(err)
	}
	rig.Must(t, err)
	t.Cleanup(func() { // before the broker's own, which would find no state to look at
		if d.Cmd != nil {
			d.Kill()
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Start()

	outcomes := map[string]string{"allow": "allowed", "deny": "denied"}
	acknowledged := map[string]string{} // by request, what was decided
	for cut := range *powerCuts {
		// Two of three requests are decided when the power fails, and one of their hooks has its answer.
		session := fmt.Sprintf("s%d", cut)
		hooks := map[string]*rig.HookRun{} // by command
		for i := range 3 {
			command := fmt.Sprintf("echo %d", i)
			hooks[command] = d.Hook(rig.Bash(session, command), "--timeout", "10m")
		}
		var asked []rig.Request
		rig.Eventually(t, 2*rig.Soon, "the requests of the round", func() bool {
			asked = slices.DeleteFunc(d.Pending(), func(r rig.Request) bool { return r.SessionID != session })
			return len(asked) == len(hooks)
		})
		for i, r := range asked[:2] {
			behavior := []string{"allow", "deny"}[(cut+i)%2]
			d.Decide(r, rig.Decision{Behavior: behavior})
			acknowledged[r.ID] = behavior
			if i > 0 {
				continue
			}
			var input struct{ Command string }
			rig.Must(t, json.Unmarshal(r.ToolInput, &input))
			if out := hooks[input.Command].Wait(); !strings.Contains(out, `"behavior":"`+behavior+`"`) {
				t.Errorf("a hook printed %q, and the decision was %s", out, behavior)
			}
		}
		d.Kill()
		for _, h := range hooks {
			_ = h.Cmd.Process.Kill() // the power fails for them, too
		}
		rig.Must(t, disk.Cut())
		d.Start()
		for id, behavior := range acknowledged {
			if got := d.Request(id); got.Outcome != outcomes[behavior] {
				t.Fatalf("after cut %d: request %s was decided, %q, and is %q (%s)", cut, id, behavior, got.Outcome, got.State)
			}
		}
	}
	if disk.Syncs() == 0 {
		t.Error("nothing was ever synced: this test says nothing")
	}
}
