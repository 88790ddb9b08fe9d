package hookd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// maxConns is how many connections are served at once; the others wait in the socket's queue,
	// where their emitters need not stay.
	maxConns = 128
	// bufSize is what each has to read into. Of longer lines maxLong are read at once.
	bufSize = 64 << 10
	maxLong = 4
	// maxLine is how long a line may be: the largest payload of a hook and its envelope.
	maxLine = 16<<20 + 64<<10
	// lineTimeout is how long a connection may go without a whole line.
	lineTimeout = 10 * time.Second
	// turnTimeout is how long one connection may keep the next one waiting for its line.
	turnTimeout = time.Second
	// closingLineTimeout is how long a connection may take for a line while the receiver stops.
	closingLineTimeout = time.Second
	// While it stops, a receiver takes what has come in until nothing did for twice lastCall, but
	// not for longer than closing.
	lastCall = 100 * time.Millisecond
	closing  = 5 * time.Second
)

// Serve takes connections from l until ctx is done, and after that those already pending. It
// closes l.
func (r *Receiver) Serve(ctx context.Context, l Listener) error {
	defer l.Close()
	var handing sync.WaitGroup
	handing.Go(func() { r.handOn(ctx) })
	defer handing.Wait()
	defer close(r.queue)
	return r.accept(ctx, l)
}

// accept serves all connections. They have ended when it returns.
func (r *Receiver) accept(ctx context.Context, l Listener) error {
	last := make(chan time.Time, 1) // when the receiver has to be done
	stop := context.AfterFunc(ctx, func() {
		r.cfg.Gone() // from here on nobody can connect, so the queue only shrinks
		last <- time.Now().Add(closing)
		l.SetDeadline(time.Now().Add(lastCall)) // ends an Accept that waits
	})
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	before := newTurn()
	before.over()
	var end time.Time
	calls := 2 // a machine that is busy elsewhere can miss one
	for {
		r.conns <- struct{}{}
		if ctx.Err() != nil {
			if end.IsZero() {
				end = <-last
			}
			if next := time.Now().Add(lastCall); next.Before(end) {
				l.SetDeadline(next)
			}
		}
		conn, err := l.Accept()
		if err != nil {
			<-r.conns
			switch {
			case ctx.Err() != nil:
				if calls--; calls == 0 {
					return ctx.Err()
				}
				continue
			case errors.Is(err, net.ErrClosed):
				return fmt.Errorf("hookd socket %s: %w", r.cfg.Path, err)
			}
			r.warn("hookd socket %s: %v; trying again", r.cfg.Path, err) // out of descriptors, as a rule
			select {
			case <-time.After(lastCall):
			case <-ctx.Done():
			}
			continue
		}
		calls = 2
		mine, prev := newTurn(), before
		before = mine
		serving.Go(func() {
			defer func() { <-r.conns }()
			r.converse(ctx, conn, prev, mine)
		})
	}
}

// converse reads one connection to its end. Its first line is queued after that of the connection
// before.
func (r *Receiver) converse(ctx context.Context, conn net.Conn, before, mine *turn) {
	defer mine.over()
	defer conn.Close()
	hurry := func() { conn.SetReadDeadline(time.Now().Add(closingLineTimeout)) }
	defer context.AfterFunc(ctx, hurry)()
	wait := func() {
		if conn.SetReadDeadline(time.Now().Add(lineTimeout)); ctx.Err() != nil {
			hurry()
		}
	}
	in, _ := r.bufs.Get().(*bufio.Reader)
	if in == nil {
		in = bufio.NewReaderSize(nil, bufSize)
	}
	in.Reset(conn)
	defer r.bufs.Put(in)
	for first := true; ; {
		wait()
		err := r.line(in, wait, func(line []byte) {
			if first {
				first = false
				mine.read()
				before.wait()
			}
			r.enqueue(line)
			mine.over()
		})
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.lose(err.Error())
			}
			return
		}
	}
}

// turn orders the first lines of two connections.
type turn struct{ hasRead, isOver chan struct{} }

func newTurn() *turn { return &turn{make(chan struct{}), make(chan struct{})} }

// read says that the line is here, over that it is queued, or that there will be none. Only the
// connection itself calls them.
func (t *turn) read() { closeOnce(t.hasRead) }
func (t *turn) over() { closeOnce(t.hasRead); closeOnce(t.isOver) }

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// wait returns when t is over. A line that is not here yet is not waited for longer than turnTimeout.
func (t *turn) wait() {
	// In steps: where the machine is held up for longer than that, the line may be here and not read.
	const steps = 10
	late := time.NewTimer(turnTimeout / steps)
	defer late.Stop()
	for range steps {
		select {
		case <-t.hasRead:
		case <-late.C:
			late.Reset(turnTimeout / steps)
			continue
		}
		break
	}
	select {
	case <-t.hasRead:
		<-t.isOver
	default:
	}
}

// line reads one line and calls fn with it, unless it is blank; fn may not keep it. What stands before the end of the
// connection is a line, too. wait renews the connection's deadline. An error other than io.EOF means that a line was begun and is lost.
func (r *Receiver) line(in *bufio.Reader, wait func(), fn func([]byte)) error {
	part, err := in.ReadSlice('\n')
	line := part
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long <- struct{}{}
		defer func() { <-r.long }()
		wait()
		line = bytes.Clone(part)
		for errors.Is(err, bufio.ErrBufferFull) {
			part, err = in.ReadSlice('\n')
			if len(line)+len(part) > maxLine {
				return fmt.Errorf("a line of more than %d bytes", maxLine)
			}
			line = append(line, part...)
		}
	}
	blank := len(bytes.TrimSpace(line)) == 0
	switch {
	case err == nil, errors.Is(err, io.EOF):
		if !blank {
			fn(bytes.TrimSpace(line))
		}
		return err
	case blank:
		return io.EOF // nothing was begun
	}
	return fmt.Errorf("%d bytes came, and no end of the line: %w", len(line), err)
}
