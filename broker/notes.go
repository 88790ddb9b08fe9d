package broker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

const (
	maxNotes = 16_384 // deliveries that wait to be recorded; then Delivered blocks
	// noteDelay is how long a note makes room for decisions, looking every notePause whether
	// none was on its way since.
	noteDelay = 20 * time.Millisecond
	notePause = 2 * time.Millisecond
	// noteConflicts is how often a note is tried again behind another record.
	noteConflicts = 5
)

// note is something to record about a settled request that decides nothing.
type note struct {
	id       string
	entry    *entry // nil if not in memory
	step     hook.Step
	eventSeq uint64
	reason   string
	failure  string
}

// notes is the queue of the one goroutine that records them, in order. Deliveries are bounded
// by maxNotes; proofs are not, because Observe must not wait, but there is at most one for each
// unproven request, and those are bounded.
type notes struct {
	drained chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	cond   sync.Cond // with mu: queue changed, or closed
	queue  []note
	closed bool
}

func newNotes() *notes {
	n := &notes{drained: make(chan struct{})}
	n.cond.L = &n.mu
	return n
}

// add queues a delivery and blocks while there are too many.
func (n *notes) add(x note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) >= maxNotes && !n.closed {
		n.cond.Wait()
	}
	n.addLocked(x)
}

// addProof queues a proof and does not block.
func (n *notes) addProof(x note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addLocked(x)
}

func (n *notes) addLocked(x note) {
	if !n.closed {
		n.queue = append(n.queue, x)
		n.cond.Broadcast()
	}
}

// next is the oldest note; false when the queue is closed and empty.
func (n *notes) next() (note, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) == 0 {
		if n.closed {
			return note{}, false
		}
		n.queue = nil // let a long queue's memory go
		n.cond.Wait()
	}
	x := n.queue[0]
	n.queue[0] = note{}
	n.queue = n.queue[1:]
	n.cond.Broadcast()
	return x, true
}

// finish takes no more notes; those that wait are still recorded.
func (n *notes) finish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.cond.Broadcast()
}

// crowded reports whether the queue is so long that it must shrink.
func (n *notes) crowded() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queue) > maxNotes/2
}

// runNotes records notes until the queue is finished.
func (b *Broker) runNotes() {
	defer close(b.notes.drained)
	for {
		n, ok := b.notes.next()
		if !ok {
			return
		}
		b.makeRoom()
		seq := b.recordNote(n)
		b.noteDone(n, seq)
	}
}

// makeRoom lets decisions go first: they have a person and an agent waiting, and the log takes
// one record at a time. A queue that is half full goes on regardless.
func (b *Broker) makeRoom() {
	if b.notes.crowded() {
		return
	}
	for waited := time.Duration(0); waited < noteDelay && !b.isStopped(); waited += notePause {
		before := b.decisions.Load()
		if b.deciding.Load() == 0 && before == b.noted {
			return
		}
		b.noted = before
		if !b.pause(notePause) {
			return
		}
	}
}

// recordNote appends n behind whatever is the request's last record, as long as it still says
// something, and returns the request's last sequence; 0 if it could not be recorded.
func (b *Broker) recordNote(n note) uint64 {
	rec := hook.Record{ID: uuid.NewString(), RequestID: n.id, Step: n.step, Time: time.Now(), EventSeq: n.eventSeq, Reason: n.reason, Failure: n.failure}
	after, ok := b.lastKnown(n)
	if !ok {
		return after
	}
	for failures, conflicts := 0, 0; b.ctx.Err() == nil; {
		var err error
		if after == 0 {
			var f folded
			if f, err = b.read(b.ctx, n.id); err == nil {
				if !worth(n, &f) {
					return f.LastSeq
				}
				after = f.LastSeq
			}
		}
		if err == nil {
			ctx, cancel := context.WithTimeout(b.ctx, endPatience)
			var seq uint64
			seq, err = b.cfg.Log.Append(ctx, rec, after)
			cancel()
			if err == nil {
				return seq
			}
		}
		switch {
		case errors.Is(err, ErrConflict):
			if conflicts++; conflicts > noteConflicts {
				b.cfg.Logf("request %s: %s not recorded: %d times another record came first", n.id, n.step, conflicts)
				return 0
			}
			after = 0
		case errors.Is(err, ErrNotFound):
			return 0
		default:
			if failures++; failures == 1 {
				b.cfg.Logf("request %s: cannot record %s: %v; trying again", n.id, n.step, err)
			}
			after = 0 // it may have been recorded
			if !b.pause(retryPause(failures)) {
				return 0
			}
		}
	}
	return 0
}

// worth reports whether n still adds something to the request as the log has it. A note that
// is there already does not.
func worth(n note, f *folded) bool {
	if f.State != Ended {
		return false
	}
	switch n.step {
	case hook.StepDelivered:
		return f.Outcome != hook.Withdrawn && (f.Delivery == "" || f.Delivery == Recorded)
	case hook.StepConfirmed:
		return f.Outcome == hook.Allowed && f.unproven()
	case hook.StepOverruled:
		edited := f.Outcome == hook.Allowed && f.Decision != nil && len(f.Decision.UpdatedInput) > 0
		return (f.denies() || edited) && f.unproven()
	}
	return false
}

// lastKnown is the sequence of the request's last record, 0 if it must be read; false if
// memory tells already that n adds nothing: another replica was quicker.
func (b *Broker) lastKnown(n note) (uint64, bool) {
	e := n.entry
	if e == nil {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.noteSeq > e.LastSeq {
		return 0, true // memory is behind the log: another replica's proof may be there
	}
	return e.LastSeq, worth(n, &e.folded)
}

func (b *Broker) noteDone(n note, seq uint64) {
	if n.entry == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := n.entry
	e.notesDue--
	e.noteSeq = max(e.noteSeq, seq)
	if n.step != hook.StepDelivered && seq == 0 {
		b.forgetLocked(e) // no use in keeping it
	}
	b.dropLocked(e)
}
