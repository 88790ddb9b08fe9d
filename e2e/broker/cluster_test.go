package broker

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/freeport"
)

// Two brokers share a record: a session that is forgotten at one is gone at the other.
func TestForgottenAtBothBrokers(t *testing.T) {
	t.Parallel()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	cluster(t, rig.TempDir(t), ports[0])
	one, other := rig.Serve(t, "--nats-url", "nats://"+freeport.Address(ports[0])), rig.Serve(t, "--nats-url", "nats://"+freeport.Address(ports[0]))
	hook := one.Hook(rig.Bash("forgotten-session", "echo secret"))
	other.Allow(other.WaitPending(1)[0]) // decided at the other
	if out := hook.Wait(); out != rig.Allowed {
		t.Fatalf("the hook got %q", out)
	}
	has := func(d *rig.Daemon, want int) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the session is there, or is not", func() bool {
			status, _, err := d.Try("GET", "/v1/sessions/forgotten-session/feed", nil)
			return err == nil && status == want
		})
	}
	has(one, http.StatusOK)
	has(other, http.StatusOK)
	rig.Eventually(t, rig.Soon, "it is forgotten", func() bool {
		status, _, err := one.Try("DELETE", "/v1/sessions/forgotten-session", nil)
		return err == nil && status == http.StatusNoContent
	})
	has(one, http.StatusNotFound)
	has(other, http.StatusNotFound)

	// Both wrote one tree over the record, and it says what was forgotten.
	keys := filepath.Join(one.Dir, "keys")
	if err := os.WriteFile(keys, []byte(one.Command("audit", "checkpoint", "--key")+other.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, d := range []*rig.Daemon{one, other} {
		hook := d.Hook(rig.Bash("kept-session", "echo again"))
		other.Deny(other.WaitPending(1)[0], "no")
		hook.Wait()
		export := filepath.Join(d.Dir, "export")
		d.Command("audit", "export", "--output", export)
		if out := d.Command("audit", "verify", export, "--key", keys); !strings.Contains(out, "Verified") || !strings.Contains(out, "3 forgotten") {
			t.Errorf("at broker %d: %s", i, out)
		}
	}
}
