//go:build linux && (amd64 || arm64)

package contain

import (
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minABI is the first Landlock ABI that can forbid to truncate files (Linux 6.2).
const minABI = 3

const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	execute  = unix.LANDLOCK_ACCESS_FS_EXECUTE

	// forFiles are the rights that a rule on a file may have.
	forFiles = readFile | execute | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// temporary are the rights below the command's own directory. Nothing there can be executed, and
	// no socket or device be made.
	temporary = readFile | readDir | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
)

// handledFS has, for each ABI, the last right on files that it knows.
func handledFS(abi int) uint64 {
	last := uint64(unix.LANDLOCK_ACCESS_FS_TRUNCATE) // ABI 3
	switch {
	case abi >= 9:
		last = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	case abi >= 5:
		last = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return last<<1 - 1
}

// ABI is the Landlock ABI of the kernel, 0 if it has none or it is switched off.
func ABI() int {
	n, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(n)
}

// rules is a Landlock ruleset that is being made. go-landlock would bind every thread of this program,
// whose others have to carry output and clean up; so the three calls of the kernel are made here.
type rules struct {
	fd      int
	abi     int
	handled uint64
	count   int
}

// newRules starts a ruleset that forbids everything the kernel can forbid.
func newRules(abi int) (*rules, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledFS(abi)}
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	size := unsafe.Sizeof(attr)
	switch {
	case abi < 4:
		size = unsafe.Offsetof(attr.Handled_access_net)
	case abi < 6:
		size = unsafe.Offsetof(attr.Scoped)
	default:
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return nil, Refusal("the kernel makes no Landlock ruleset: " + e.Error())
	}
	return &rules{fd: int(fd), abi: abi, handled: attr.Handled_access_fs}, nil
}

// maxRules bounds what one command has the kernel remember.
const maxRules = 50_000

// add allows rights below what fd is, which may be opened with O_PATH.
func (r *rules) add(fd int, rights uint64) error {
	if r.count++; r.count > maxRules {
		return Refusal("more than " + strconv.Itoa(maxRules) + " rules would be needed to leave out the secrets")
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	switch {
	case e == unix.EINVAL:
		return errIsFile
	case e != 0:
		return Refusal("the kernel takes no Landlock rule: " + e.Error())
	}
	return nil
}

// errIsFile is how the kernel refuses a rule with rights that only directories have for what is none.
const errIsFile = Refusal("the kernel takes no such Landlock rule")

// path allows rights below a path, following links. What is not there needs no rule.
func (r *rules) path(name string, rights uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil
	case err != nil:
		return Refusal(oneLine(name) + ": " + err.Error())
	}
	defer unix.Close(fd)
	return r.opened(fd, rights)
}

// opened is path for what is open; a file gets those rights that a file may have. That it is one the kernel says
// itself, so that nothing has to be asked about the directories.
func (r *rules) opened(fd int, rights uint64) error {
	err := r.add(fd, rights)
	if errors.Is(err, errIsFile) && rights&forFiles != rights {
		return r.add(fd, rights&forFiles)
	}
	return err
}

// restrictThread binds the calling thread, and what it starts from here on, to the rules.
func (r *rules) restrictThread() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return Refusal("no_new_privs: " + err.Error())
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); e != 0 {
		return Refusal("the kernel enforces no Landlock ruleset: " + e.Error())
	}
	return nil
}
