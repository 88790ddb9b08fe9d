// Package history keeps what happened in SQLite: sessions, their feeds, requests and
// decisions, searchable. It follows the two streams, EVENTS and APPROVALS, folds them with
// package feed in the one order they have (merge.go), and stores the rows together with its
// cursor in both streams. Everything in its file can be made again from the streams, as far as
// they reach back: a file that is missing, damaged or of another layout is made anew.
//
// History is behind everything else. Whatever happens to its file or its disk, hooks and
// decisions do not notice.
//
// # Concurrency
//
// Run owns the file: it is the only writer. While it runs, two goroutines of its own read the
// streams into bounded queues. All other methods may be called from any goroutine, at any time;
// reads use connections of their own and see whole transactions.
package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// Config is what a History needs. The function values down to Decode are required.
type Config struct {
	// Path is the file. SQLite keeps two more beside it, Path-wal and Path-shm.
	Path string

	// Events and Records call fn with everything in EVENTS and APPROVALS behind a cursor, in order, each
	// once, until ctx is done, or the stream is another: follow.ErrAnew. A record that cannot be read has
	// nothing but its Seq. EventsNow and RecordsNow are what a cursor is compared with.
	Events     func(ctx context.Context, after follow.Cursor, fn func(hook.Event)) error
	Records    func(ctx context.Context, after follow.Cursor, fn func(hook.Record)) error
	EventsNow  func(ctx context.Context) (follow.Stream, error)
	RecordsNow func(ctx context.Context) (follow.Stream, error)
	// Settled returns when no record can come any more that stands before an event that was
	// read: the last record there is then.
	Settled func(ctx context.Context, eventSeq uint64) (recordSeq uint64, err error)
	// EventBounds are the sequences of the oldest and the newest event; 0 without any.
	EventBounds func(ctx context.Context) (oldest, newest uint64, err error)
	// Decode reads a payload.
	Decode func(agent, event string, raw []byte) (hook.Payload, hook.Detail)
	// Detail is the second of what Decode returns, where the first is not wanted; nil: Decode is asked.
	Detail func(agent, event string, raw []byte) hook.Detail

	// Forget removes events, of which isIts says that they are the session's, and requests from
	// the streams. Without it History.Forget does not work.
	Forget func(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool) error
	// Free is how many bytes the disk still takes; nil means that it is never looked at.
	Free func() (uint64, error)

	// Busy reports that somebody waits for a decision to be written. History then makes room, for
	// a while. Nil means never.
	Busy func() bool

	// Retention is how long rows are kept; 0 means 90 days. MaxBytes is how large the file may
	// become before the oldest rows go earlier; 0 means 4 GiB.
	Retention time.Duration
	MaxBytes  int64
	// Logf hears what an operator should know; nil discards it. It never gets a payload.
	Logf func(format string, args ...any)

	searchTime time.Duration // 0 means searchTime; tests set it
	batchSteps int           // 0 means batchSteps; tests set it
}

// keepFree is how much of the disk history leaves to others, in bytes. The streams stop at
// less, so history is never what stops them.
const keepFree = 128 << 20

// Errors of a History.
var (
	// ErrNotReady says that the file is not open: history has just begun, or cannot work.
	ErrNotReady = errors.New("history is not available at the moment; the log of the broker says why")
	// ErrNotFound says that history knows no such session.
	ErrNotFound = errors.New("no such session")
	// ErrWaiting says that a session cannot be forgotten while a request of it waits.
	ErrWaiting = errors.New("a request of the session waits; answer it first")
	// ErrQuery says that there is nothing to search for.
	ErrQuery = errors.New("nothing to search for")
	// ErrSlow says that a search was given up.
	ErrSlow = errors.New("the search took too long; look for fewer or rarer words")
)

// History is made by Open and works while Run does.
type History struct {
	cfg      Config
	watchers watchers
	allowed  allowedCounts
	// For the goroutine of Run. Each holds one; attention wakes it to look at the others.
	damaged   chan error // a reader met damage
	commands  chan command
	attention chan struct{}
	searches  chan struct{} // holds one for each search that runs

	mu     sync.Mutex
	db     *db    // guarded by mu; nil while there is none
	why    error  // guarded by mu; why there is none
	cursor cursor // guarded by mu; what is committed
	// standing are sessions whose folds are in memory, as they are committed: those that something happens in are
	// asked for all the time, and need not be read back from the file. By id, and at most maxStates.
	standing map[string]standing // guarded by mu
	changed  chan struct{}       // guarded by mu; closed and replaced when one of these changes
}

// command is work for the goroutine that writes, between two transactions.
type command struct {
	ctx  context.Context // of who waits for it
	do   func(*writer) error
	done chan error // takes one
}

// Open returns a History. It touches no file: that is left to Run, so that a broker need not
// wait for it.
func Open(cfg Config) (*History, error) {
	if cfg.Path == "" || cfg.Events == nil || cfg.Records == nil || cfg.EventsNow == nil || cfg.RecordsNow == nil || cfg.Settled == nil || cfg.EventBounds == nil || cfg.Decode == nil {
		return nil, errors.New("open history: Path and the functions that read the streams are required")
	}
	if cfg.Detail == nil {
		cfg.Detail = func(agent, event string, raw []byte) hook.Detail {
			_, d := cfg.Decode(agent, event, raw)
			return d
		}
	}
	if cfg.Retention == 0 {
		cfg.Retention = 90 * 24 * time.Hour
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 4 << 30
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.batchSteps == 0 {
		cfg.batchSteps = batchSteps
	}
	if cfg.searchTime == 0 {
		cfg.searchTime = searchTime
	}
	return &History{
		cfg:       cfg,
		damaged:   make(chan error, 1),
		commands:  make(chan command, 1),
		attention: make(chan struct{}, 1),
		searches:  make(chan struct{}, maxSearches),
		why:       errors.New("it is being opened"),
		changed:   make(chan struct{}),
	}, nil
}

// Pauses between attempts while the file cannot be written.
const (
	shortestPause = 250 * time.Millisecond
	longestPause  = 30 * time.Second
	mostPause     = 10 * time.Minute // between attempts that each end with a damaged file
)

// Run follows the streams until ctx is done and returns its error. Nothing else ends it: while
// the disk is full or the file cannot be opened it says so once and tries again.
func (h *History) Run(ctx context.Context) error {
	defer h.watchers.close()
	bad := map[step]bool{} // what the fold cannot take
	lastLogged, damages := "", 0
	for pause := shortestPause; ; {
		before := h.committed()
		err := h.pass(ctx, bad)
		if ctx.Err() != nil {
			h.setDB(nil, errors.New("the broker is stopping"))
			return ctx.Err()
		}
		if h.committed() != before {
			pause, lastLogged = shortestPause, ""
		}
		var unfit *unfitError
		if !errors.As(err, &unfit) { // that one has a stack in it, which is for the log alone
			h.setDB(nil, err)
		}
		switch {
		case unfit != nil:
			h.cfg.Logf("history: %v; it is left out of the feed", err)
			maps.DeleteFunc(bad, func(s step, _ bool) bool { return s.event <= before.event && s.record <= before.record })
			bad[unfit.step] = true
			continue
		case isDamage(err):
			h.cfg.Logf("history: %v", err)
			if err := h.moveAside(); err != nil {
				h.cfg.Logf("history: %v", err)
				break
			}
			h.watchers.close()
			// A disk that damages every file must not keep us busy.
			pause = max(pause, min(shortestPause<<min(damages, 20), mostPause))
			damages++
		case err.Error() != lastLogged:
			lastLogged = err.Error()
			h.cfg.Logf("history: stopped, trying again until it works: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

// pass opens the file and follows the streams until something is wrong.
func (h *History) pass(ctx context.Context, bad map[step]bool) (err error) {
	d, err := openDB(h.cfg.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	w, err := newWriter(d, h.cfg)
	if err != nil {
		return err
	}
	defer w.close()
	w.bad = bad
	if err := w.otherFold(ctx); err != nil {
		return err
	}
	if err := h.allowed.load(w); err != nil {
		return err
	}
	h.setDB(d, nil)
	defer h.setDB(nil, errors.New("it is being opened again"))
	if err := h.resume(ctx, w); err != nil {
		return err
	}
	h.setCursor(w.cursor)
	return h.follow(ctx, w)
}

// checkSpace returns an error while the disk is too full for history.
func (h *History) checkSpace() error {
	if h.cfg.Free == nil {
		return nil
	}
	free, err := h.cfg.Free()
	if err != nil {
		return fmt.Errorf("look at the disk: %w", err)
	}
	if free < keepFree {
		return fmt.Errorf("disk full: %d MiB are free, %d MiB are left to others", free>>20, keepFree>>20)
	}
	return nil
}

// Cursor returns the sequences of the last event and the last record that are in the file.
func (h *History) Cursor() (event, record uint64) {
	c := h.committed()
	return c.event, c.record
}

func (h *History) committed() cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cursor
}

// setDB says that reads can use d, or why they cannot.
func (h *History) setDB(d *db, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.db, h.why, h.standing = d, why, nil
	h.changedLocked()
}

func (h *History) setCursor(c cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursor = c
	h.changedLocked()
}

func (h *History) changedLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// reading returns the open file for a read; the caller calls done.
func (h *History) reading() (d *db, done func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db == nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotReady, h.why)
	}
	h.db.users.Add(1)
	return h.db, h.db.users.Done, nil
}

// readFailed is a read's error, and has the file made anew if it is damaged.
func (h *History) readFailed(what string, err error) error {
	if isDamage(err) {
		select {
		case h.damaged <- err:
		default:
		}
		poke(h.attention)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// do has the goroutine of Run do something between two transactions. If it fails within one of
// its own, the file is opened anew.
func (h *History) do(ctx context.Context, do func(*writer) error) error {
	c := command{ctx, do, make(chan error, 1)}
	select {
	case h.commands <- c:
	case <-ctx.Done():
		return ctx.Err()
	}
	poke(h.attention)
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CaughtUp returns when everything that was in the streams at the call is in the file.
func (h *History) CaughtUp(ctx context.Context) error {
	_, newest, err := h.cfg.EventBounds(ctx)
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	record, err := h.cfg.Settled(ctx, newest)
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	for {
		h.mu.Lock()
		at, ready, why, changed := h.cursor, h.db != nil, h.why, h.changed
		h.mu.Unlock()
		if ready && at.event >= newest && at.record >= record {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if !ready {
				return fmt.Errorf("catch up: %w: %w", ErrNotReady, why)
			}
			return fmt.Errorf("catch up: history is %d events behind: %w", newest-min(newest, at.event), ctx.Err())
		}
	}
}
