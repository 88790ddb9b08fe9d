package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Memory that must be free, and the size of the file system, in bytes. The tests write some hundred
// MB; a NATS server and the broker refuse to begin on a disk that looks small.
const (
	leastMemory = 6 << 30
	memorySize  = 40 << 30
)

// inMemory puts the temporary files of the programs that this goroutine starts from now on into
// memory, until end is called. Tests of a broker wait for the disk more than for anything else, and
// one that is busy makes a broker hand requests back. What the go command builds stays on the disk.
//
// It is a tmpfs in a mount namespace of this thread alone: whatever becomes of this process, nothing
// is left behind but an empty directory, always the same one, as the go command remembers a result
// together with TMPDIR. It is not below /dev/shm, because assent reads no file there.
func inMemory() (end func(), err error) {
	switch {
	case os.Getenv("TMPDIR") != "":
		return nil, errors.New("TMPDIR says where they are")
	case os.Getuid() != 0:
		return nil, errors.New("only root mounts file systems")
	}
	free, err := memoryFree()
	if err != nil {
		return nil, err
	}
	if free < leastMemory {
		return nil, fmt.Errorf("%d MB of memory are free, and it takes %d", free>>20, leastMemory>>20)
	}
	disk := os.TempDir()
	dir := filepath.Join(disk, "assent-tests")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() || fi.Sys().(*syscall.Stat_t).Uid != 0 {
		return nil, fmt.Errorf("%s is somebody else's", dir)
	}
	runtime.LockOSThread()
	if err := mount(dir); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	for name, value := range map[string]string{"TMPDIR": dir, "GOTMPDIR": disk} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }, nil // it is empty, and may be another run's, too
}

func mount(dir string) error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace: %w", err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("a mount namespace: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=1777,size="+strconv.Itoa(memorySize)); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	return nil
}

// memoryFree is how much memory programs may still have, in bytes.
func memoryFree() (int, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return kb << 10, err
		}
	}
	return 0, errors.New("it is not known how much memory is free")
}
