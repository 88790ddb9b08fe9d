package broker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
)

// TestFullDiskHandsBackAndRecovers fills the disk under a broker with a request waiting: new
// hooks are sent away at once with a word in the log, nothing that waits is lost, and all goes
// on without a hand when there is space again.
func TestFullDiskHandsBackAndRecovers(t *testing.T) {
	d := onSmallDisk(t)
	d.Start()
	early := d.Hook(rig.Bash("early", "touch early"))
	r := d.WaitPending(1)[0]

	ballast := filepath.Join(d.State, "ballast")
	fill(t, ballast)
	if out := d.Hook(rig.Bash("late", "touch late")).Wait(); out != "" {
		t.Errorf("with a full disk a hook printed %q", out)
	}
	if out := d.Hook(rig.Bash("late", "touch late"), "--on-failure", "deny").Wait(); !strings.Contains(out, `"behavior":"deny"`) {
		t.Errorf("told to deny on failure, a hook printed %q", out)
	}
	if out := d.Hook(rig.Payload("Stop", "late", nil)).Wait(); out != "" {
		t.Errorf("a plain event printed %q", out)
	}
	if status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256}); err != nil || status != 503 {
		t.Errorf("a decision that cannot be recorded: status %d %s %v, want 503", status, body, err)
	}
	if log := d.Out.Tail(1 << 20); !strings.Contains(log, "disk full") {
		t.Errorf("the log does not say why:\n%s", log)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "ready again", func() bool {
		status, _, err := d.Try("GET", "/readyz", nil)
		return err == nil && status == 204
	})
	d.Allow(r)
	if out := early.Wait(); out != rig.Allowed {
		t.Errorf("the hook that waited through it printed %q", out)
	}
	h := d.Hook(rig.Bash("after", "touch after"))
	d.Allow(d.WaitPending(1)[0])
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("afterwards a hook printed %q", out)
	}
	events := d.Command("events", "--all", "--filter", "Stop", "--count", "1")
	if !strings.Contains(events, "(came late)") {
		t.Errorf("the spooled event came as %q", events)
	}
}

// TestStopOnAFullDisk: a stop that the disk does not take holds, whatever is recorded later, and is recorded
// without a hand when there is space again, so that the next broker knows.
func TestStopOnAFullDisk(t *testing.T) {
	d := onSmallDisk(t)
	d.WriteRules("version: 1\nrules:\n  - {id: look, action: allow, match: {command: {program: ls, args: [...]}}}\n")
	d.Start()
	if out := d.Hook(rig.Bash("s", "ls")).Wait(); out != rig.Allowed {
		t.Fatalf("the rule answers %q", out)
	}
	ballast := filepath.Join(d.State, "ballast")
	fill(t, ballast)
	if status, body, err := d.Try("POST", "/v1/stop", struct{}{}); err != nil || status != 503 {
		t.Fatalf("a stop that cannot be recorded: status %d %s %v, want 503", status, body, err)
	}
	stopped := func() (h struct {
		Revision uint64
		Stopped  *struct{}
	}) {
		d.Get("/v1/stop", &h)
		return h
	}
	if h := stopped(); h.Stopped == nil || h.Revision != 0 {
		t.Fatalf("with a full disk: %+v", h)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "the stop is recorded", func() bool { return stopped().Revision > 0 })
	d.Kill()
	d.Start()
	if h := stopped(); h.Stopped == nil {
		t.Fatalf("after a restart: %+v", h)
	}
	h := d.Hook(rig.Bash("s", "ls"))
	d.Allow(d.WaitPending(1)[0]) // a person is asked
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("afterwards a hook printed %q", out)
	}
}

// onSmallDisk is a daemon whose state is on a disk that a test can fill.
func onSmallDisk(t *testing.T) *rig.Daemon {
	t.Helper()
	d := rig.NewDaemon(t)
	if err := os.Mkdir(d.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", d.State, "tmpfs", syscall.MS_NOSUID, "size=64m,mode=0700"); err != nil {
		t.Skipf("this test needs a small disk, and this user may not mount one: %v", err)
	}
	t.Cleanup(func() {
		d.Kill()
		if err := syscall.Unmount(d.State, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
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
