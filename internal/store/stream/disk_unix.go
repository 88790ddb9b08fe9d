//go:build linux || darwin || freebsd

package stream

import (
	"fmt"
	"syscall"
)

// freeSpace is how many bytes this process may still write on the disk of dir.
func freeSpace(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return uint64(max(0, int64(st.Bavail))) * uint64(st.Bsize), nil
}
