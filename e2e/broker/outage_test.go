package broker

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/freeport"
)

func TestExternalNATSAway(t *testing.T) {
	t.Parallel()
	dir := rig.TempDir(t)
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	nats := rig.NATS(t, dir, ports[0])
	d := rig.Serve(t, "--nats-url", "nats://"+freeport.Address(ports[0]))
	waiting := d.Hook(rig.Bash("s", "echo waiting"))
	r := d.WaitPending(1)[0]

	nats.Shutdown()
	nats.WaitForShutdown()
	rig.Eventually(t, rig.Soon, "the broker is not ready", func() bool {
		status, _, err := d.Try("GET", "/readyz", nil)
		return err == nil && status == http.StatusServiceUnavailable
	})
	// A new request waits for the cluster. One whose time is up before that was not asked, which is a failure.
	late := d.Hook(rig.Bash("s", "echo new"))
	if out := d.Hook(rig.Bash("s", "echo short"), "--timeout", "1500ms", "--on-failure", "deny").Wait(); !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("a new request with --on-failure deny got %q", out)
	}
	if out := d.Hook(rig.Bash("s", "echo short"), "--timeout", "1500ms", "--on-timeout", "deny").Wait(); out != "" {
		t.Errorf("a new request got %s", out)
	}
	// Plain events wait in the spool.
	event := `{"session_id":"s","hook_event_name":"Notification","message":"late"}`
	if out := d.Hook([]byte(event)).Wait(); out != "" {
		t.Errorf("a plain event printed %q", out)
	}
	if spooled, err := filepath.Glob(filepath.Join(d.Dir, "xdg", "assent", "spool", "*")); err != nil || len(spooled) == 0 {
		t.Errorf("nothing is spooled: %v", err)
	}
	// A decision cannot be recorded now, and says so; the hook goes on waiting.
	status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256})
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("a decision: %d %s %v, want 503", status, body, err)
	}

	rig.NATS(t, dir, ports[0])
	d.Await()
	for _, r := range d.WaitPending(2) {
		d.Allow(r)
	}
	for _, hook := range []*rig.HookRun{waiting, late} {
		if out := hook.Wait(); out != rig.Allowed {
			t.Errorf("a hook that waited for the cluster got %q", out)
		}
	}
	rig.Eventually(t, rig.Soon, "the spool is empty again", func() bool {
		left := 0
		files, err := filepath.Glob(filepath.Join(d.Dir, "xdg", "assent", "spool", "*"))
		for _, f := range files {
			if fi, err := os.Stat(f); err == nil && !strings.HasSuffix(f, "lock") {
				left += int(fi.Size())
			}
		}
		return err == nil && left == 0
	})
}
