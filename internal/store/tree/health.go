package tree

import (
	"context"
	"time"
)

// lateAfter is how long an entry may be without a checkpoint before that is told: SealAfter, and once more for what is under way.
const lateAfter = 2 * SealAfter

// Health says whether the tree keeps up with the record.
type Health struct {
	// Stopped is why the tree takes nothing more; nil: it does.
	Stopped error
	// Late is how many entries of the record have had no checkpoint for longer than lateAfter, and Why what the last try to read
	// or to seal them ended with; "" where none failed.
	Late uint64
	Why  string
}

// Words says what is wrong, in one line; "" where nothing is.
func (h Health) Words() string {
	switch {
	case h.Stopped != nil:
		return h.Stopped.Error()
	case h.Late > 0 && h.Why != "":
		return "checkpoints of the record are late: " + h.Why
	case h.Late > 0:
		return "checkpoints of the record are late"
	}
	return ""
}

// Health tells how the tree stands, as was last looked.
func (l *Log) Health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := Health{Stopped: l.stopped}
	if l.last != nil && l.overdue.record > l.last.Record {
		h.Late = l.overdue.record - l.last.Record
		h.Why = l.said
		if h.Why == "" {
			h.Why = l.unread
		}
	}
	return h
}

// target is up to where checkpoints should go by now.
type target struct {
	made   time.Time // of the stream
	record uint64
}

// watchLate looks again and again whether what stood in the record lateAfter ago has a checkpoint, until ctx is done. It asks the
// record itself, so that a reader that gets nothing is noticed, too.
func (l *Log) watchLate(ctx context.Context) {
	tick := time.NewTicker(lateAfter)
	defer tick.Stop()
	var before target
	for {
		now, err := l.cfg.Store.RecordsNow(ctx)
		if err == nil {
			l.mu.Lock()
			if before.made.Equal(now.Made) {
				l.overdue = before
			} else {
				l.overdue = target{} // another record: nothing of it is due
			}
			if h := l.last; h != nil && l.overdue.record > h.Record && l.stopped == nil {
				l.cfg.Logf("tree: %d entries of the record have had no checkpoint for %s", l.overdue.record-h.Record, lateAfter)
			}
			l.mu.Unlock()
			before = target{now.Made, now.Last}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
