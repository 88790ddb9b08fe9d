package torture

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

// diskSize is how large the disk of a process is. Its image is a sparse file.
const diskSize = 2 << 30

// disk is a file system of its own under a directory: it can be full, and it can be frozen, so that who writes
// waits for it.
type disk struct {
	dir string

	mu     sync.Mutex
	frozen bool // guarded by mu
}

// canHaveDisks reports whether this user may mount an image.
func canHaveDisks() bool {
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

// newDisk mounts a new one at dir, which is made.
func newDisk(dir string) (*disk, error) {
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
			return nil, fmt.Errorf("%s: %w: %s; leave %s and %s out of --nemesis", args[0], err, strings.TrimSpace(string(out)), slowDisk, fullDisk)
		}
	}
	return &disk{dir: dir}, nil
}

// slow lets nothing be written but for a moment after each while, until ctx is done or the time is over.
func (d *disk) slow(ctx context.Context, while, lasts time.Duration) error {
	defer d.freeze(false)
	for end := time.Now().Add(lasts); time.Now().Before(end) && ctx.Err() == nil; {
		if err := d.freeze(true); err != nil {
			return err
		}
		pause(ctx, while)
		if err := d.freeze(false); err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// freeze begins or ends that writers wait.
func (d *disk) freeze(begin bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen == begin {
		return nil
	}
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	request := uintptr(0xc0045878) // FITHAW
	if begin {
		request = 0xc0045877 // FIFREEZE
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, 0); errno != 0 {
		return fmt.Errorf("freeze the disk at %s: %w", d.dir, errno)
	}
	d.frozen = begin
	return nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves no block.
func (d *disk) fill() error {
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
			return fmt.Errorf("fill the disk at %s: %w", d.dir, err)
		}
	}
	return nil
}

// heal lets everybody write again.
func (d *disk) heal() {
	_ = d.freeze(false)
	_ = os.Remove(d.ballast()) // it may not be there
}

// end takes the disk away with all that is on it. Nobody runs on it any more.
func (d *disk) end() {
	d.heal()
	_ = exec.Command("umount", "-l", d.dir).Run()
	_ = os.Remove(d.dir + ".img")
}
