//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"os/signal"
	"strconv"
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
	keep int  // the end of the keeper's pipe, which stays open as long as this program lives
}

// KeepWord is what this program is called with to be a keeper: a member of the group that waits
// for the end of a pipe whose other end only the first process has, and then kills the group. So the
// command does not outlive who started it, not even if that is killed.
const KeepWord = "keep"

// Keep is the keeper's work; it does not return.
func Keep() {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE)
	var st unix.Stat_t
	if unix.Fstat(0, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO || len(os.Args) != 4 || os.Args[2] != "0" && os.Args[2] != strconv.Itoa(unix.Getpgrp()) {
		os.Exit(125) // called by hand
	}
	var one [1]byte
	for {
		n, err := unix.Read(0, one[:])
		if n == 0 || err != nil && err != unix.EINTR {
			break
		}
	}
	group := unix.Getpgrp()
	if os.Args[2] != "0" && unix.Setpgid(0, 0) == nil { // to stay, and clean up
		_ = unix.Kill(-group, unix.SIGKILL)
		removeTree(os.Args[3])
		os.Exit(1)
	}
	removeTree(os.Args[3])              // before, as it leads and cannot stay
	_ = unix.Kill(-group, unix.SIGKILL) // itself as well
	os.Exit(1)
}

// newGroup makes the group.
func newGroup(tmp string) (*group, error) {
	g := &group{id: unix.Getpid(), tmp: tmp, keep: -1}
	if unix.Getpgrp() != g.id {
		return g, nil
	}
	pid, err := g.startKeeper(0)
	g.id = pid
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

// startKeeper starts a keeper as a member of a group, or as the leader of a new one.
func (g *group) startKeeper(id int) (int, error) {
	r, w, err := pipe()
	if err != nil {
		return 0, err
	}
	defer unix.Close(r)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(w)
		return 0, Refusal("/dev/null: " + err.Error())
	}
	defer unix.Close(null)
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"assent-contain", KeepWord, strconv.Itoa(id), g.tmp}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"},
		Files: []uintptr{uintptr(r), uintptr(null), uintptr(null)},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pgid: id},
	})
	if err != nil {
		unix.Close(w)
		return 0, Refusal("the keeper does not start: " + err.Error())
	}
	g.keep = w
	return pid, nil
}

// watch is for commands that take their time: it adds a keeper where there is none.
func (g *group) watch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.keep >= 0 {
		return
	}
	if _, err := g.startKeeper(g.id); err != nil {
		_ = unix.Kill(-g.id, unix.SIGKILL) // rather than without a bond
	}
}

// kill ends the group.
func (g *group) kill() { g.signal(unix.SIGKILL) }

// end is kill, for the last time: nothing of the group has been waited for since.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
}

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.id == unix.Getpgrp() {
		return
	}
	_ = unix.Kill(-g.id, s) // a group without processes has nothing to hear
}
