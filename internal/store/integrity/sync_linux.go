package integrity

import (
	"os"
	"syscall"
)

// syncData puts a file's content on the disk, and of what is known about it what reading needs.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
