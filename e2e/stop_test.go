package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStoppedBrokerLeavesNothingBehind stops a broker politely with a hook waiting: its files
// are gone, nothing was recorded about the request, and the next broker answers the same hook.
func TestStoppedBrokerLeavesNothingBehind(t *testing.T) {
	d := serve(t)
	h := d.hook(bash("s", "touch x"))
	r := d.waitPending(1)[0]
	if code := d.stop(); code != 0 {
		t.Errorf("the broker stopped with code %d", code)
	}
	for _, path := range []string{d.socket, filepath.Join(d.state, "runtime.json"), filepath.Join(d.state, "owner.token"), filepath.Join(d.state, ".runtime", "nats-info.json")} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
	d.start()
	d.until(r.ID, "the hook is back", func(r request) bool { return r.State == "pending" && !r.Detached })
	if steps := d.trace(r.ID); len(steps) != 1 || steps[0].Step != "asked" {
		t.Errorf("recorded over the restart: %+v", steps)
	}
	d.allow(r)
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %q", out)
	}
}
