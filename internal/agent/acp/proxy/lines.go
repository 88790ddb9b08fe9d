package proxy

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

const (
	readSize = 64 << 10
	// maxLook is how much of a line is held back to be looked at, in bytes. The rest of a longer one passes
	// as it comes.
	maxLook = 2 << 20
)

// lineWriter writes whole lines, from several goroutines.
type lineWriter struct {
	mu   sync.Mutex
	w    io.Writer
	busy atomic.Bool // a line is being written
}

func (w *lineWriter) lock() {
	w.mu.Lock()
	w.busy.Store(true)
}

func (w *lineWriter) unlock() {
	w.busy.Store(false)
	w.mu.Unlock()
}

func (w *lineWriter) write(line []byte) error {
	w.lock()
	defer w.unlock()
	_, err := w.w.Write(line)
	return err
}

// passed is what is done once a line has gone; it may be nil.
type passed func()

// carry takes lines from r to w until r ends, which is no error. look sees each before it goes, whole or,
// of a line of more than maxLook bytes, its beginning; it says whether the line may go.
func carry(r io.Reader, w *lineWriter, look func(line []byte, whole bool) (bool, passed)) error {
	in := bufio.NewReaderSize(r, readSize)
	var held []byte
	for {
		part, err := in.ReadSlice('\n')
		ends := err == nil
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		line := part
		if len(held) > 0 || !ends && err == nil {
			held = append(held, part...)
			line = held
		}
		switch {
		case ends || err != nil && len(line) > 0: // the last line may lack its end
			if failed := pass(w, line, look); failed != nil {
				return failed
			}
			if held = held[:0]; cap(held) > readSize {
				held = nil
			}
		case len(line) > maxLook:
			if failed := passLong(in, w, line, look); failed != nil {
				return failed
			}
			held = nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func pass(w *lineWriter, line []byte, look func([]byte, bool) (bool, passed)) error {
	may, then := look(line, true)
	if !may {
		return nil
	}
	if err := w.write(line); err != nil {
		return err
	}
	if then != nil {
		then()
	}
	return nil
}

// passLong passes a line that begins with head, and the rest of it from in. Nobody else writes meanwhile.
func passLong(in *bufio.Reader, w *lineWriter, head []byte, look func([]byte, bool) (bool, passed)) error {
	_, _ = look(head, false) // what is too long to be looked at always passes
	w.lock()
	defer w.unlock()
	if _, err := w.w.Write(head); err != nil {
		return err
	}
	for {
		part, err := in.ReadSlice('\n')
		if _, failed := w.w.Write(part); failed != nil {
			return failed
		}
		if err == nil || err == io.EOF { // the caller meets the end again
			return nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
