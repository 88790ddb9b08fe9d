package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"assent/internal/host/regular"
	"assent/internal/store/integrity"
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
	return fmt.Sprintf("the state directory %s is in use by %s, probably a broker that already runs; stop it first, or choose another directory with --state-dir", e.Dir, owner)
}

// dirLock is the flock on <dir>/lock. nats-server takes none of its own, and two servers on
// one directory would both believe in what they wrote.
type dirLock struct {
	file *flock.Flock
	// kept is what the owner before said of the mark of the record. It stays in the file whatever
	// becomes of this process, until the mark says otherwise.
	kept integrity.Kept
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
	l := &dirLock{file: file, kept: readKept(path)}
	if err := l.write(false); err != nil {
		_ = file.Close()
		return nil, err
	}
	return l, nil
}

// lockMarks begins the second line of a lock file, behind the owner's pid: how many entries the mark
// of the record has at least. Releases that keep no mark write the pid alone.
const lockMarks = "marks "

const maxLock = 4 << 10 // bytes of a lock file

func readKept(path string) (kept integrity.Kept) {
	text, err := regular.Read(path, maxLock, 0)
	if err != nil {
		return kept
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	line, _, _ := strings.Cut(rest, "\n")
	if number, ok := strings.CutPrefix(line, lockMarks); ok {
		n, err := strconv.ParseUint(number, 10, 64)
		kept.Marks = err == nil
		kept.Count = n
	}
	return kept
}

// keep says in the file, and on the disk, that the mark has n entries.
func (l *dirLock) keep(n uint64) error {
	l.kept = integrity.Kept{Marks: true, Count: n}
	return l.write(true)
}

// write writes the file in place. At no time it is empty, or without what was kept; and it is never
// removed: a lock on a removed file keeps nobody out.
func (l *dirLock) write(sync bool) error {
	text := strconv.Itoa(os.Getpid()) + "\n"
	if l.kept.Marks {
		text += lockMarks + strconv.FormatUint(l.kept.Count, 10) + "\n"
	}
	f, err := os.OpenFile(l.file.Path(), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
		if err == nil {
			err = f.Truncate(int64(len(text)))
		}
		if err == nil && sync {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the owner's pid to %s: %w", l.file.Path(), err)
	}
	return nil
}

// lockOwner reads the pid in a lock file. Between the owner's lock and its write the file may
// be empty, or hold the pid of the owner before.
func lockOwner(path string) int {
	text, err := regular.Read(path, maxLock, 0)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
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
