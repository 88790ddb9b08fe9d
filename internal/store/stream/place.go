package stream

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

// place is what a durable reader itself remembers: the last delivery it has handed out. The
// server keeps its place too, but writes it down up to a tenth of a second later, so after a
// crash of the server it hands out again what was acknowledged. It also keeps a second reader
// of that name out.
type place struct {
	lock *flock.Flock
	file *os.File
	made time.Time // the consumer that tally is of; another one of that name begins anew
	tally
}

// placeLine is the content of the file, always of the same length: it is overwritten in place.
const placeLine = "%020d %020d %020d\n"

// openPlace locks and reads dir/name. It returns a *BusyError if the name is taken.
func openPlace(dir, name string) (*place, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
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
		return nil, fmt.Errorf("open the reader's place: %w", err)
	}
	p := &place{lock: lock, file: file}
	var made int64
	if _, err := fmt.Fscanf(file, placeLine, &made, &p.consumer, &p.stream); err == nil {
		p.made = time.Unix(0, made)
	} else {
		p.tally = tally{} // new, or damaged: the server's word counts
	}
	return p, nil
}

// of returns the last delivery that was handed out of the consumer made then, zero if none was.
func (p *place) of(made time.Time) tally {
	if p == nil {
		return tally{}
	}
	if !p.made.Equal(made) {
		p.made, p.tally = made, tally{}
	}
	return p.tally
}

// put notes that this delivery was handed out.
func (p *place) put(t tally) error {
	if p == nil {
		return nil
	}
	p.tally = t
	if _, err := p.file.WriteAt(fmt.Appendf(nil, placeLine, p.made.UnixNano(), t.consumer, t.stream), 0); err != nil {
		return fmt.Errorf("note the reader's place: %w", err)
	}
	return nil
}

func (p *place) close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.file.Close(), p.lock.Close())
}
