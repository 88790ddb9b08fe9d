package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// LockedError says that another process has the state directory.
type LockedError struct {
	Dir string
	// PID is the owner's process id, 0 when it could not be read.
	PID int
}

func (e *LockedError) Error() string {
	owner := "another process"
	if e.PID != 0 {
		owner = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("state directory %s is in use by %s; stop it first, or choose another directory", e.Dir, owner)
}

// dirLock is the flock on <dir>/lock. nats-server takes none of its own, and two servers on
// one directory would both believe in what they wrote.
type dirLock struct {
	file *flock.Flock
}

// lockDir makes dir if need be and locks it, or fails at once.
func lockDir(dir string) (*dirLock, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		_ = file.Close()
		return nil, &LockedError{Dir: dir, PID: lockOwner(path)}
	}
	// The file is never removed: a lock on a removed file keeps nobody out.
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("write the owner's pid to %s: %w", path, err)
	}
	return &dirLock{file: file}, nil
}

// lockOwner reads the pid in a lock file. Between the owner's lock and its write the file may
// be empty, or hold the pid of the owner before.
func lockOwner(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("unlock %s: %w", l.file.Path(), err)
	}
	return nil
}
