package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"assent/internal/store/integrity"
)

// ErrNoRecord says that a directory has no record of a broker.
var ErrNoRecord = errors.New("no broker has kept a record here")

// CopyRecord copies the record of a state directory, and its mark, into another one that is empty, where Open takes it; the events
// stay behind. It is for whoever looks into a backup: from is read only. A *LockedError says that a broker works there.
func CopyRecord(from, to string) (err error) {
	record := filepath.Join("nats", "record")
	if fi, err := os.Stat(filepath.Join(from, record)); errors.Is(err, fs.ErrNotExist) || err == nil && !fi.IsDir() {
		return fmt.Errorf("%s: %w", from, ErrNoRecord)
	} else if err != nil {
		return err
	}
	const lock = "lock"
	if _, err := os.Stat(filepath.Join(from, lock)); err == nil { // a broker that works has made it
		file := flock.New(filepath.Join(from, lock), flock.SetFlag(os.O_RDONLY))
		ok, err := file.TryRLock()
		if err != nil {
			return fmt.Errorf("lock %s: %w", from, err)
		}
		defer func() { _ = file.Close() }()
		if !ok {
			return &LockedError{Dir: from, PID: lockOwner(filepath.Join(from, lock))}
		}
	}
	if err := os.CopyFS(filepath.Join(to, record), os.DirFS(filepath.Join(from, record))); err != nil {
		return fmt.Errorf("copy the record: %w", err)
	}
	for _, name := range []string{lock, integrity.FileName} { // the lock says, too, how much the mark has at least
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy the record: %w", err)
		}
	}
	return nil
}
