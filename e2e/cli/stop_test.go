package cli

import (
	"os"
	"path/filepath"
	"testing"

	"assent/e2e/rig"
)

// TestStoppedBrokerLeavesNothingBehind stops a broker politely with a hook waiting: its files
// are gone, nothing was recorded about the request, and the next broker answers the same hook.
func TestStoppedBrokerLeavesNothingBehind(t *testing.T) {
	d := rig.Serve(t)
	h := d.Hook(rig.Bash("s", "touch x"))
	r := d.WaitPending(1)[0]
	if code := d.Stop(); code != 0 {
		t.Errorf("the broker stopped with code %d", code)
	}
	for _, path := range []string{d.Socket, filepath.Join(d.State, "runtime.json"), filepath.Join(d.State, "owner.token"), filepath.Join(d.State, ".runtime", "nats-info.json")} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
	d.Start()
	d.Until(r.ID, "the hook is back", func(r rig.Request) bool { return r.State == "pending" && !r.Detached })
	if steps := d.Trace(r.ID); len(steps) != 1 || steps[0].Step != "asked" {
		t.Errorf("recorded over the restart: %+v", steps)
	}
	d.Allow(r)
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
}
