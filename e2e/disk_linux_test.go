package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDiskHandsBackAndRecovers fills the disk under a broker with a request waiting: new
// hooks are sent away at once with a word in the log, nothing that waits is lost, and all goes
// on without a hand when there is space again.
func TestFullDiskHandsBackAndRecovers(t *testing.T) {
	d := newDaemon(t)
	if err := os.Mkdir(d.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", d.state, "tmpfs", syscall.MS_NOSUID, "size=64m,mode=0700"); err != nil {
		t.Skipf("this test needs a small disk, and this user may not mount one: %v", err)
	}
	t.Cleanup(func() {
		d.kill()
		if err := syscall.Unmount(d.state, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	d.start()
	early := d.hook(bash("early", "touch early"))
	r := d.waitPending(1)[0]

	ballast := filepath.Join(d.state, "ballast")
	fill(t, ballast)
	if out := d.hook(bash("late", "touch late")).wait(); out != "" {
		t.Errorf("with a full disk a hook printed %q", out)
	}
	if out := d.hook(bash("late", "touch late"), "--on-failure", "deny").wait(); !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("told to deny on failure, a hook printed %q", out)
	}
	if out := d.hook(payload("Stop", "late", nil)).wait(); out != "" {
		t.Errorf("a plain event printed %q", out)
	}
	if status, body, err := d.try("POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "allow", InputSHA256: r.InputSHA256}); err != nil || status != 503 {
		t.Errorf("a decision that cannot be recorded: status %d %s %v, want 503", status, body, err)
	}
	if log := d.out.tail(1 << 20); !strings.Contains(log, "disk full") {
		t.Errorf("the log does not say why:\n%s", log)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, "ready again", func() bool {
		status, _, err := d.try("GET", "/readyz", nil)
		return err == nil && status == 204
	})
	d.allow(r)
	if out := early.wait(); out != allowed {
		t.Errorf("the hook that waited through it printed %q", out)
	}
	h := d.hook(bash("after", "touch after"))
	d.allow(d.waitPending(1)[0])
	if out := h.wait(); out != allowed {
		t.Errorf("afterwards a hook printed %q", out)
	}
	events := d.command("events", "--all", "--filter", "Stop", "--count", "1")
	if !strings.Contains(events, "(came late)") {
		t.Errorf("the spooled event came as %q", events)
	}
}

// fill takes all of the disk.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 64<<10)
	for n := len(block); n > 0; {
		if _, err := f.Write(block[:n]); errors.Is(err, syscall.ENOSPC) {
			n /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
