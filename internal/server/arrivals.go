package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// errCrowd says that a body was dropped to make room for others.
var errCrowd = errors.New("the bodies that are on their way fill the memory set aside for them")

// arrivals are the bodies that have not arrived completely. Together they have at most max bytes; beyond
// that the largest is dropped, so that slow senders of large bodies do not keep small ones out.
type arrivals struct {
	max int64

	mu    sync.Mutex
	bytes int64                 // guarded by mu: of all in open
	open  map[*arrival]struct{} // guarded by mu
}

// arrival is one such body.
type arrival struct {
	of   *arrivals
	cut  func() // ends the reading; called under of.mu
	size int64  // guarded by of.mu
	lost bool   // guarded by of.mu: it was dropped
}

// begin counts a body. cut must not block; it is not called after end.
func (a *arrivals) begin(cut func()) *arrival {
	x := &arrival{of: a, cut: cut}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[*arrival]struct{}{}
	}
	a.open[x] = struct{}{}
	return x
}

// grow makes room for n more bytes of x. errCrowd: x itself is dropped.
func (x *arrival) grow(n int) error {
	a := x.of
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.lost {
		return errCrowd
	}
	x.size += int64(n)
	a.bytes += int64(n)
	for a.bytes > a.max {
		largest := x
		for y := range a.open {
			if y.size > largest.size {
				largest = y
			}
		}
		a.leaveLocked(largest)
		largest.lost = true
		if largest == x {
			return errCrowd
		}
		largest.cut()
	}
	return nil
}

// end stops counting x, and reports whether it was dropped.
func (x *arrival) end() (lost bool) {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.of.leaveLocked(x)
	return x.lost
}

func (a *arrivals) leaveLocked(x *arrival) {
	if _, ok := a.open[x]; ok {
		delete(a.open, x)
		a.bytes -= x.size
	}
}

// readBody reads the whole body. What it holds grows as the body arrives, whatever length was
// announced, and is one slice of the right size in the end: a hook's stays in memory while it waits.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	// A connection without deadlines is a test's recorder. Once the body is here the deadline is
	// lifted, for a hook waits on this connection; otherwise it stays, because net/http reads on for
	// a while in a body that we dropped.
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	x := s.arriving.begin(func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) })
	b, err := x.read(r.Body, r.ContentLength)
	if lost := x.end(); lost && err != nil {
		err = errCrowd
	}
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	_ = rc.SetReadDeadline(time.Time{})
	return b, nil
}

const (
	firstPart = 16 << 10 // most hooks' bodies are smaller
	largePart = 1 << 20
)

// read reads body, of which length bytes were announced, -1 if none were.
func (x *arrival) read(body io.Reader, length int64) ([]byte, error) {
	var parts [][]byte
	var total int64
	for size, end := int64(firstPart), false; !end && total != length; size = min(2*size, largePart) {
		want := size
		if length >= 0 {
			want = min(want, length-total)
		}
		if err := x.grow(int(want)); err != nil {
			return nil, err
		}
		part := make([]byte, want)
		n, err := io.ReadFull(body, part)
		if end = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !end {
			return nil, err
		}
		if total += int64(n); n > 0 {
			parts = append(parts, part[:n])
		}
	}
	if length >= 0 {
		if total < length {
			return nil, io.ErrUnexpectedEOF
		}
		// One more read lets net/http see the end and watch for the client going away.
		if _, err := body.Read(make([]byte, 1)); err != nil && err != io.EOF {
			return nil, err
		}
	}
	if len(parts) == 1 && len(parts[0]) == cap(parts[0]) {
		return parts[0], nil
	}
	return bytes.Join(parts, nil), nil
}
