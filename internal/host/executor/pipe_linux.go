package executor

import (
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

// reap takes the end of a child, if it has come. saved says that it ended in its own way.
func reap(pid int) (gone, saved bool) {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	if err != nil || got != pid {
		return false, false
	}
	return true, status.Exited()
}
