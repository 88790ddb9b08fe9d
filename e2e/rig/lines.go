package rig

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Events starts assent events with these arguments.
func (d *Daemon) Events(t *testing.T, args ...string) *Lines {
	t.Helper()
	cmd := exec.Command(Program("assent"), append([]string{"events", "--state-dir", d.State}, args...)...)
	cmd.Env = d.Env()
	return StartLines(t, cmd)
}

// Lines is a program that prints line by line.
type Lines struct {
	t    *testing.T
	Cmd  *exec.Cmd
	Errs Output
	done chan struct{} // closed when standard output has ended

	mu  sync.Mutex
	got []string // guarded by mu
}

// StartLines starts a program, which ends with the test.
func StartLines(t *testing.T, cmd *exec.Cmd) *Lines {
	t.Helper()
	l := &Lines{t: t, Cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &l.Errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.done)
		in := bufio.NewReader(out)
		for {
			line, err := in.ReadString('\n')
			if err != nil { // also a line that was cut short: it was not printed
				return
			}
			l.mu.Lock()
			l.got = append(l.got, strings.TrimSuffix(line, "\n"))
			l.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), l.Errs.Tail(2000))
		}
	})
	return l
}

// Kill ends the program as a crash would. It may have ended already.
func (l *Lines) Kill() {
	_ = l.Cmd.Process.Kill()
	<-l.done
	_ = l.Cmd.Wait()
}

// Wait waits for the program's own end.
func (l *Lines) Wait() {
	l.t.Helper()
	<-l.done
	if err := l.Cmd.Wait(); err != nil {
		l.t.Errorf("%s: %v", l.Cmd, err)
	}
}

// Signal sends a signal to the program, which still runs.
func (l *Lines) Signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.Cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// All returns what was printed until now.
func (l *Lines) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.got...)
}

// Await waits until n lines were printed and returns them. A mirror in a cluster takes up to a
// minute to follow again after its source's leader died.
func (l *Lines) Await(n int) []string {
	l.t.Helper()
	end := time.Now().Add(9 * Soon)
	Eventually(l.t, 10*Soon, fmt.Sprintf("%d lines of %s", n, filepath.Base(l.Cmd.Path)), func() bool {
		got := l.All()
		if len(got) < n && time.Now().After(end) {
			l.t.Fatalf("%s: %d lines of %d, the last is %q", l.Cmd, len(got), n, got[max(0, len(got)-1):])
		}
		return len(got) >= n
	})
	return l.All()
}

// NATSInfo is the file that tells readers where the event stream is.
func (d *Daemon) NATSInfo() string { return filepath.Join(d.State, ".runtime", "nats-info.json") }
