//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack is what this test's program does when it is called as an attacker.
func attack(args []string) int {
	runtime.LockOSThread()
	switch args[0] {
	case "sweep":
		return sweep(args[1])
	case "calls":
		return calls(args[1], number(args[2]), len(args) > 3)
	case "threads":
		return threadsOf(unix.Getppid())
	case "opens":
		return opens(args[1])
	case "around":
		return around(unix.Getppid())
	case "in-flight":
		return inFlight()
	}
	return 2
}

// threadsOf signals every thread whose number is near that of a process, and prints which could be: one of
// them is bound as what is contained is, but belongs to that process, which would end by it.
func threadsOf(pid int) int {
	for tid := pid; tid < pid+200; tid++ {
		for name, try := range map[string]func() (uintptr, uintptr, unix.Errno){
			"tgkill": func() (uintptr, uintptr, unix.Errno) {
				return unix.RawSyscall(unix.SYS_TGKILL, uintptr(pid), uintptr(tid), 0)
			},
			"tkill": func() (uintptr, uintptr, unix.Errno) { return unix.RawSyscall(unix.SYS_TKILL, uintptr(tid), 0, 0) },
			"kill":  func() (uintptr, uintptr, unix.Errno) { return unix.RawSyscall(unix.SYS_KILL, uintptr(tid), 0, 0) },
			"pidfd_open": func() (uintptr, uintptr, unix.Errno) {
				return unix.RawSyscall(unix.SYS_PIDFD_OPEN, uintptr(tid), unix.O_EXCL, 0) // PIDFD_THREAD
			},
		} {
			if unix.Tgkill(unix.Getpid(), tid, 0) == nil {
				continue // its own
			}
			if _, _, e := try(); e == 0 {
				fmt.Println(name, tid-pid, "worked")
			}
		}
	}
	return 0
}

// sweep tries every number with arguments that do nothing, and prints which was neither refused nor
// unknown.
func sweep(list string) int {
	skip := map[string]bool{}
	for s := range strings.SplitSeq(list, ",") {
		skip[s] = true
	}
	for n := uintptr(0); n < 1000; n++ {
		for _, n := range []uintptr{n, n | 0x40000000} { // x32, on amd64
			if skip[strconv.Itoa(int(n))] {
				continue
			}
			bad := ^uintptr(0)
			if _, _, e := unix.RawSyscall6(n, bad, bad, bad, bad, bad, bad); e != unix.ENOSYS && e != unix.EPERM && e != unix.ENOTSUP {
				fmt.Println(n, e)
			}
		}
	}
	return 0
}

// calls makes calls that have harmless and harmful arguments, in a project and against a process, and
// prints those of the second kind that worked. safe has it make only those that do nothing to the
// machine where nothing is contained.
func calls(project string, pid int, safe bool) int {
	file := filepath.Join(project, "README.md")
	path, err := unix.BytePtrFromString(file)
	if err != nil {
		return 2
	}
	ptr := func(p any) uintptr {
		switch p := p.(type) {
		case *byte:
			return uintptr(unsafe.Pointer(p))
		case *[64]uint64:
			return uintptr(unsafe.Pointer(p))
		}
		return 0
	}
	buf := new([64]uint64)
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	if err != nil {
		fmt.Println("the file cannot be read:", err)
		return 2
	}
	name, _ := unix.BytePtrFromString("user.x")
	clone := new([64]uint64) // struct clone_args
	clone[0] = unix.CLONE_NEWUSER
	const at = ^uintptr(99) // AT_FDCWD
	for _, c := range []struct {
		name string
		n    uintptr
		a    [6]uintptr
	}{
		{"fchmod", unix.SYS_FCHMOD, [6]uintptr{uintptr(fd), 0o777}},
		{"fchmodat", unix.SYS_FCHMODAT, [6]uintptr{at, ptr(path), 0o777}},
		{"fchmodat2", 452, [6]uintptr{at, ptr(path), 0o777}},
		{"fchown", unix.SYS_FCHOWN, [6]uintptr{uintptr(fd), 65534, 65534}},
		{"futimens", unix.SYS_UTIMENSAT, [6]uintptr{uintptr(fd), 0, 0, 0}},
		{"utimensat", unix.SYS_UTIMENSAT, [6]uintptr{at, ptr(path), 0, 0}},
		{"fsetxattr", unix.SYS_FSETXATTR, [6]uintptr{uintptr(fd), ptr(name), ptr(path), 1, 0}},
		{"setxattrat", 463, [6]uintptr{at, ptr(path), 0, ptr(name), ptr(buf), 16}},
		{"file_setattr", 469, [6]uintptr{at, ptr(path), ptr(buf), 24, 0}},
		{"ftruncate", unix.SYS_FTRUNCATE, [6]uintptr{uintptr(fd), 0}},
		{"truncate", unix.SYS_TRUNCATE, [6]uintptr{ptr(path), 0}},
		{"fallocate", unix.SYS_FALLOCATE, [6]uintptr{uintptr(fd), 0, 0, 4096}},
		{"flock", unix.SYS_FLOCK, [6]uintptr{uintptr(fd), unix.LOCK_EX | unix.LOCK_NB}},
		{"lease", unix.SYS_FCNTL, [6]uintptr{uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK}},
		{"owner", unix.SYS_FCNTL, [6]uintptr{uintptr(fd), unix.F_SETOWN, uintptr(pid)}},
		{"signal of an owner", unix.SYS_FCNTL, [6]uintptr{uintptr(fd), unix.F_SETSIG, 9}},
		{"set flags", unix.SYS_IOCTL, [6]uintptr{uintptr(fd), unix.FS_IOC_SETFLAGS, ptr(buf)}},
		{"clone a file", unix.SYS_IOCTL, [6]uintptr{uintptr(fd), unix.FICLONE, uintptr(fd)}},
		{"TIOCSTI", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCSTI, ptr(path)}},
		{"TIOCSTI, with high bits", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCSTI | 1<<32, ptr(path)}},
		{"TIOCLINUX", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCLINUX, ptr(buf)}},
		{"TIOCSCTTY", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCSCTTY, 0}},
		{"clone3", unix.SYS_CLONE3, [6]uintptr{ptr(clone), 88}},
		{"clone", unix.SYS_CLONE, [6]uintptr{unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)}},
		{"unshare", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
		{"unshare files", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_FS}},
		{"personality", unix.SYS_PERSONALITY, [6]uintptr{0x0040000}},
		{"prlimit of another", unix.SYS_PRLIMIT64, [6]uintptr{uintptr(pid), unix.RLIMIT_NOFILE, 0, ptr(buf)}},
		{"more file size", unix.SYS_PRLIMIT64, [6]uintptr{0, unix.RLIMIT_FSIZE, ptr(buf), 0}},
		{"more core size", unix.SYS_SETRLIMIT, [6]uintptr{unix.RLIMIT_CORE, ptr(buf)}},
		{"nice of another", unix.SYS_SETPRIORITY, [6]uintptr{0, uintptr(pid), 19}},
		{"nice of a user", unix.SYS_SETPRIORITY, [6]uintptr{2, 0, 19}},
		{"processors of another", unix.SYS_SCHED_SETAFFINITY, [6]uintptr{uintptr(pid), 8, ptr(buf)}},
		{"kill", unix.SYS_KILL, [6]uintptr{uintptr(pid), 0}},
		{"kill a group", unix.SYS_KILL, [6]uintptr{uintptr(-pid), 0}},
		{"kill all", unix.SYS_KILL, [6]uintptr{^uintptr(0), 0}},
		{"kill its own group", unix.SYS_KILL, [6]uintptr{0, 0}},
		{"tkill", unix.SYS_TKILL, [6]uintptr{uintptr(pid), 0}},
		{"tgkill", unix.SYS_TGKILL, [6]uintptr{uintptr(pid), uintptr(pid), 0}},
		{"rt_sigqueueinfo", unix.SYS_RT_SIGQUEUEINFO, [6]uintptr{uintptr(pid), 0, ptr(buf)}},
		{"setpgid", unix.SYS_SETPGID, [6]uintptr{0, 0}},
		{"setsid", unix.SYS_SETSID, [6]uintptr{}},
		{"ptrace", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_SEIZE, uintptr(pid)}},
		{"traceme", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_TRACEME}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [6]uintptr{uintptr(pid), ptr(buf), 1, ptr(buf), 1}},
		{"io_uring", unix.SYS_IO_URING_SETUP, [6]uintptr{8, ptr(buf)}},
		{"memfd", unix.SYS_MEMFD_CREATE, [6]uintptr{ptr(name), 0}},
		{"memfd_secret", unix.SYS_MEMFD_SECRET, [6]uintptr{}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{ptr(buf), 0, ^uintptr(0), ^uintptr(0), 0}},
		{"bpf", unix.SYS_BPF, [6]uintptr{5, ptr(buf), 128}},
		{"keyctl", unix.SYS_KEYCTL, [6]uintptr{0, ^uintptr(2)}},
		{"add_key", unix.SYS_ADD_KEY, [6]uintptr{ptr(name), ptr(name), ptr(name), 1, ^uintptr(2)}},
		{"inotify", unix.SYS_INOTIFY_INIT1, [6]uintptr{}},
		{"fanotify", unix.SYS_FANOTIFY_INIT, [6]uintptr{}},
		{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{at, ptr(path), 1}},
		{"fsopen", unix.SYS_FSOPEN, [6]uintptr{ptr(name)}},
		{"name_to_handle", unix.SYS_NAME_TO_HANDLE_AT, [6]uintptr{at, ptr(path), ptr(buf), ptr(buf), 0}},
		{"shmget", unix.SYS_SHMGET, [6]uintptr{0, 4096, 0o1600}},
		{"mq_open", unix.SYS_MQ_OPEN, [6]uintptr{ptr(name), unix.O_CREAT | unix.O_RDWR, 0o600, 0}},
		{"socketpair of datagrams", unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_UNIX, unix.SOCK_DGRAM, 0, ptr(buf)}},
		{"socketpair of packets", unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, ptr(buf)}},
		{"socketpair of TIPC", unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_TIPC, unix.SOCK_STREAM, 0, ptr(buf)}},
		{"socket", unix.SYS_SOCKET, [6]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}},
		{"vsock", unix.SYS_SOCKET, [6]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM, 0}},
		{"netlink", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, 0}},
		{"alg", unix.SYS_SOCKET, [6]uintptr{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}},
		{"drop a bound", unix.SYS_PRCTL, [6]uintptr{unix.PR_SET_MM, 1, 0}},
		{"subreaper", unix.SYS_PRCTL, [6]uintptr{unix.PR_SET_CHILD_SUBREAPER, 1}},
		{"allow a tracer", unix.SYS_PRCTL, [6]uintptr{unix.PR_SET_PTRACER, ^uintptr(0)}},
		{"capset", unix.SYS_CAPSET, [6]uintptr{ptr(buf), ptr(buf)}},
		{"setuid", unix.SYS_SETUID, [6]uintptr{65534}},
		{"chroot", unix.SYS_CHROOT, [6]uintptr{ptr(path)}},
		{"syslog", unix.SYS_SYSLOG, [6]uintptr{3, ptr(buf), 100}},
		{"sethostname", unix.SYS_SETHOSTNAME, [6]uintptr{ptr(name), 1}},
		{"open to write", unix.SYS_OPENAT, [6]uintptr{at, ptr(path), unix.O_WRONLY}},
		{"open to cut", unix.SYS_OPENAT, [6]uintptr{at, ptr(path), unix.O_RDONLY | unix.O_TRUNC}},
		{"unlink", unix.SYS_UNLINKAT, [6]uintptr{at, ptr(path), 0}},
		{"rename to itself", unix.SYS_RENAMEAT2, [6]uintptr{at, ptr(path), at, ptr(path), 2}},
	} {
		if safe && !slices.Contains(safeCalls, c.name) {
			continue
		}
		if r, _, e := unix.RawSyscall6(c.n, c.a[0], c.a[1], c.a[2], c.a[3], c.a[4], c.a[5]); e == 0 {
			if c.name == "clone" && r == 0 {
				os.Exit(0)
			}
			fmt.Println(c.name, "worked:", r)
		}
	}
	return 0
}

var safeCalls = []string{"fchmod", "fchmodat", "futimens", "utimensat", "flock", "personality", "kill", "tkill", "tgkill", "setpgid", "memfd", "inotify", "nice of another",
	"socketpair of datagrams", "socketpair of packets", "socket", "netlink", "subreaper", "open to write", "rename to itself"}

// TestSystemCalls makes them from a program of its own, contained.
func TestSystemCalls(t *testing.T) {
	t.Parallel()
	need(t)
	x := newTarget(t)
	before := x.hash(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tried := func(args ...string) result {
		return x.run(t, bin, append([]string{"read", "--read", self, "--", self, "attack"}, args...)...)
	}
	if r := tried("calls", x.project, strconv.Itoa(x.victim.Process.Pid)); r.out != "" || r.status != 0 {
		t.Errorf("calls: %+v", r)
	}
	var skip []string
	for _, n := range allowedCalls {
		skip = append(skip, strconv.Itoa(int(n)))
	}
	if r := tried("sweep", strings.Join(skip, ",")); r.out != "" || r.status != 0 {
		t.Errorf("sweep: %+v", r)
	}
	if r := tried("opens", x.project); r.out != "" || r.status != 0 {
		t.Errorf("opens: %+v", r)
	}
	if r := tried("threads"); r.out != "" || r.status != 0 {
		t.Errorf("threads: %+v", r)
	}
	if x.hash(t) != before || stopped(t, x.victim.Process.Pid) {
		t.Error("something changed")
	}
	// Where nothing is contained most of it works, so that the calls are not merely wrong.
	r := x.run(t, self, "attack", "calls", x.project, strconv.Itoa(x.victim.Process.Pid), "safe")
	if n := strings.Count(r.out, "worked"); n < len(safeCalls)-4 {
		t.Errorf("only %d of the calls work here: %+v", n, r)
	}
}
