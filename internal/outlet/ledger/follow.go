package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/store/retry"
	"assent/internal/text/show"
)

// Config is what a Follower needs. The function values are required.
type Config struct {
	// Path is the file in which the cursor in the event stream is kept.
	Path string
	// Events calls fn with every event behind a cursor, in order, each once, until ctx is done, or the
	// stream is another: follow.ErrAnew. EventsNow is what a cursor is compared with. EventBounds are the
	// sequences of the oldest and the newest event; 0 without any.
	Events      func(ctx context.Context, after follow.Cursor, fn func(hook.Event)) error
	EventsNow   func(ctx context.Context) (follow.Stream, error)
	EventBounds func(ctx context.Context) (oldest, newest uint64, err error)
	// Mutation reads an event; ok is false for one that is not about a mutation.
	Mutation func(hook.Event) (m hook.Mutation, ok bool, err error)
	// Host is the name of this machine. What other machines tell is about their directories.
	Host string
	// Logf hears what an operator should know; nil discards it. It never gets a payload.
	Logf func(format string, args ...any)

	retry time.Duration // between looks at ledgers that could not be written; 0: retryEvery
}

// One batch has at most so many mutations, and is stored so long after its first one came at the
// latest. batchBytes bounds their payloads, but for the last.
const (
	batchItems = 512
	batchBytes = 4 << 20
	batchWait  = 20 * time.Millisecond
)

// saveEvery is how often the cursor is saved at most: it may be large, and what came since is read
// again after a crash, which stores nothing twice.
const saveEvery = 500 * time.Millisecond

// retryEvery is how often ledgers that could not be written are looked at. readIdle is how long
// the stream may be silent while what they missed is read again.
const (
	retryEvery = 30 * time.Second
	readIdle   = 10 * time.Second
)

// Stats counts since the start.
type Stats struct {
	Stored     uint64 // mutations that are in a ledger, or were already
	NoRepo     uint64 // mutations outside of a git work tree
	Elsewhere  uint64 // mutations on another machine
	Unreadable uint64 // events about a tool call that cannot be read
	Failed     uint64 // mutations that could not be stored when they came
	Lost       uint64 // work trees whose mutations left the stream before they could be stored
	Held       int    // work trees whose ledger cannot be written at the moment
	Seq        uint64 // cursor in the event stream
}

// Follower stores the mutations of an event stream in the ledgers of their work trees. A ledger
// that cannot be written holds up no other: what it misses is read again from the stream, as long
// as it is there, when the ledger can be written.
type Follower struct {
	cfg Config

	// Owned by Run.
	cursor  cursor
	written uint64 // cursor.Seq in the file
	unsaved bool   // the cursor is to be saved soon
	batch   []item
	bytes   int // of the batch's payloads

	mu    sync.Mutex
	stats Stats // guarded by mu
}

// item is one event as it came.
type item struct {
	seq uint64
	m   hook.Mutation
	is  bool // m is one to be stored
}

// NewFollower returns a Follower. It works while Run does.
func NewFollower(cfg Config) *Follower {
	logf := cfg.Logf
	cfg.Logf = func(format string, args ...any) {
		if logf != nil {
			logf("%s", show.Line(fmt.Sprintf(format, args...))) // there are paths in it, as hooks tell them
		}
	}
	if cfg.retry == 0 {
		cfg.retry = retryEvery
	}
	return &Follower{cfg: cfg}
}

// Stats returns the counts.
func (f *Follower) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

func (f *Follower) count(change func(*Stats)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.stats)
	f.stats.Held, f.stats.Seq = len(f.cursor.Held), f.cursor.Seq
}

// Run follows the stream until ctx is done and returns its error. Nothing else ends it: while the
// stream is away or the cursor cannot be saved it says so once and tries again.
func (f *Follower) Run(ctx context.Context) error {
	b := retry.Backoff{First: 250 * time.Millisecond, Most: 30 * time.Second}
	for {
		before := f.written
		err := f.pass(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.written != before {
			b.Succeeded()
		}
		pause, news := b.Failed(err)
		if news {
			f.cfg.Logf("ledger: stopped, trying again until it works: %v", err)
		}
		retry.Wait(ctx, pause)
	}
}

// pass follows the stream until something is wrong.
func (f *Follower) pass(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	items, ended, caught := make(chan item), make(chan error, 1), make(chan caughtUp)
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	from := f.cursor.Cursor
	working.Go(func() {
		ended <- f.cfg.Events(ctx, from, func(e hook.Event) {
			select {
			case items <- f.first(e):
			case <-ctx.Done():
			}
		})
	})
	catching := false
	retry := time.NewTimer(0) // what was held at the last stop may be well now
	defer retry.Stop()
	due := time.NewTimer(0)
	due.Stop()
	save, saving := time.NewTimer(0), false
	save.Stop()
	defer save.Stop()
	for {
		if f.unsaved && !saving {
			save.Reset(saveEvery)
			saving = true
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), f.saveCursor())
		case err := <-ended:
			return errors.Join(fmt.Errorf("read the events: %w", err), f.saveCursor())
		case it := <-items:
			if len(f.batch) == 0 {
				due.Reset(batchWait)
			}
			f.batch = append(f.batch, it)
			f.bytes += len(it.m.RawPayload)
			if len(f.batch) < batchItems && f.bytes < batchBytes {
				break
			}
			due.Stop()
			if err := f.store(ctx); err != nil {
				return err
			}
		case <-due.C:
			if err := f.store(ctx); err != nil {
				return err
			}
		case c := <-caught:
			catching = false
			f.caughtUp(c)
		case <-save.C:
			saving = false
			if err := f.saveCursor(); err != nil {
				return err
			}
		case <-retry.C:
			retry.Reset(f.cfg.retry)
			if len(f.cursor.Held) == 0 || catching {
				break
			}
			catching = true
			waiting, in := maps.Clone(f.cursor.Held), f.cursor.Made
			working.Go(func() {
				c := f.catchUp(ctx, waiting, in)
				select {
				case caught <- c:
				case <-ctx.Done():
				}
			})
		}
	}
}

// begin reads the cursor.
func (f *Follower) begin(ctx context.Context) (err error) {
	if f.cursor, err = readCursor(f.cfg.Path); err != nil {
		return err
	}
	now, err := f.cfg.EventsNow(ctx)
	if err != nil {
		return fmt.Errorf("begin the ledger: %w", err)
	}
	was := f.cursor.Cursor
	found, lost := f.cursor.resume(now)
	if found != follow.Same {
		f.cfg.Logf("ledger: %s", found.Explain("the event stream", was, now))
	}
	for _, root := range lost {
		f.lost(root)
	}
	f.written, f.unsaved = was.Seq, f.cursor.Cursor != was
	clear(f.batch)
	f.batch, f.bytes = f.batch[:0], 0
	f.count(func(*Stats) {})
	return nil
}

// first reads an event that was not read before, and counts it.
func (f *Follower) first(e hook.Event) item {
	it, count, err := f.classify(e)
	f.mu.Lock()
	count(&f.stats)
	n := f.stats.Unreadable
	f.mu.Unlock()
	if err != nil && n&(n-1) == 0 { // not a line for each: anybody can send them
		f.cfg.Logf("ledger: event %d tells of a tool call that cannot be read (%d so far): %v", e.Seq, n, err)
	}
	return it
}

// read reads an event that was read before.
func (f *Follower) read(e hook.Event) item {
	it, _, _ := f.classify(e)
	return it
}

func (f *Follower) classify(e hook.Event) (it item, count func(*Stats), err error) {
	it.seq = e.Seq
	m, ok, err := f.cfg.Mutation(e)
	switch {
	case err != nil:
		return it, func(s *Stats) { s.Unreadable++ }, err
	case !ok:
		return it, func(*Stats) {}, nil
	case m.Repo.GitRoot == "":
		return it, func(s *Stats) { s.NoRepo++ }, nil
	case m.Host != "" && m.Host != f.cfg.Host: // only what says otherwise happened elsewhere
		return it, func(s *Stats) { s.Elsewhere++ }, nil
	}
	it.m, it.is = m, true
	return it, func(*Stats) {}, nil
}

// store stores the batch and moves the cursor behind it.
func (f *Follower) store(ctx context.Context) error {
	if len(f.batch) == 0 {
		return nil
	}
	var list []hook.Mutation
	for _, it := range f.batch {
		if _, held := f.cursor.Held[it.m.Repo.GitRoot]; it.is && !held {
			list = append(list, it.m)
		}
	}
	failed := Store(ctx, list)
	if err := ctx.Err(); err != nil { // some of it may have been cut short: it is read again
		return err
	}
	for root, err := range failed {
		f.cfg.Logf("ledger: %v; what it misses is stored when it can be, while the event stream has it", err)
		if dropped := f.cursor.hold(root, err); dropped != "" {
			f.lost(dropped)
		}
	}
	stored, missed := uint64(0), uint64(0)
	for _, it := range f.batch {
		if !it.is {
			continue
		}
		if f.cursor.miss(it.m.Repo.GitRoot, it.seq) {
			missed++
		} else {
			stored++
		}
	}
	f.cursor.Seq = f.batch[len(f.batch)-1].seq
	clear(f.batch)
	f.batch, f.bytes = f.batch[:0], 0
	f.count(func(s *Stats) {
		s.Stored += stored
		s.Failed += missed
	})
	f.unsaved = f.unsaved || stored+missed > 0 || f.cursor.Seq-f.written >= batchItems
	return nil
}

// lost says that what a work tree misses will not be stored.
func (f *Follower) lost(root string) {
	f.cfg.Logf("ledger: %s misses mutations for good: the event stream has them no more, or too many other ledgers wait", Path(root))
	f.count(func(s *Stats) { s.Lost++ })
}

func (f *Follower) saveCursor() error {
	if err := f.cursor.write(f.cfg.Path); err != nil {
		return err
	}
	f.written, f.unsaved = f.cursor.Seq, false
	return nil
}
