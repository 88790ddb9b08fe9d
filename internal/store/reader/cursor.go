package reader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// BusyError says that another process on this machine reads under the same durable name.
type BusyError struct{ Name string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another reader on this machine goes by the name %s, and each event goes to one of them only; stop it, or choose another name", e.Name)
}

// cursor is what a durable reader itself remembers: the last delivery it has handed out. The
// server remembers too, but writes it down up to a tenth of a second later, so after a
// crash of the server it hands out again what was acknowledged. The file also keeps out a second
// reader of that name.
type cursor struct {
	lock *flock.Flock
	file *os.File
	made time.Time // the consumer that tally is of; another one of that name begins anew
	tally
}

// cursorLine is the content of the file, always of the same length: it is overwritten where it stands.
const cursorLine = "%020d %020d %020d\n"

// openCursor locks and reads dir/name. It returns a *BusyError if the name is taken.
func openCursor(dir, name string) (*cursor, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	path := filepath.Join(dir, name)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", path, err)
	case !ok:
		_ = lock.Close()
		return nil, &BusyError{Name: name}
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("open the reader's cursor: %w", err)
	}
	c := &cursor{lock: lock, file: file}
	var made int64
	if _, err := fmt.Fscanf(file, cursorLine, &made, &c.consumer, &c.stream); err == nil {
		c.made = time.Unix(0, made)
	} else {
		c.tally = tally{} // new, or damaged: the server's word counts
	}
	return c, nil
}

// of returns the last delivery that was handed out of the consumer made then, zero if none was.
func (c *cursor) of(made time.Time) tally {
	if c == nil {
		return tally{}
	}
	if !c.made.Equal(made) {
		c.made, c.tally = made, tally{}
	}
	return c.tally
}

// put notes that this delivery was handed out.
func (c *cursor) put(t tally) error {
	if c == nil {
		return nil
	}
	c.tally = t
	if _, err := c.file.WriteAt(fmt.Appendf(nil, cursorLine, c.made.UnixNano(), t.consumer, t.stream), 0); err != nil {
		return fmt.Errorf("write the reader's cursor: %w", err)
	}
	return nil
}

func (c *cursor) close() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.file.Close(), c.lock.Close())
}
