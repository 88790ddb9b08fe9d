// Package baddisk makes file systems that can be full, and frozen, so that who writes to them waits. It is for tests and
// `assent torture`; on Linux, for root.
package baddisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// diskSize is how large a disk is, in bytes. Its image is a sparse file.
const diskSize = 2 << 30

// Disk is a file system of its own under a directory: it can be full, and it can be frozen, so that who writes
// waits for it.
type Disk struct {
	Dir string // where it is mounted

	mu     sync.Mutex
	frozen bool // guarded by mu
}

// Possible reports whether this user may mount an image.
func Possible() bool {
	if os.Geteuid() != 0 {
		return false
	}
	for _, name := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(name); err != nil {
			return false
		}
	}
	_, err := os.Stat("/dev/loop-control")
	return err == nil
}

// New mounts a new one at dir, which is made.
func New(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	image := dir + ".img"
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(image, diskSize); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return &Disk{Dir: dir}, nil
}

// Slow lets nothing be written but for a moment after each while, until ctx is done or the time is over.
func (d *Disk) Slow(ctx context.Context, while, lasts time.Duration) error {
	defer d.Freeze(false)
	for end := time.Now().Add(lasts); time.Now().Before(end) && ctx.Err() == nil; {
		if err := d.Freeze(true); err != nil {
			return err
		}
		pause(ctx, while)
		if err := d.Freeze(false); err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// Freeze begins or ends that writers wait.
func (d *Disk) Freeze(begin bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen == begin {
		return nil
	}
	f, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	defer f.Close()
	request := uintptr(0xc0045878) // FITHAW
	if begin {
		request = 0xc0045877 // FIFREEZE
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, 0); errno != 0 {
		return fmt.Errorf("freeze the disk at %s: %w", d.Dir, errno)
	}
	d.frozen = begin
	return nil
}

func (d *Disk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill leaves no block.
func (d *Disk) Fill() error {
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	at := int64(0)
	for step := int64(diskSize); step >= 4<<10; {
		err := syscall.Fallocate(int(f.Fd()), 0, at, step)
		switch {
		case err == nil:
			at += step
		case errors.Is(err, syscall.ENOSPC):
			step /= 2
		case !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("fill the disk at %s: %w", d.Dir, err)
		}
	}
	return nil
}

// Heal lets everybody write again.
func (d *Disk) Heal() {
	_ = d.Freeze(false)
	_ = os.Remove(d.ballast()) // it may not be there
}

// End takes the disk away with all that is on it. Nobody runs on it any more.
func (d *Disk) End() {
	d.Heal()
	_ = exec.Command("umount", "-l", d.Dir).Run()
	_ = os.Remove(d.Dir + ".img")
}

// pause waits for a time, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
