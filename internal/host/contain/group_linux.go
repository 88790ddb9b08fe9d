//go:build linux && (amd64 || arm64)

package contain

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The command and all that it starts stay in one process group: the filter lets nobody leave it or
// make another one. So they can be killed at once, whatever they do meanwhile.
//
// The group has the number of this program, which makes it, starts the command in it and goes back to
// the group it came from, where it hears what is meant for that. One that leads its group already, or
// its session, cannot do so; then a keeper leads.
type group struct {
	id     int
	tmp    string // what a keeper removes
	before int    // the group that this program came from

	mu   sync.Mutex
	over bool // its number may be somebody else's soon
	kept bool // there is a keeper
}

// newGroup makes the group.
func newGroup(tmp string) (*group, error) {
	g := &group{id: unix.Getpid(), tmp: tmp}
	if unix.Getpgrp() != g.id {
		return g, nil
	}
	pid, err := startKeeper(0, tmp)
	g.id, g.kept = pid, true
	return g, err
}

// enter has what is started next find the group.
func (g *group) enter() error {
	if g.id != unix.Getpid() {
		return nil
	}
	g.before = unix.Getpgrp()
	if err := unix.Setpgid(0, 0); err != nil {
		return Refusal("no process group: " + err.Error())
	}
	return nil
}

// leave goes back.
func (g *group) leave() error {
	if g.id != unix.Getpid() {
		return nil
	}
	if err := unix.Setpgid(0, g.before); err != nil {
		// All that was there has ended, and with it who wanted this run.
		return Refusal("the process group is gone: " + err.Error())
	}
	return nil
}

// kill ends the group.
func (g *group) kill() { _ = g.signal(unix.SIGKILL) }

// end is kill, for the last time: nothing of the group has been waited for since.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signalLocked(unix.SIGKILL)
	g.over = true
}

// signal passes a signal on, and says whether the group was there still.
func (g *group) signal(s syscall.Signal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signalLocked(s)
	return !g.over
}

func (g *group) signalLocked(s syscall.Signal) {
	if g.over || g.id == unix.Getpgrp() {
		return
	}
	_ = unix.Kill(-g.id, s) // a group without processes has nothing to hear
}

// watch is for commands that take their time: it adds a keeper where there is none.
func (g *group) watch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.kept {
		return
	}
	g.kept = true
	if _, err := startKeeper(g.id, g.tmp); err != nil {
		g.signalLocked(unix.SIGKILL) // rather than without a bond
	}
}
