package executor

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// enlarge makes room in a pipe for size bytes, if the kernel lets it.
func enlarge(f *os.File, size int) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	}
}

// free is how many bytes can still be written where path is; negative: not known.
func free(path string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * st.Bsize
}

// reap takes the end of a child, if it has come: done says so. saved says that it ended in its own way. What is
// no child of ours is done too.
func reap(pid int) (done, saved bool) {
	var status syscall.WaitStatus
	switch got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); {
	case errors.Is(err, syscall.EINTR):
		return false, false
	case err != nil:
		return true, false
	default:
		return got == pid, got == pid && status.Exited()
	}
}
