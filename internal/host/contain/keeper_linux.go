//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A keeper is a second process of this program: the leader of the process group in which the command
// and all that it starts stay, as the filter lets nobody leave. It waits for the end of a pipe whose
// other end only the first process has, and then kills the group. So the command does not outlive who
// started it, not even if that is killed.
type keeper struct {
	pid int
	err error

	mu   sync.Mutex
	over bool // its number may be somebody else's soon
}

// KeepWord is the one argument with which this program is a keeper.
const KeepWord = "keep"

// Keep is the keeper's work; it does not return.
func Keep() {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE)
	if unix.Getpgrp() != os.Getpid() {
		os.Exit(125) // called by hand
	}
	var one [1]byte
	for {
		n, err := unix.Read(0, one[:])
		if n == 0 || err != nil && err != unix.EINTR {
			break
		}
	}
	_ = unix.Kill(0, unix.SIGKILL) // itself as well
	os.Exit(1)
}

// startKeeper starts one.
func startKeeper() *keeper {
	r, w, err := pipe()
	if err != nil {
		return &keeper{err: err}
	}
	defer unix.Close(r)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &keeper{err: Refusal("/dev/null: " + err.Error())}
	}
	defer unix.Close(null)
	// The end w stays open as long as this program lives.
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"assent-contain", KeepWord}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"},
		Files: []uintptr{uintptr(r), uintptr(null), uintptr(null)},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		unix.Close(w)
		return &keeper{err: Refusal("the keeper does not start: " + err.Error())}
	}
	return &keeper{pid: pid}
}

// kill ends the group.
func (k *keeper) kill() { k.signal(unix.SIGKILL) }

// end is kill, for the last time: nothing of the group has been waited for since.
func (k *keeper) end() {
	k.kill()
	k.mu.Lock()
	k.over = true
	k.mu.Unlock()
}

func (k *keeper) signal(s syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || k.pid == 0 {
		return
	}
	_ = unix.Kill(-k.pid, s) // a group without processes has nothing to hear
}
