//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A keeper is a member of the group that waits for the end of a pipe whose other end only the first
// process has, and then kills the group. So the command does not outlive who started it, not even if that
// is killed. No signal but SIGKILL reaches it. It is a mere fork of this program, for nothing may be wanting
// when it is needed: neither memory nor a thread. What is less urgent, to remove the temporary directory, it leaves to
// this program, which it starts anew with KeepWord.

// KeepWord is what this program is called with to clean up.
const KeepWord = "keep"

// Keep is what is left to do when the group is dead; it does not return.
func Keep() {
	var st unix.Stat_t
	if unix.Fstat(0, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO || len(os.Args) != 3 || !strings.HasPrefix(path.Base(os.Args[2]), temporaryName) {
		os.Exit(125) // called by hand
	}
	removeTree(os.Args[2])
	os.Exit(1)
}

// startKeeper starts a keeper as a member of a group, or as the leader of a new one with 0. The pipe's other end
// stays open as long as this program lives.
func startKeeper(id int, tmp string) (int, error) {
	r, w, err := pipe()
	if err != nil {
		return 0, err
	}
	defer unix.Close(r)
	self, err := syscall.BytePtrFromString("/proc/self/exe")
	if err != nil {
		return 0, Refusal("the keeper does not start: " + err.Error())
	}
	argv, err := syscall.SlicePtrFromStrings([]string{"assent-contain", KeepWord, tmp})
	if err != nil {
		return 0, Refusal("the keeper does not start: " + err.Error())
	}
	envv, err := syscall.SlicePtrFromStrings([]string{"GOMAXPROCS=1", "GOGC=off"})
	if err != nil {
		return 0, Refusal("the keeper does not start: " + err.Error())
	}
	runtime.LockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		runtime.UnlockOSThread()
		return 0, Refusal("the keeper does not start: " + err.Error())
	}
	pid, e := forkKeeper(uintptr(r), uintptr(id), self, &argv[0], &envv[0])
	err = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	runtime.UnlockOSThread()
	if e != 0 || err != nil {
		unix.Close(w)
		return 0, Refusal("the keeper does not start: " + e.Error())
	}
	if id == 0 {
		id = int(pid)
	}
	// As it does itself, whoever comes first: it is a member from here on, so that it ends with the group.
	if err := unix.Setpgid(int(pid), id); err != nil {
		_ = unix.Kill(int(pid), unix.SIGKILL)
		unix.Close(w)
		return 0, Refusal("the keeper has no group: " + err.Error())
	}
	return int(pid), nil
}

// forkKeeper forks. The keeper has one thread and no runtime: it makes nothing but system calls, with what
// was made ready for it, and never returns.
//
//go:norace
//go:noinline
//go:nosplit
func forkKeeper(r, group uintptr, self *byte, argv, envv **byte) (pid uintptr, e syscall.Errno) {
	pid, _, e = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || pid != 0 {
		return pid, e
	}
	lead := group == 0
	if _, _, e = syscall.RawSyscall(unix.SYS_SETPGID, 0, group, 0); e != 0 { // the group has ended
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if lead {
		group, _, _ = syscall.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	}
	_, _, e = syscall.RawSyscall(unix.SYS_DUP3, r, 0, 0)
	if e == 0 || r == 0 {
		_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 1, 1<<31-1, 0)
		var one [8]byte
		for {
			n, _, e := syscall.RawSyscall(unix.SYS_READ, 0, uintptr(unsafe.Pointer(&one)), 1)
			if e != unix.EINTR && (e != 0 || n == 0) {
				break
			}
		}
		left := uintptr(0)
		if lead { // it cannot leave the group that it leads, and would end with it
			left, _, e = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if e == 0 && left != 0 {
				_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		if e == 0 {
			_, _, e = syscall.RawSyscall(unix.SYS_SETPGID, 0, 0, 0)
		}
		if e == 0 {
			_, _, _ = syscall.RawSyscall(unix.SYS_KILL, -group, uintptr(unix.SIGKILL), 0)
			_, _, _ = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(self)), uintptr(unsafe.Pointer(argv)), uintptr(unsafe.Pointer(envv)))
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
		}
	}
	for { // what matters most, itself included
		_, _, _ = syscall.RawSyscall(unix.SYS_KILL, 0, uintptr(unix.SIGKILL), 0)
	}
}
