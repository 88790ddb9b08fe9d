package executor

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"assent/internal/host/process"
)

// What a session started goes with it, also where it left its process group, session and parent.
func TestSweep(t *testing.T) {
	c := exec.Command("/bin/sh", "-c", "(setsid sleep 603 &) ; (trap '' TERM; exec sleep 603) & exec sleep 603")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), mark + "=" + one}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "604")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	root := began{PID: c.Process.Pid, ID: process.ID(c.Process.Pid)}
	if root.ID == "" {
		t.Skip("there is no /proc here")
	}
	below := func() int {
		b, _ := tree(root, one)
		return len(b)
	}
	for below() < 2 { // until the shell has come so far
		runtime.Gosched()
	}
	if !sweepStrays(root, one) || process.Look(root.PID, root.ID) != process.Runs || below() < 2 {
		t.Error("more than strays were killed, or less")
	}
	if !sweep(root, one) {
		t.Error("something is left")
	}
	_ = c.Wait()
	if b, e := tree(root, one); len(b)+len(e) > 0 {
		t.Errorf("%v and %v are left", b, e)
	}
	if process.Look(other.Process.Pid, process.ID(other.Process.Pid)) != process.Runs {
		t.Error("a process of nobody's session was killed")
	}
}

// A flood of forks is found in time: of a chain of processes below a wide family, each is looked at once.
func TestDescendOfAFlood(t *testing.T) {
	const many = 200_000
	parents := map[int]int{1: 0}
	for pid := 2; pid <= many; pid++ {
		parents[pid] = pid - 1
		if pid%2 == 0 {
			parents[pid] = 1
		}
	}
	for pid := 3; pid <= many; pid += 2 {
		parents[pid] = max(1, pid-2)
	}
	if got := len(descend([]int{1}, parents)); got != many {
		t.Errorf("%d of %d", got, many)
	}
	if got := len(descend([]int{3, 1, 3}, map[int]int{1: 3, 3: 1})); got != 3 {
		t.Errorf("%d of a circle", got)
	}
}

// However long it takes until nothing of a session is left, others are served meanwhile.
func TestASweepHoldsNobodyUp(t *testing.T) {
	was := pause
	t.Cleanup(func() { pause = was })
	for name, end := range map[string]func(*session){
		"killed":     func(s *session) { s.stop(time.Now(), "CANCELLED", "x", 3) },
		"gone":       func(s *session) { s.exited(time.Now(), false) },
		"its strays": func(s *session) { s.strays(time.Now()) },
	} {
		s := working(t, "")
		stray := exec.Command("sleep", "600")
		stray.Env = []string{mark + "=" + two}
		stray.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := stray.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = stray.Wait() }()
		locked := 0
		pause = func(d time.Duration) {
			if !s.h.mu.TryLock() {
				locked++
			} else {
				s.h.mu.Unlock()
			}
			was(d)
		}
		end(s)
		if locked > quickSweeps || locked > 0 && name != "killed" {
			t.Errorf("%s: it waits %d times with the lock", name, locked)
		}
		if _, elsewhere := tree(s.process, two); len(elsewhere) > 0 {
			t.Errorf("%s: %v is left", name, elsewhere)
		}
	}
}
