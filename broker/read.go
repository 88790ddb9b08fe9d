package broker

import (
	"context"
	"fmt"
	"strconv"

	"assent/internal/hook"
)

// Pending returns the requests that wait, in the order they were asked.
func (b *Broker) Pending() []View {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pendingLocked()
}

// EachPending calls f with each request that waits, in no order, and makes no copies, which of thousands would be
// megabytes. It holds the broker up: f must be quick, call nothing of the broker, and keep or change nothing.
func (b *Broker) EachPending(f func(*View)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.visible() {
			f(&e.View)
		}
	}
}

// Get returns one request, pending or over. ErrNotFound, ErrUnavailable.
func (b *Broker) Get(ctx context.Context, id string) (View, error) {
	b.mu.Lock()
	if e := b.entries[id]; e != nil && e.AskedSeq > 0 {
		defer b.mu.Unlock()
		return e.View, nil
	}
	b.mu.Unlock()
	f, err := b.read(ctx, id)
	return f.View, err
}

// Waits reports whether this broker holds a request under this id that is not over, recorded or about to
// be.
func (b *Broker) Waits(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[id]
	return e != nil && e.open()
}

// Show has watchers sent a request once more that waits: what is told beside it has changed.
func (b *Broker) Show(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[id]; e != nil && e.visible() {
		b.showLocked(e)
	}
}

// Numbered returns the request whose View.AskedSeq is number, pending or over. ErrNotFound,
// ErrUnavailable.
func (b *Broker) Numbered(ctx context.Context, number uint64) (View, error) {
	id, err := b.cfg.Log.RequestAt(ctx, number)
	if err != nil {
		return View{}, b.unavailable("read record", strconv.FormatUint(number, 10), err)
	}
	if id == "" {
		return View{}, fmt.Errorf("request %d: %w", number, ErrNotFound)
	}
	v, err := b.Get(ctx, id)
	if err == nil && v.AskedSeq != number { // its id was asked about once more, long after
		err = fmt.Errorf("request %d: %w", number, ErrNotFound)
	}
	return v, err
}

// Trace returns every record of one request, oldest first. ErrNotFound, ErrUnavailable.
func (b *Broker) Trace(ctx context.Context, id string) ([]hook.Record, error) {
	recs, err := b.cfg.Log.Records(ctx, id)
	if err != nil {
		return nil, b.unavailable("read request", id, err)
	}
	if len(recs) == 0 {
		return nil, fmt.Errorf("request %q: %w", id, ErrNotFound)
	}
	return recs, nil
}

// Ended returns up to limit requests that are over, newest first by when they were settled, of
// those settled before the record sequence before (0: from the newest). The next page's before
// is the sequence of the settling record, which View.SettledSeq has. A limit of 0 is 100, the
// greatest is 1,000.
func (b *Broker) Ended(ctx context.Context, before uint64, limit int) ([]View, error) {
	if limit <= 0 {
		limit = 100
	}
	all, err := b.cfg.Log.Ended(ctx, before, min(limit, 1000))
	if err != nil {
		return nil, b.unavailable("list", "ended requests", err)
	}
	views := make([]View, 0, len(all))
	for _, recs := range all {
		if f := foldAll(recs); f.State == Ended {
			views = append(views, f.View)
		}
	}
	return views, nil
}

// EachEnded visits what Ended lists, until visit returns false. It reports whether there was no more.
func (b *Broker) EachEnded(ctx context.Context, visit func(*View) bool) (all bool, err error) {
	const page = 50
	for before := uint64(0); ; {
		views, err := b.Ended(ctx, before, page)
		if err != nil {
			return false, err
		}
		for i := range views {
			if !visit(&views[i]) {
				return false, nil
			}
			before = views[i].SettledSeq
		}
		if len(views) == 0 {
			return true, nil
		}
	}
}

// read folds a request from the log.
func (b *Broker) read(ctx context.Context, id string) (folded, error) {
	recs, err := b.Trace(ctx, id)
	if err != nil {
		return folded{}, err
	}
	f := foldAll(recs)
	if f.AskedSeq == 0 {
		return folded{}, fmt.Errorf("request %q: %w", id, ErrNotFound)
	}
	return f, nil
}
