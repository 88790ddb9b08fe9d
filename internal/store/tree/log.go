package tree

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// SealAfter is how long an entry waits at most before a checkpoint has it.
const SealAfter = time.Minute

// Config is what a Log needs. Store, Key and Decode are required.
type Config struct {
	Store  Store
	Key    *Key
	Decode Decode
	// Shared says that other brokers write the tree, too.
	Shared bool
	// Repair goes on where the record is not what the tree says of it: with a new start, which whoever
	// verifies sees.
	Repair bool
	// Logf gets what an operator should know; nil discards it.
	Logf func(format string, args ...any)
}

// Log writes the tree, and proves what is in it.
type Log struct {
	cfg Config

	mu sync.Mutex
	// Guarded by mu.
	last    *block // the newest that is known
	start   uint64 // the first entry of the record that is in the tree
	read    follow.Cursor
	pending []Leaf
	expect  []Leaf // of blocks that others sealed, and whose entries were not read here yet
	taken   uint64 // up to where blocks of others go
	stopped error  // why nothing is sealed any more
	moved   chan struct{}
	anew    context.CancelFunc // has the reader begin again behind read; nil while none reads
	due     chan struct{}      // holds one: something waits for its checkpoint since SealAfter
	timer   *time.Timer        // of what is pending
	said    string             // why a checkpoint waits, as it was logged last
	unread  string             // why the record could not be read last; "" once it could
	overdue target             // up to where there should be checkpoints, as was last looked
}

// StoppedError says that the tree takes nothing more, for the record is not what the tree says.
type StoppedError struct{ What string }

func (e *StoppedError) Error() string {
	return e.What + "; keep the state directory and find out who changed it; serve --repair goes on, and what is verified later says so"
}

// Open finds the tree, or begins it behind what the record has now.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	l := &Log{cfg: cfg, moved: make(chan struct{}), due: make(chan struct{}, 1)}
	l.timer = time.AfterFunc(SealAfter, l.wake)
	l.timer.Stop()
	for {
		err := l.open(ctx)
		if errors.Is(err, ErrConflict) {
			continue // another broker was first
		}
		if stop := (*StoppedError)(nil); errors.As(err, &stop) {
			l.stopLocked(stop)
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("the tree over the record: %w", err)
		}
		return l, nil
	}
}

func (l *Log) open(ctx context.Context) error {
	now, err := l.cfg.Store.RecordsNow(ctx)
	if err != nil {
		return err
	}
	n, body, err := l.cfg.Store.LastBlock(ctx)
	if errors.Is(err, ErrNoBlock) {
		id := make([]byte, 8)
		_, _ = rand.Read(id) // it never fails
		first := &block{checkpoint: Checkpoint{Origin: "assent/" + hex.EncodeToString(id)}}
		l.start, l.read = now.Last+1, follow.Cursor{Seq: now.Last, Made: now.Made}
		return l.appendBlock(ctx, first, []Leaf{{Kind: KindStart, Seq: now.Last + 1, Time: now.Made.UTC()}})
	}
	if err != nil {
		return err
	}
	b, err := parseBlock(n, body)
	if err != nil {
		return &StoppedError{err.Error()}
	}
	l.acceptLocked(b)
	l.read = follow.Cursor{Seq: b.Record, Made: b.Made}
	if first, err := l.block(ctx, 1); err != nil {
		return &StoppedError{fmt.Sprintf("the tree over the record lost its first block (%v)", err)}
	} else if first.leaves[0].Kind == KindStart {
		l.start = first.leaves[0].Seq
	}
	if !l.cfg.Shared {
		if err := l.mine(b); err != nil {
			return err
		}
	}
	next, found := l.read.Resume(now)
	wrong := ""
	switch {
	case found == follow.Anew:
		l.cfg.Logf("tree: %s", found.Explain("the record", l.read, now))
		return l.again(ctx, next)
	case found == follow.Shorter && !l.cfg.Shared:
		wrong = fmt.Sprintf("the record ends at %d, and the tree over it at %d: it was put back to what it once was", now.Last, l.read.Seq)
	default:
		wrong, err = l.compareLast(ctx)
	}
	if err != nil || wrong == "" {
		return err
	}
	if l.cfg.Repair {
		l.cfg.Logf("tree: %s; going on with a new start", wrong)
		return l.again(ctx, next)
	}
	return &StoppedError{wrong}
}

// mine reports whether a block was signed with our key.
func (l *Log) mine(b *block) error {
	v, err := l.cfg.Key.verifier(b.checkpoint.Origin)
	if err != nil {
		return err
	}
	if _, err := OpenCheckpoint(b.Note, v); err != nil {
		l.cfg.Logf("tree: its newest checkpoint is signed with another key than that in %s: whoever verifies has to be told of both", KeyFile)
	}
	return nil
}

// compareLast compares the newest block with what the record says now. What is gone is no difference here.
func (l *Log) compareLast(ctx context.Context) (wrong string, err error) {
	b := l.last
	from := b.Record
	for _, leaf := range b.leaves {
		if leaf.Kind == KindRecord {
			from = min(from, leaf.Seq)
		}
	}
	err = l.cfg.Store.EntriesBetween(ctx, from, b.Record, func(e Entry) error {
		if i, ok := b.find(e.Seq); ok && wrong == "" && LeafOf(e, l.cfg.Decode).Text() != b.Leaves[i] {
			wrong = fmt.Sprintf("entry %d of the record is not the one that the tree has", e.Seq)
		}
		return nil
	})
	return wrong, err
}

// again goes on behind another cursor, with a leaf that says so.
func (l *Log) again(ctx context.Context, next follow.Cursor) error {
	l.read, l.taken = next, 0
	return l.appendBlock(ctx, l.last, []Leaf{{Kind: KindStart, Seq: next.Seq + 1, Time: next.Made.UTC()}})
}

// appendBlock seals leaves behind a block.
func (l *Log) appendBlock(ctx context.Context, behind *block, leaves []Leaf) error {
	b := &block{Size: behind.end.Size, Edge: behind.end.Hashes, Record: behind.Record, Made: l.read.Made, Epoch: behind.Epoch, n: behind.n + 1, leaves: leaves}
	b.end = behind.end.clone()
	for _, leaf := range leaves {
		text := leaf.Text()
		b.Leaves = append(b.Leaves, text)
		b.end.Append(leaf.Hash(), nil)
		switch leaf.Kind {
		case KindStart:
			b.Epoch, b.Record = b.n, leaf.Seq-1
		case KindRecord:
			b.Record = leaf.Seq
		case KindGap:
			b.Record = leaf.To
		case KindForgotten:
		}
	}
	b.checkpoint = Checkpoint{Origin: behind.checkpoint.Origin, Size: b.end.Size, Root: b.end.Root(), Time: time.Now().UTC().Truncate(time.Second), Record: b.Record}
	if behind.n > 0 {
		b.checkpoint.Last = behind.checkpoint.Sum()
		// A clock that was put back does not put the tree back.
		if b.checkpoint.Time.Before(behind.checkpoint.Time) {
			b.checkpoint.Time = behind.checkpoint.Time
		}
	}
	signer, err := l.cfg.Key.signer(b.checkpoint.Origin)
	if err != nil {
		return err
	}
	if err := b.checkpoint.sign(signer); err != nil {
		return err
	}
	b.Note = b.checkpoint.Note
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode a block: %w", err)
	}
	if err := l.cfg.Store.AppendBlock(ctx, behind.n, body); err != nil {
		return err
	}
	l.acceptLocked(b)
	return nil
}

func (l *Log) acceptLocked(b *block) { l.last = b }

func (l *Log) stopLocked(err error) {
	if l.stopped == nil {
		l.stopped = err
		l.cfg.Logf("tree: %v", err)
		close(l.moved)
		l.moved = make(chan struct{})
	}
}

// Stopped is nil, or why the tree takes nothing more.
func (l *Log) Stopped() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// Run follows the record and seals its entries until ctx is done.
func (l *Log) Run(ctx context.Context) error {
	var also sync.WaitGroup
	also.Go(func() { l.sealDue(ctx) })
	also.Go(func() { l.watchLate(ctx) })
	for ctx.Err() == nil && l.Stopped() == nil {
		readCtx, cancel := context.WithCancel(ctx)
		l.mu.Lock()
		l.anew = cancel
		from := l.read
		l.mu.Unlock()
		err := l.cfg.Store.EntriesAfter(readCtx, from, func(e Entry, decode Decode) { l.add(readCtx, e, decode) })
		meant := readCtx.Err() != nil // the end, or another record
		cancel()
		if errors.Is(err, follow.ErrAnew) {
			err = l.madeAnew(ctx)
		}
		if err != nil && !meant {
			l.cfg.Logf("tree: %v", err)
			l.mu.Lock()
			l.unread = err.Error()
			l.mu.Unlock()
			wait(ctx, time.Second)
		}
	}
	also.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.timer.Stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = l.sealLocked(last) // at the next start, if not now
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// sealDue seals what waited for SealAfter.
func (l *Log) sealDue(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.due:
		}
		l.mu.Lock()
		if err := l.sealLocked(ctx); err != nil && ctx.Err() == nil && l.stopped == nil {
			l.waitsLocked(err)
			l.timer.Reset(SealAfter)
		}
		l.mu.Unlock()
	}
}

func (l *Log) wake() {
	select {
	case l.due <- struct{}{}:
	default:
	}
}

// madeAnew begins again in a record that was deleted and made anew.
func (l *Log) madeAnew(ctx context.Context) error {
	now, err := l.cfg.Store.RecordsNow(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next, found := l.read.Resume(now)
	if found == follow.Same {
		return nil
	}
	l.cfg.Logf("tree: %s", found.Explain("the record", l.read, now))
	if err := l.sealLocked(ctx); err != nil {
		return err
	}
	return l.again(ctx, next)
}

// add takes an entry that was read, and what reads it; nil: the tree's own.
func (l *Log) add(ctx context.Context, e Entry, decode Decode) {
	if decode == nil {
		decode = l.cfg.Decode
	}
	leaf := LeafOf(e, decode)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped != nil || ctx.Err() != nil {
		return
	}
	if e.Seq <= l.read.Seq {
		l.compareLocked(ctx, leaf)
		return
	}
	if e.Seq > l.read.Seq+1 {
		l.pushLocked(Leaf{Kind: KindGap, Seq: l.read.Seq + 1, To: e.Seq - 1})
	}
	l.pushLocked(leaf)
	l.read.Seq, l.unread = e.Seq, ""
	close(l.moved)
	l.moved = make(chan struct{})
	for len(l.pending) >= MaxLeaves && l.stopped == nil && ctx.Err() == nil {
		if err := l.sealLocked(ctx); err != nil && ctx.Err() == nil && l.stopped == nil {
			l.waitsLocked(err)
			l.mu.Unlock() // others may read meanwhile
			wait(ctx, time.Second)
			l.mu.Lock()
		}
	}
}

// waitsLocked says, once for each reason, that a checkpoint cannot be made yet.
func (l *Log) waitsLocked(err error) {
	if errors.Is(err, ErrNoBlock) {
		return // another broker's is on its way, and will be there at the next try
	}
	if text := err.Error(); text != l.said {
		l.said = text
		l.cfg.Logf("tree: a checkpoint waits: %v", err)
	}
}

// compareLocked compares an entry that comes a second time with the leaf that the tree has of it.
func (l *Log) compareLocked(ctx context.Context, leaf Leaf) {
	for _, p := range l.pending {
		if p.Kind == KindRecord && p.Seq == leaf.Seq {
			if p != leaf {
				l.differsLocked(leaf.Seq)
			}
			return
		}
	}
	b, i, err := l.findLocked(ctx, leaf.Seq)
	if err == nil && b.leaves[i] != leaf {
		l.differsLocked(leaf.Seq)
	}
}

func (l *Log) differsLocked(seq uint64) {
	l.stopLocked(&StoppedError{fmt.Sprintf("entry %d of the record is not the one that the tree has", seq)})
}

// Decode reads an entry as this tree does.
func (l *Log) Decode(e Entry) (hook.Record, error) { return l.cfg.Decode(e) }

func (l *Log) block(ctx context.Context, n uint64) (*block, error) {
	body, err := l.cfg.Store.Block(ctx, n)
	if err != nil {
		return nil, err
	}
	return parseBlock(n, body)
}
