package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"assent/internal/hook"
)

const (
	saveEvery = 3 * time.Second // if something changed
	saveAfter = 1000            // records and events, earlier than saveEvery
	// savePause is the least time between two checkpoints.
	savePause   = 250 * time.Millisecond
	saveTimeout = 2 * time.Second

	// maxLive bounds each of the two kinds of ids in a checkpoint, pending and unproven.
	// replayGap is how many records a start may read again rather than have an id listed.
	maxLive   = 1000
	replayGap = 4096

	loaders = 8 // requests read at the same time at the start
)

// unsavedLocked counts a step that the last checkpoint does not have.
func (b *Broker) unsavedLocked() {
	if b.unsaved++; b.unsaved == saveAfter && b.ready {
		select {
		case b.saveSoon <- struct{}{}:
		default:
		}
	}
}

// runSaver saves checkpoints and forgets what is too old until the broker closes, which saves
// the last one itself.
func (b *Broker) runSaver() {
	defer close(b.saved)
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	ok := true
	for {
		select {
		case <-tick.C:
		case <-b.saveSoon:
		case <-b.stopped:
			return
		}
		b.mu.Lock()
		b.forgetOldLocked()
		unsaved := b.unsaved
		b.mu.Unlock()
		if unsaved == 0 {
			continue
		}
		err := b.save(b.ctx)
		if err != nil && ok {
			b.cfg.Logf("%v; a restart will read more of the record", err)
		}
		ok = err == nil
		if !b.pause(savePause) {
			return
		}
	}
}

func (b *Broker) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	point, unsaved := b.checkpoint()
	if unsaved == 0 {
		return nil
	}
	if err := b.cfg.Log.SaveCheckpoint(ctx, point); err != nil {
		return fmt.Errorf("broker: save the checkpoint: %w", err)
	}
	b.mu.Lock()
	b.unsaved -= unsaved
	b.mu.Unlock()
	return nil
}

// checkpoint is where a broker that starts now could begin, and how many steps since the last
// one it covers.
//
// Events whose consequences are not in the record yet will be observed again: EventSeq stays
// before the first of them.
func (b *Broker) checkpoint() (c Checkpoint, unsaved int) {
	type askedAt struct {
		seq uint64
		id  string
	}
	var pending []askedAt
	b.mu.Lock()
	c.Tail, c.EventSeq, unsaved = b.tailSeq, b.eventSeq, b.unsaved
	for _, e := range b.entries {
		for _, seq := range []uint64{e.usedBy, e.turnOver} {
			if seq > 0 && (e.open() || e.followUpsDue > 0) {
				c.EventSeq = min(c.EventSeq, seq-1)
			}
		}
		if e.open() && e.AskedSeq > 0 {
			pending = append(pending, askedAt{e.AskedSeq, e.ID})
		}
	}
	for x := b.unproven.Back(); x != nil && len(c.Live) < maxLive; x = x.Prev() {
		c.Live = append(c.Live, x.Value.(*entry).ID)
	}
	b.mu.Unlock()

	slices.SortFunc(pending, func(x, y askedAt) int { return cmp.Compare(x.seq, y.seq) })
	c.Seq = c.Tail
	for i, p := range pending {
		if i == maxLive || c.Tail-p.seq < replayGap {
			c.Seq = p.seq - 1
			break
		}
		c.Live = append(c.Live, p.id)
	}
	return c, unsaved
}

// load reads the requests that the checkpoint lists. The first that cannot be read ends it: with a record that does not answer
// each of thousands would wait for its own time.
func (b *Broker) load(ctx context.Context, point Checkpoint) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	b.eventSeq, b.tailSeq = point.EventSeq, point.Seq
	var (
		next  = make(chan string)
		found = make([][]hook.Record, 0, len(point.Live))
		errs  []error
		mu    sync.Mutex // guards found and errs
		wg    sync.WaitGroup
	)
	for range min(loaders, len(point.Live)) {
		wg.Go(func() {
			for id := range next {
				recs, err := b.cfg.Log.Records(ctx, id)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
					giveUp()
				} else {
					found = append(found, recs)
				}
				mu.Unlock()
			}
		})
	}
	for _, id := range point.Live {
		if ctx.Err() != nil {
			break
		}
		next <- id
	}
	close(next)
	wg.Wait()
	if len(errs) == 0 && ctx.Err() != nil {
		errs = append(errs, ctx.Err())
	}
	if len(errs) > 0 {
		return fmt.Errorf("broker: read the open requests: %w", errs[0])
	}
	// In the order they were settled, which is that of being forgotten.
	slices.SortFunc(found, func(x, y []hook.Record) int { return cmp.Compare(secondSeq(x), secondSeq(y)) })
	b.mu.Lock()
	tail := b.tailSeq
	b.mu.Unlock()
	for _, recs := range found {
		for _, rec := range recs {
			b.apply(rec)
		}
	}
	b.mu.Lock()
	b.tailSeq = tail // the tail itself has read nothing yet
	b.mu.Unlock()
	return nil
}

func secondSeq(recs []hook.Record) uint64 {
	if len(recs) < 2 {
		return 0
	}
	return recs[1].Seq
}

// forgetProvenLocked forgets, after a start, the settled requests that the last broker had
// forgotten already: they were read again only because they lay behind an open one.
func (b *Broker) forgetProvenLocked(point Checkpoint) {
	live := make(map[string]bool, len(point.Live))
	for _, id := range point.Live {
		live[id] = true
	}
	for id, e := range b.entries {
		if !e.open() && e.SettledSeq <= point.Tail && !live[id] {
			b.forgetLocked(e)
		}
	}
	b.forgetOldLocked()
}
