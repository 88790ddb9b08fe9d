// Package reader reads the event stream as any outside program would: over the network, with no more
// than nats-info.json gives. It is what stands behind assent events.
//
// It says what a reader must know besides the events: what left the stream before it was read, what
// may come twice, and that the stream lost its end.
//
// # Concurrency
//
// Read calls everything it is given from the goroutine of its caller, and leaves none behind.
package reader

import (
	"context"
	"errors"
	"time"

	"assent/internal/hook"
	"assent/internal/store/stream"
)

// ErrNoServer is wrapped by Read's error when no NATS server answers at the start.
var ErrNoServer = errors.New("the event stream does not answer")

// ErrToken is wrapped by Read's error when the server refuses the token.
var ErrToken = errors.New("the event stream refuses the token")

// Options choose what Read reads. The zero value reads all events from now on.
type Options struct {
	Filter  string    // one event type, by its name or the agent's own; empty: all
	All     bool      // from the oldest event kept
	Since   time.Time // from this time on; zero: not
	Durable string    // the server remembers under this name up to where was read; empty: it does not
	Count   int       // stop after so many events; 0: never
	// CursorDir is the directory where a durable reader remembers the last event it handed out.
	// Without it, an event may come twice, unmarked, after a crash of the server.
	CursorDir string
	// Marker gets what is to be said between two events, before the second; nil discards it. Its
	// error ends Read.
	Marker func(Marker) error
	// Logf hears what the reader's user should know at once, such as the server being away;
	// nil discards it.
	Logf func(format string, args ...any)

	ackWait time.Duration // 0 means ackWait; tests set it
}

// Read reads the public window of events (HOOK_EVENTS) and calls fn with each event, in the order of
// the stream.
// It ends with ctx, with an error of fn, after opt.Count events, and when the first attempt to
// reach the server fails. After that it goes on where it was however often the server goes
// away and comes back, under another address or with another token: info is asked each time.
//
// A durable reader acknowledges an event after fn returned, and with opt.CursorDir hands none out
// twice but for one case, which MarkerRepeat announces: the process ended while fn was at work.
// No two on one machine can go by the same name (*BusyError). Readers of one name on different
// machines share the events.
func Read(ctx context.Context, info func() (stream.NATSInfo, error), opt Options, fn func(hook.Event) error) (err error) {
	s := &subscription{info: info, opt: opt, fn: fn}
	if s.opt.Marker == nil {
		s.opt.Marker = func(Marker) error { return nil }
	}
	if s.opt.Logf == nil {
		s.opt.Logf = func(string, ...any) {}
	}
	if s.opt.ackWait == 0 {
		s.opt.ackWait = ackWait
	}
	if opt.Durable != "" && opt.CursorDir != "" {
		if s.cursor, err = openCursor(opt.CursorDir, opt.Durable); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.cursor.close()) }()
	}
	return s.run(ctx)
}

// subscription is one call of Read.
type subscription struct {
	info   func() (stream.NATSInfo, error)
	opt    Options
	fn     func(hook.Event) error
	cursor *cursor // nil unless durable with a directory for it

	began   bool      // a session got as far as reading
	reading bool      // the current one did
	away    string    // why there is none now, as it was last said; empty: there is one
	made    time.Time // when the stream was made
	last    uint64    // sequence of the last event handed out or passed by, or to begin behind
	tally   tally     // of the session's consumer
	earlier uint64    // sequence up to which an earlier process may have got events of this name
	shared  bool      // it was logged that another reader has this name
	seen    int       // events handed out
}

// finalError ends Read; other errors end a session.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// errOdd says that the session has to begin anew. It is not logged.
var errOdd = errors.New("the session has to begin anew")

// errEnough says that opt.Count events were read.
var errEnough = errors.New("enough")

// run reads in sessions, each over one connection.
func (s *subscription) run(ctx context.Context) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	pause := shortest
	for {
		s.reading = false
		err := s.session(ctx)
		final := finalError{}
		switch {
		case errors.Is(err, errEnough):
			return nil
		case errors.As(err, &final):
			return final.error
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.began:
			return err
		}
		if s.reading {
			pause = shortest
		}
		if why := err.Error(); !errors.Is(err, errOdd) && (s.away == "" || pause == longest && why != s.away) {
			s.away = why
			s.opt.Logf("waiting for the event stream: %v", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, longest)
		}
	}
}
