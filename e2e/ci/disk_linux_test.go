package ci

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
)

// A run whose broker finds no room does not wait for it: it ends, says what to do, and leaves nothing there.
func TestCIOnAFullDisk(t *testing.T) {
	t.Parallel()
	cmd, dir, out, errs := ciCommand(t, "echo started")
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_NOSUID, "size=300k,mode=0700"); err != nil {
		t.Skipf("this test needs a small disk, and this user may not mount one: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	cmd.Env = append(cmd.Env, "TMPDIR="+small)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	rig.Eventually(t, rig.Soon, "the run ends", func() bool { return len(ended) == 1 })
	said := errs.Tail(1 << 14)
	if code := exitOf(t, <-ended); code != 1 || strings.Contains(out.Tail(100), "started") || !strings.Contains(said, "no space left on device") || !strings.Contains(said, "free some space there") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	rep := (&ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(dir, "report")}).reported()
	if rep.Exit != 1 || rep.AgentExit != nil || len(rep.Problems) != 1 || rep.Problems[0].Key != "not-started" {
		t.Errorf("report %+v", rep)
	}
	nothingLeft(t, small)
}
