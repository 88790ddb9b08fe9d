package history

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"assent/internal/hook"
)

// A transaction takes at most so many steps and bytes. After a small one the next waits for
// batchPause, and for batchRest times as long as the small one took, so that under load many steps
// share one and the processors are left to others; the first step after a quiet time is not
// delayed.
const (
	batchSteps = 512
	batchBytes = 8 << 20
	batchSmall = 64
	batchPause = 20 * time.Millisecond
	batchRest  = 2
)

// While decisions are being written a transaction waits, up to busyMost, until busyLooks looks in a
// row, busyLook apart, have seen none.
const (
	busyMost  = time.Second
	busyLook  = 5 * time.Millisecond
	busyLooks = 5
)

// idleAfter is how long after the last step the memory that only work needs is given back.
const idleAfter = 5 * time.Second

// follow reads both streams from where w is and stores what they bring, until something is
// wrong.
func (h *History) follow(ctx context.Context, w *writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	from := w.cursor
	m := newMerge(h.cfg, from)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel(nil)
	reading.Go(func() {
		err := h.cfg.Events(ctx, from.events(), func(e hook.Event) { m.events.put(ctx, e) })
		cancel(fmt.Errorf("read the events: %w", err))
	})
	reading.Go(func() {
		err := h.cfg.Records(ctx, from.records(), func(r hook.Record) { m.records.put(ctx, r) })
		cancel(fmt.Errorf("read the records: %w", err))
	})
	err := h.store(ctx, w, m)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// store is the loop of follow.
func (h *History) store(ctx context.Context, w *writer, m *merge) error {
	due := time.Now().Add(tidyFirst)
	alarm := time.AfterFunc(tidyFirst, func() { poke(h.attention) })
	defer alarm.Stop()
	rest := time.AfterFunc(idleAfter, func() { poke(h.attention) })
	defer rest.Stop()
	rested := false
	for {
		if err := h.between(ctx, w); err != nil {
			return err
		}
		if time.Now().After(due) {
			again, err := w.tidy(time.Now())
			if err != nil {
				return err
			}
			h.unknown()
			if again == tidyEvery { // all that is too old has gone
				if err := h.allowed.load(w); err != nil {
					return err
				}
			}
			due = time.Now().Add(again)
			alarm.Reset(again)
		}
		if _, _, ok := m.ready(); !ok {
			if !rested {
				rest.Reset(idleAfter)
			}
			if err := m.wait(ctx, h.attention); err != nil {
				return err
			}
			if !rested && !rest.Stop() { // it has rung
				if err := w.shrinkMemory(); err != nil {
					return err
				}
				h.unknown()
				rested = true
			}
			continue
		}
		if err := h.checkSpace(); err != nil {
			if err := w.full(ctx, err); err != nil {
				return err
			}
			continue
		}
		w.loggedFull = false
		h.makeRoom(ctx)
		begun := time.Now()
		small, err := h.batch(w, m)
		if err != nil {
			return err
		}
		rested = false
		if took := time.Since(begun); small {
			pause(ctx, max(batchPause-took, batchRest*took))
		}
	}
}

// full waits a little for space on the disk. What is in the file can be read meanwhile.
func (w *writer) full(ctx context.Context, why error) error {
	if !w.loggedFull {
		w.loggedFull = true
		w.cfg.Logf("history: nothing is stored, and will be when there is space again: %v", why)
	}
	pause(ctx, shortestPause)
	return ctx.Err()
}

// makeRoom lets decisions go first: a person and an agent wait for them.
func (h *History) makeRoom(ctx context.Context) {
	if h.cfg.Busy == nil || !h.cfg.Busy() {
		return
	}
	quiet := 0
	for waited := time.Duration(0); waited < busyMost && quiet < busyLooks && ctx.Err() == nil; waited += busyLook {
		pause(ctx, busyLook)
		if quiet++; h.cfg.Busy() {
			quiet = 0
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// between does what others asked for, between two transactions.
func (h *History) between(ctx context.Context, w *writer) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-h.damaged:
			return err
		case c := <-h.commands:
			if c.ctx.Err() != nil {
				continue // nobody waits for it any more
			}
			err := c.do(w)
			c.done <- err
			if err != nil && w.begun {
				return err
			}
		default:
			return nil
		}
	}
}

// batch folds and stores what is ready, in one transaction. small says that more might soon be
// stored together.
func (h *History) batch(w *writer, m *merge) (small bool, err error) {
	if err := w.begin(); err != nil {
		return false, err
	}
	steps := 0
	for ; steps < h.cfg.batchSteps && w.bytes < batchBytes; steps++ {
		e, r, ok := m.ready()
		if !ok {
			break
		}
		var err error
		if e.Seq != 0 {
			err = w.event(e)
		} else {
			err = w.record(r, m.after)
		}
		if err != nil {
			return false, err
		}
		m.took(e, r)
		runtime.Gosched() // hooks and decisions go first
	}
	news, err := w.commit()
	if err != nil {
		return false, err
	}
	if err := h.allowed.add(w); err != nil {
		return false, err
	}
	h.stands(w)
	h.watchers.notify(news)
	h.setCursor(w.cursor)
	return steps < min(batchSmall, h.cfg.batchSteps) && w.bytes < batchBytes/8, nil
}
