package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

const (
	maxFollowUps = 16_384 // deliveries that wait to be recorded; then Delivered blocks
	// yieldTime is how long a follow-up waits for decisions to go first, looking every yieldPause whether
	// none was on its way since.
	yieldTime  = 20 * time.Millisecond
	yieldPause = 2 * time.Millisecond
	// followUpsAtOnce is how many are on their way to a log that several brokers share: each takes a round trip there, and
	// the cluster writes what comes together at once. An engine of our own writes one after the other, and a decision
	// that comes meanwhile would stand behind all of them: there it is one.
	followUpsAtOnce = 16
	// maxConflicts is how often a follow-up is tried again behind another record.
	maxConflicts = 5
)

// followUp is something to record about a settled request that decides nothing.
type followUp struct {
	id       string
	entry    *entry // nil if not in memory
	step     hook.Step
	eventSeq uint64
	reason   string
	failure  string
}

// followUps is the queue of the one goroutine that has them recorded, those of a request in order. Deliveries are bounded
// by maxFollowUps; proofs are not, because Observe must not wait, but there is at most one for each
// unproven request, and those are bounded.
type followUps struct {
	drained chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	cond   sync.Cond // with mu: queue changed, or closed
	queue  []followUp
	closed bool
}

func newFollowUps() *followUps {
	q := &followUps{drained: make(chan struct{})}
	q.cond.L = &q.mu
	return q
}

// add queues a delivery and blocks while there are too many.
func (q *followUps) add(x followUp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) >= maxFollowUps && !q.closed {
		q.cond.Wait()
	}
	q.addLocked(x)
}

// addProof queues a proof and does not block.
func (q *followUps) addProof(x followUp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(x)
}

func (q *followUps) addLocked(x followUp) {
	if !q.closed {
		q.queue = append(q.queue, x)
		q.cond.Broadcast()
	}
}

// wait returns when there is a follow-up; false when the queue is closed and empty.
func (q *followUps) wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) == 0 {
		if q.closed {
			return false
		}
		q.queue = nil // let a long queue's memory go
		q.cond.Wait()
	}
	return true
}

// take returns the oldest follow-ups, at most so many, up to a second one of the same request.
func (q *followUps) take(most int) []followUp {
	q.mu.Lock()
	defer q.mu.Unlock()
	var xs []followUp
	for len(xs) < min(most, len(q.queue)) {
		x := q.queue[len(xs)]
		if slices.ContainsFunc(xs, func(y followUp) bool { return y.id == x.id }) {
			break
		}
		xs = append(xs, x)
	}
	clear(q.queue[:len(xs)])
	q.queue = q.queue[len(xs):]
	q.cond.Broadcast()
	return xs
}

// finish takes no more follow-ups; those that wait are still recorded.
func (q *followUps) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cond.Broadcast()
}

// crowded reports whether the queue is so long that it must shrink.
func (q *followUps) crowded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > maxFollowUps/2
}

// recordFollowUps records follow-ups until the queue is finished.
func (b *Broker) recordFollowUps() {
	defer close(b.followUps.drained)
	atOnce := followUpsAtOnce
	if b.cfg.SingleReplica {
		atOnce = 1
	}
	for b.followUps.wait() {
		b.yieldToDecisions()
		var recording sync.WaitGroup
		for _, n := range b.followUps.take(atOnce) {
			recording.Go(func() { b.followUpDone(n, b.recordFollowUp(n)) })
		}
		recording.Wait()
	}
}

// yieldToDecisions lets decisions go first: they have a person and an agent waiting, and the log takes
// one record at a time. A queue that is half full goes on regardless.
func (b *Broker) yieldToDecisions() {
	if b.followUps.crowded() {
		return
	}
	for waited := time.Duration(0); waited < yieldTime && !b.isStopped(); waited += yieldPause {
		before := b.decisions.Load()
		if b.deciding.Load() == 0 && before == b.decisionsSeen {
			return
		}
		b.decisionsSeen = before
		if !b.pause(yieldPause) {
			return
		}
	}
}

// recordFollowUp appends n behind whatever is the request's last record, as long as it still says
// something, and returns the request's last sequence; 0 if it could not be recorded.
func (b *Broker) recordFollowUp(n followUp) uint64 {
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
				if !stillApplies(n, &f) {
					return f.LastSeq
				}
				after = f.LastSeq
			}
		}
		if err == nil {
			ctx, cancel := context.WithTimeout(b.ctx, endTimeout)
			var seq uint64
			seq, err = b.cfg.Log.Append(ctx, rec, after)
			cancel()
			if err == nil {
				return seq
			}
		}
		switch {
		case errors.Is(err, ErrConflict):
			if conflicts++; conflicts > maxConflicts {
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

// stillApplies reports whether n still adds something to the request as the log has it. A follow-up
// that is there already does not.
func stillApplies(n followUp, f *folded) bool {
	if f.State != Ended {
		return false
	}
	switch n.step {
	case hook.StepDelivered:
		return f.Outcome != hook.Withdrawn && (f.Delivery == "" || f.Delivery == Recorded)
	case hook.StepRefused:
		return f.Outcome == hook.Allowed && f.unproven()
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
func (b *Broker) lastKnown(n followUp) (uint64, bool) {
	e := n.entry
	if e == nil {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.followUpSeq > e.LastSeq {
		return 0, true // memory is behind the log: another replica's proof may be there
	}
	return e.LastSeq, stillApplies(n, &e.folded)
}

func (b *Broker) followUpDone(n followUp, seq uint64) {
	if n.entry == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := n.entry
	e.followUpsDue--
	e.followUpSeq = max(e.followUpSeq, seq)
	if n.step != hook.StepDelivered && seq == 0 {
		b.forgetLocked(e) // no use in keeping it
	}
	b.dropLocked(e)
}
