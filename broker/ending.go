package broker

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// enders is how many goroutines append ends. One would do for the order (requests are
// independent, and the log decides between rivals); four keep many hang-ups from queueing
// behind one slow write.
const enders = 4

// endLocked wants e recorded as ended. The first reason stands; the record may still be won by
// a decision.
func (b *Broker) endLocked(e *entry, end ending) {
	if e.end != nil || !e.open() || b.closing {
		return
	}
	e.end = &end
	b.queueEndLocked(e)
}

// queueEndLocked hands e to the enders if there is an end to record and a record to put it
// behind. An entry stands in the queue at most once, so the queue is no longer than the
// requests are many.
func (b *Broker) queueEndLocked(e *entry) {
	if e.end == nil || e.endQueued || e.endRecorded || e.asked() == 0 || !e.open() || b.closing || !e.retryAt.IsZero() {
		return
	}
	e.endQueued = true
	b.ends = append(b.ends, e)
	b.endsReady.Signal()
}

// runEnder appends ends until the broker closes.
func (b *Broker) runEnder() {
	for {
		e, rec, after := b.nextEnd()
		if e == nil {
			return
		}
		if rec.Reason == hook.ReasonDetached && b.shares() {
			if waits, err := b.waitsElsewhere(e, rec.RequestID); err != nil || waits {
				if err != nil {
					b.endTried(e, err)
				}
				continue
			}
		}
		rec.ID, rec.Time = uuid.NewString(), time.Now()
		ctx, cancel := context.WithTimeout(b.ctx, endTimeout)
		_, err := b.cfg.Log.Append(ctx, rec, after)
		cancel()
		b.endTried(e, err)
	}
}

// nextEnd waits for an end that is still wanted; nil when the broker closes.
func (b *Broker) nextEnd() (e *entry, rec hook.Record, after uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for len(b.ends) == 0 && !b.closing {
			b.endsReady.Wait()
		}
		if b.closing {
			return nil, hook.Record{}, 0
		}
		e, b.ends[0] = b.ends[0], nil
		b.ends = b.ends[1:]
		if e.end != nil && e.open() {
			return e, hook.Record{
				RequestID: e.ID, Step: hook.StepEnded,
				Outcome: e.end.outcome, Reason: e.end.reason, EventSeq: e.end.eventSeq,
			}, e.asked()
		}
		e.endQueued = false // the hook came back, or the request is settled
	}
}

// endTried keeps how an attempt went. After success and after a conflict alike the log has a
// settling record, which the tail brings.
func (b *Broker) endTried(e *entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.endQueued = false
	if err == nil || errors.Is(err, ErrConflict) {
		e.endRecorded = true
		return
	}
	if b.closing || !e.open() || e.end == nil {
		return
	}
	e.attempts++
	if e.attempts == 1 {
		b.cfg.Logf("request %s: cannot record that it is %s: %v; trying again", e.ID, e.end.outcome, err)
	}
	e.retryAt = time.Now().Add(retryPause(e.attempts))
	e.armLocked()
}
