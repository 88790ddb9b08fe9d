//go:build linux && (amd64 || arm64)

package contain

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter of system calls is a list of those that are allowed; every other one fails. What the list
// has on files, Landlock judges: the filter is for what Landlock does not know.

// Offsets in struct seccomp_data; the low half of an argument comes first on both architectures.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

type program []unix.SockFilter

func load(off uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
}

func ret(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func and(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
}

const (
	retAllow = uint32(unix.SECCOMP_RET_ALLOW)
	retKill  = uint32(unix.SECCOMP_RET_KILL_PROCESS)
)

func retErrno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

var (
	allowed = program{ret(retAllow)}
	refused = program{ret(retErrno(unix.EPERM))}
	unknown = program{ret(retErrno(unix.ENOSYS))} // programs go on without what an older kernel has not
	hasNone = program{ret(retErrno(unix.ENOTSUP))}
)

// oneOf allows a call whose argument is one of some numbers.
func oneOf(arg int, otherwise unix.Errno, values ...uint32) program {
	p := program{load(uint32(offArgs + 8*arg))}
	for _, v := range values {
		p = append(p, jump(unix.BPF_JEQ, v, 0, 1), ret(retAllow))
	}
	return append(p, ret(retErrno(otherwise)))
}

// both allows a call if two arguments are what is given, the second after a mask.
func both(arg0 int, want0 uint32, arg1 int, mask1, want1 uint32) program {
	return program{
		load(uint32(offArgs + 8*arg0)), jump(unix.BPF_JEQ, want0, 1, 0), ret(retErrno(unix.EPERM)),
		load(uint32(offArgs + 8*arg1)), and(mask1), jump(unix.BPF_JEQ, want1, 0, 1), ret(retAllow),
		ret(retErrno(unix.EPERM)),
	}
}

// without allows a call if an argument has none of some bits.
func without(arg int, bits uint32) program {
	return program{load(uint32(offArgs + 8*arg)), and(bits), jump(unix.BPF_JEQ, 0, 0, 1), ret(retAllow), ret(retErrno(unix.EPERM))}
}

// inside allows a signal to one process, which Landlock lets through if it is contained as well; not to
// a group (timeout signals its own, in which all that is contained is) or to everybody. The thread that
// starts the command is bound like that, but belongs to this program: a signal to it would end this one.
func inside(bound int) program {
	return program{
		load(offArgs), jump(unix.BPF_JEQ, uint32(bound), 3, 0), jump(unix.BPF_JEQ, 0, 2, 0), and(1 << 31), jump(unix.BPF_JEQ, 0, 1, 0),
		ret(retErrno(unix.EPERM)), ret(retAllow),
	}
}

// isNot allows a call unless an argument is some number.
func isNot(arg int, value uint32) program {
	return program{load(uint32(offArgs + 8*arg)), jump(unix.BPF_JEQ, value, 1, 0), ret(retAllow), ret(retErrno(unix.EPERM))}
}

// limits lets a process ask for its limits, and set them but for those that hold it.
func limits(pid, resource, value int) program {
	p := program{}
	if pid >= 0 {
		p = append(p, load(uint32(offArgs+8*pid)), jump(unix.BPF_JEQ, 0, 1, 0), ret(retErrno(unix.EPERM)))
	}
	return append(p,
		load(uint32(offArgs+8*value)), jump(unix.BPF_JEQ, 0, 0, 3), // a pointer: both halves
		load(uint32(offArgs+8*value+4)), jump(unix.BPF_JEQ, 0, 0, 1), ret(retAllow),
		load(uint32(offArgs+8*resource)), jump(unix.BPF_JEQ, unix.RLIMIT_FSIZE, 1, 0), jump(unix.BPF_JEQ, unix.RLIMIT_CORE, 0, 1),
		ret(retErrno(unix.EPERM)), ret(retAllow),
	)
}

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// maxCall is more than the number of every call that is named here.
const maxCall = 512

// table says what becomes of each system call that has a number here. group is the process group that
// the command and all it starts stay in, bound the thread of this program that is bound as well; scoped
// says that Landlock keeps signals inside.
func table(group, bound int, scoped bool) *[maxCall]program {
	t := &[maxCall]program{}
	for _, list := range [][]uint32{plain, plainHere} {
		for _, n := range list {
			t[n] = allowed
		}
	}
	for _, list := range [][]uint32{denied, deniedHere} {
		for _, n := range list {
			t[n] = refused
		}
	}
	// Landlock does not judge attributes that are asked for by a path, and these may hold anything, of any file.
	for _, n := range []uint32{unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR} {
		t[n] = hasNone
	}
	// A disk would be full before anybody looks: it costs nothing to reserve. Programs write instead.
	t[unix.SYS_FALLOCATE] = hasNone
	t[unix.SYS_CLONE] = without(0, newNamespaces|unix.CLONE_PTRACE)
	t[unix.SYS_CLONE3] = unknown // its flags are behind a pointer; libc uses clone then
	t[unix.SYS_SETPGID] = both(0, 0, 1, ^uint32(0), uint32(group))
	// A pair of sockets is a pipe with two ways. Of datagrams it could send elsewhere.
	t[unix.SYS_SOCKETPAIR] = both(0, unix.AF_UNIX, 1, ^uint32(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK), unix.SOCK_STREAM)
	t[unix.SYS_PRLIMIT64] = limits(0, 1, 2)
	t[unix.SYS_SETRLIMIT] = limits(-1, 0, 1)
	t[unix.SYS_SCHED_SETAFFINITY] = oneOf(0, unix.EPERM, 0)
	t[unix.SYS_SCHED_SETSCHEDULER] = oneOf(0, unix.EPERM, 0)
	t[unix.SYS_SCHED_SETPARAM] = oneOf(0, unix.EPERM, 0)
	t[unix.SYS_SETPRIORITY] = both(0, 0, 1, ^uint32(0), 0)
	t[unix.SYS_PERSONALITY] = oneOf(0, unix.EPERM, 0xffffffff)
	t[unix.SYS_FCNTL] = oneOf(1, unix.EINVAL, // neither leases nor who is told by signals
		unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
		unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW,
		unix.F_GETPIPE_SZ, unix.F_GETOWN, unix.F_GET_SEALS)
	t[unix.SYS_IOCTL] = oneOf(1, unix.ENOTTY, // to ask only, and for close-on-exec and non-blocking
		unix.TCGETS, tcgets2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCINQ, fionbio, fioclex, fionclex,
		fioqsize, unix.FS_IOC_GETFLAGS, figetbsz, fiemap)
	t[unix.SYS_PRCTL] = oneOf(0, unix.EINVAL,
		unix.PR_SET_PDEATHSIG, unix.PR_GET_PDEATHSIG, unix.PR_GET_DUMPABLE, unix.PR_SET_DUMPABLE, unix.PR_GET_KEEPCAPS,
		unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_GET_SECCOMP, unix.PR_SET_SECCOMP, unix.PR_CAPBSET_READ, unix.PR_GET_SECUREBITS,
		unix.PR_GET_TIMERSLACK, unix.PR_SET_TIMERSLACK, unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS,
		unix.PR_GET_TID_ADDRESS, unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_GET_SPECULATION_CTRL,
		unix.PR_SET_VMA, unix.PR_GET_CHILD_SUBREAPER, unix.PR_SVE_GET_VL, unix.PR_PAC_GET_ENABLED_KEYS, unix.PR_GET_TAGGED_ADDR_CTRL)
	if scoped {
		t[unix.SYS_KILL], t[unix.SYS_TKILL], t[unix.SYS_TGKILL] = inside(bound), isNot(0, uint32(bound)), isNot(1, uint32(bound))
		t[unix.SYS_PIDFD_OPEN], t[unix.SYS_PIDFD_SEND_SIGNAL] = oneOf(1, unix.EINVAL, 0, unix.PIDFD_NONBLOCK), allowed // none of a thread
	} else {
		// Nothing keeps a signal inside then: no process can send one, not even to itself.
		for _, n := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL} {
			t[n] = refused
		}
	}
	return t
}

// assemble makes a filter of the table: a search by halves over the numbers.
func assemble(t *[maxCall]program) program {
	type segment struct {
		from uint32 // up to the next one's
		do   program
	}
	same := func(a, b program) bool { return len(a) == 1 && len(b) == 1 && a[0] == b[0] }
	all := make([]segment, 0, maxCall)
	for n := range t {
		do := t[n]
		if do == nil {
			do = unknown
		}
		if len(all) == 0 || !same(all[len(all)-1].do, do) {
			all = append(all, segment{uint32(n), do})
		}
	}
	all = append(all, segment{maxCall, unknown})
	p := make(program, 0, 1024)
	p = append(p,
		load(offArch), jump(unix.BPF_JEQ, nativeArch, 1, 0), ret(retKill), // numbers mean something else there
		load(offNumber))
	var search func([]segment)
	search = func(s []segment) {
		if len(s) == 1 {
			p = append(p, s[0].do...)
			return
		}
		p = append(p, jump(unix.BPF_JGE, s[len(s)/2].from, 0, 1), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA})
		at := len(p)
		search(s[:len(s)/2])
		p[at-1].K = uint32(len(p) - at)
		search(s[len(s)/2:])
	}
	search(all)
	return p
}

// filterThread binds the calling thread, and what it starts from here on, to the filter.
func filterThread(p program) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return Refusal("the kernel takes no seccomp filter: " + e.Error())
	}
	return nil
}
