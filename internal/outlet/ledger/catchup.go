package ledger

import (
	"context"
	"math"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// caughtUp is what catchUp came to, by root.
type caughtUp struct {
	upTo map[string]uint64 // what these missed is stored, up to here
	lost map[string]uint64 // what these missed has left the stream, up to here
}

// catchUp reads again what the waiting ledgers missed, of those that can be written now. It runs
// beside Run, which does not write them meanwhile. in is when their stream was made.
func (f *Follower) catchUp(ctx context.Context, waiting map[string]held, in time.Time) (c caughtUp) {
	oldest, _, err := f.cfg.EventBounds(ctx)
	if err != nil {
		return c // later
	}
	c = caughtUp{map[string]uint64{}, map[string]uint64{}}
	open := map[string]held{}
	from, last := uint64(math.MaxUint64), uint64(0)
	for root, h := range waiting {
		if h.Last < oldest {
			c.lost[root] = h.Last
			continue
		}
		if l, err := Open(root); err != nil || l.Close() != nil {
			continue // it was said when it began
		}
		open[root] = h
		from, last = min(from, h.From), max(last, h.Last)
	}
	if len(open) == 0 {
		return c
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(readIdle, cancel)
	defer idle.Stop()
	var list []hook.Mutation
	bytes, read, stored := 0, from-1, from-1
	flush := func() {
		failed := Store(ctx, list)
		list, bytes = nil, 0
		if ctx.Err() != nil {
			return
		}
		for root := range failed {
			delete(open, root) // all of it again, later
		}
		stored = read
	}
	_ = f.cfg.Events(ctx, follow.Cursor{Seq: from - 1, Made: in}, func(e hook.Event) {
		if ctx.Err() != nil {
			return
		}
		idle.Reset(readIdle)
		it := f.read(e)
		if h, ok := open[it.m.Repo.GitRoot]; it.is && ok && h.From <= it.seq && it.seq <= h.Last {
			list = append(list, it.m)
			bytes += len(it.m.RawPayload)
		}
		read = e.Seq
		if end := read >= last; end || len(list) >= batchItems || bytes >= batchBytes {
			idle.Stop()
			flush()
			idle.Reset(readIdle)
			if end || len(open) == 0 { // none is left to read for
				cancel()
			}
		}
	})
	for root, h := range open {
		if stored < h.From {
			continue
		}
		c.upTo[root] = stored
		if h.From < oldest {
			f.cfg.Logf("ledger: %s misses mutations for good: the event stream begins at %d, and it was to go on at %d", Path(root), oldest, h.From)
		}
	}
	return c
}

// caughtUp notes what catchUp came to.
func (f *Follower) caughtUp(c caughtUp) {
	for root, seq := range c.lost {
		f.cursor.settle(root, seq)
		f.lost(root)
	}
	for root, seq := range c.upTo {
		if f.cursor.settle(root, seq) {
			f.cfg.Logf("ledger: %s can be written again and has what it missed", Path(root))
		}
	}
	if len(c.lost)+len(c.upTo) > 0 {
		f.unsaved = true
		f.count(func(*Stats) {})
	}
}
