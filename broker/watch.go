package broker

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

const (
	// ringSize and ringBytes bound the changes kept for watchers; a watcher that is further
	// behind gets a new snapshot.
	ringSize  = 4096
	ringBytes = 64 << 20
	// batchSize bounds how many changes one Next returns.
	batchSize = 256
)

// ErrWatcherClosed is Next's answer after Close.
var ErrWatcherClosed = errors.New("the watcher is closed")

// changes is the one ring that all watchers read, each from its own number on. Guarded by Broker.mu.
type changes struct {
	ring  [ringSize]*Change // the change with Seq n stands at n % ringSize
	first uint64            // Seq of the oldest kept; last+1 when none is
	last  uint64            // Seq of the newest, 0 before the first
	bytes int               // rough weight of those kept
	wake  chan struct{}     // closed at the next change; nil while nobody waits
	snap  *Snapshot         // of this moment, shared; nil after a change
}

// showLocked appends e's view as the next change. A request that is not shown as pending is
// not shown before it has ended.
func (b *Broker) showLocked(e *entry) {
	if !b.ready || e.AskedSeq == 0 || e.open() && !e.visible() {
		return
	}
	f := &b.feed
	f.last++
	c := &Change{Seq: f.last, View: e.View, encode: b.cfg.Encode}
	if f.first == 0 {
		f.first = 1
	}
	if f.last-f.first == ringSize {
		f.evictLocked()
	}
	f.ring[c.Seq%ringSize] = c
	f.bytes += weight(c)
	for f.bytes > ringBytes && f.first < f.last {
		f.evictLocked()
	}
	f.snap = nil
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

func (f *changes) evictLocked() {
	oldest := &f.ring[f.first%ringSize]
	f.bytes -= weight(*oldest)
	*oldest = nil
	f.first++
}

// weight is about what a change holds with its JSON, which repeats the payload.
func weight(c *Change) int { return 1024 + 4*payloadBytes(&c.View.Request) }

func (f *changes) wakeLocked() <-chan struct{} {
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}

// Watcher follows the visible state from one of the changes on. It holds no changes of its
// own, so a slow one costs nothing. Its methods may be called from any goroutine, Next from one
// at a time.
type Watcher struct {
	b      *Broker
	after  uint64 // Seq of the last change handed out; owned by Next
	synced bool   // whether the reader has the state after that change; owned by Next
	closed chan struct{}
	woken  chan struct{} // see Wake; holds one
}

// Batch is what a watcher gets at once: either a Snapshot, or Changes that follow what it had.
// Both are shared with other watchers and must not be changed.
type Batch struct {
	Snapshot *Snapshot
	Changes  []*Change
}

// Watch starts a watcher. If epoch is this broker's and the changes after the one numbered
// after are still there, it goes on with them; else its first Next is a Snapshot. The watcher
// must be closed.
func (b *Broker) Watch(epoch string, after uint64) *Watcher {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &Watcher{b: b, after: after, closed: make(chan struct{}), woken: make(chan struct{}, 1)}
	w.synced = epoch == b.epoch && after <= b.feed.last
	return w
}

// Close lets a blocked Next go. It may be called once.
func (w *Watcher) Close() { close(w.closed) }

// Wake lets the Next that blocks, or else a later one, return an empty Batch. It does not block.
func (w *Watcher) Wake() {
	select {
	case w.woken <- struct{}{}:
	default: // it will be
	}
}

// Next blocks until there is something new, or until Wake. A watcher that fell behind gets a Snapshot of now.
// It returns ErrStopping when the broker closes, ErrWatcherClosed after Close, or ctx's error.
func (w *Watcher) Next(ctx context.Context) (Batch, error) {
	for {
		batch, wake, err := w.take()
		if err != nil || wake == nil {
			return batch, err
		}
		select {
		case <-wake:
		case <-w.woken:
			return Batch{}, nil
		case <-w.closed:
			return Batch{}, ErrWatcherClosed
		case <-w.b.stopped:
			return Batch{}, ErrStopping
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
}

// take returns what is there, or a channel to wait for.
func (w *Watcher) take() (Batch, <-chan struct{}, error) {
	select {
	case <-w.closed:
		return Batch{}, nil, ErrWatcherClosed
	default:
	}
	b, f := w.b, &w.b.feed
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closing:
		return Batch{}, nil, ErrStopping
	case !w.synced, w.after < f.last && w.after+1 < f.first:
		s := b.snapshotLocked()
		w.after, w.synced = s.Seq, true
		return Batch{Snapshot: s}, nil, nil
	case w.after == f.last:
		return Batch{}, f.wakeLocked(), nil
	}
	n := min(f.last-w.after, batchSize)
	list := make([]*Change, 0, n)
	for seq := w.after + 1; seq <= w.after+n; seq++ {
		list = append(list, f.ring[seq%ringSize])
	}
	w.after += n
	return Batch{Changes: list}, nil, nil
}

// snapshotLocked is the visible state right after change feed.last. Watchers that need it at
// the same time share it.
func (b *Broker) snapshotLocked() *Snapshot {
	if b.feed.snap == nil {
		b.feed.snap = &Snapshot{Epoch: b.epoch, Seq: b.feed.last, Pending: b.pendingLocked()}
	}
	return b.feed.snap
}

// pendingLocked lists the visible requests in the order they were asked.
func (b *Broker) pendingLocked() []View {
	type askedAt struct {
		seq uint64
		e   *entry
	}
	var order []askedAt
	for _, e := range b.entries {
		if e.visible() {
			order = append(order, askedAt{e.AskedSeq, e})
		}
	}
	slices.SortFunc(order, func(x, y askedAt) int { return cmp.Compare(x.seq, y.seq) })
	views := make([]View, len(order))
	for i, p := range order {
		views[i] = p.e.View
	}
	return views
}
