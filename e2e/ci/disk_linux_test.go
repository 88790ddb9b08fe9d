package ci

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
)

// A run whose broker finds no room does not wait for it without end: here a signal is quicker.
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
	rig.Eventually(t, rig.Soon, "the broker finds no room", func() bool { return strings.Contains(errs.Tail(1<<14), "disk full") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "the run ends", func() bool { return len(ended) == 1 })
	if code := exitOf(t, <-ended); code != 128+15 || strings.Contains(out.Tail(100), "started") {
		t.Errorf("exit code %d\n%s", code, errs.Tail(1<<12))
	}
	rep := (&ciRun{Agent: &rig.Agent{T: t}, report: filepath.Join(dir, "report")}).reported()
	if rep.Exit != 128+15 || rep.AgentExit != nil {
		t.Errorf("report %+v", rep)
	}
	nothingLeft(t, small)
}
