package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Decide records d as the answer to request id and waits up to 500 ms for the hook to have it.
// The View's Delivery is Delivered or Recorded.
//
// A request that is over, or is settled by another at the same moment, is a *SettledError
// naming the winner. ErrNotFound: no such request. ErrDigest: d.InputSHA256 is not the
// request's. ErrUnavailable: it is not known whether d was recorded; the hook keeps waiting and
// Get tells later. d must be something the agent can take (agents.Check), which the
// caller checks. When ctx ends the decision is still recorded; only the wait is cut short.
func (b *Broker) Decide(ctx context.Context, id string, d hook.Decision, by hook.Approver) (View, error) {
	if hook.Mutant("names-another") {
		by.ID, by.Name = "nobody", "nobody"
	}
	outcome := hook.OutcomeOf(d.Behavior)
	if outcome == "" {
		return View{}, fmt.Errorf("decide %s: behavior %q: want allow or deny", id, d.Behavior)
	}
	e, f, err := b.settle(hook.Record{
		RequestID: id, Step: hook.StepDecided, Outcome: outcome, Decision: &d, By: &by,
	}, d.InputSHA256)
	if err != nil {
		return View{}, err
	}
	return b.awaitDelivery(ctx, e, f), nil
}

// settle competes with rec, a person's, for the slot after asked. input is the digest of the input that
// they saw. It returns the request as rec left it, and its entry, nil if it is not in memory. The errors
// are those of Decide.
func (b *Broker) settle(rec hook.Record, input string) (*entry, folded, error) {
	id := rec.RequestID
	e, f, err := b.decidable(id)
	if err != nil {
		return nil, folded{}, err
	}
	defer b.writing.Done()
	ctx, cancel := context.WithTimeout(b.ctx, decideTimeout)
	defer cancel()
	if f.AskedSeq == 0 { // not in memory
		if f, err = b.read(ctx, id); err != nil {
			return nil, folded{}, err
		}
		if f.State == Ended {
			return nil, folded{}, f.settledError()
		}
	}
	if input != f.InputSHA256 {
		return nil, folded{}, fmt.Errorf("decide %s: %w", id, ErrDigest)
	}
	rec.ID, rec.Time = uuid.NewString(), time.Now()
	if hook.Mutant("answer-before-record") && e != nil {
		b.mu.Lock()
		e.answerLocked(Answer{Outcome: rec.Outcome, Decision: rec.Decision, By: rec.By, Fallback: hook.Abstain})
		b.mu.Unlock()
	}
	if rec.Seq, err = b.appendDecided(ctx, rec, f.AskedSeq); err != nil {
		return nil, folded{}, err
	}
	f.fold(rec)
	return e, f, nil
}

// decidable finds a pending request in memory; without an error the caller must call
// writing.Done. e is nil and the fold empty when it is not there.
func (b *Broker) decidable(id string) (*entry, folded, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return nil, folded{}, ErrStopping
	}
	e := b.entries[id]
	switch {
	case e == nil:
		b.writing.Add(1)
		return nil, folded{}, nil
	case !e.open():
		return nil, folded{}, e.settledError()
	case e.answeredUnrecorded && !b.cfg.SingleReplica: // another broker may have recorded a decision meanwhile
		return nil, folded{}, fmt.Errorf("decide %s: its hook had to be answered without a record, and what the record says is not known here yet: %w", id, ErrUnavailable)
	case e.answeredUnrecorded:
		a := e.fallbackAnswer()
		return nil, folded{}, &SettledError{Outcome: a.Outcome, Reason: a.Reason}
	case e.end != nil && !e.comesBack(): // nobody would get the answer, whatever the log says
		return nil, folded{}, &SettledError{Outcome: e.end.outcome, Reason: e.end.reason}
	case e.lapsed:
		return nil, folded{}, fmt.Errorf("decide %s: its time is over by the clock, and its hook is not back yet: %w", id, ErrUnavailable)
	case e.handingBack:
		return nil, folded{}, &SettledError{Outcome: hook.HandedBack}
	case e.AskedSeq == 0:
		b.writing.Add(1)
		f := folded{}
		if e.askedAt > 0 { // recorded by our own Ask; the tail is about to bring it
			f.Request, f.State, f.AskedSeq, f.LastSeq = e.Request, Pending, e.askedAt, e.askedAt
		}
		return e, f, nil
	}
	b.writing.Add(1)
	return e, e.folded, nil
}

// appendDecided appends what a person had recorded after asked, and says who was quicker if somebody was.
func (b *Broker) appendDecided(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	b.deciding.Add(1)
	seq, err := b.cfg.Log.Append(ctx, rec, after)
	b.decisions.Add(1)
	b.deciding.Add(-1)
	if err == nil {
		return seq, nil
	}
	if !errors.Is(err, ErrConflict) {
		return 0, b.unavailable("decide", rec.RequestID, err)
	}
	f, err := b.read(ctx, rec.RequestID)
	switch {
	case err != nil:
		return 0, err
	case f.State != Ended:
		return 0, fmt.Errorf("decide %s: the log refuses the decision and shows no other: %w", rec.RequestID, ErrUnavailable)
	case f.settledBy == rec.ID:
		return f.SettledSeq, nil
	}
	return 0, f.settledError()
}

// awaitDelivery waits until the hook of a request that was just decided has the answer. f is
// the request as decided.
func (b *Broker) awaitDelivery(ctx context.Context, e *entry, f folded) View {
	if e == nil {
		return f.View
	}
	limit := time.NewTimer(deliveryWait)
	defer limit.Stop()
	for {
		b.mu.Lock()
		if e.delivered || e.Delivery != "" && e.Delivery != Recorded {
			f.Delivery = Delivered
			b.mu.Unlock()
			return f.View
		}
		if !e.open() && e.answered == 0 && !e.HeldElsewhere { // no hook is there to take it
			b.mu.Unlock()
			return f.View
		}
		moves := e.movesLocked()
		b.mu.Unlock()
		select {
		case <-moves:
		case <-limit.C:
			return f.View
		case <-ctx.Done():
			return f.View
		case <-b.stopped:
			return f.View
		}
	}
}

// Delivered says that the answer of request id was written to its hook. It is recorded in the
// background; when 16,384 such follow-ups wait already it blocks until there is room or the broker
// closes.
func (b *Broker) Delivered(id string) {
	b.mu.Lock()
	e := b.entries[id]
	if b.closing || e != nil && (e.delivered || e.open() || e.Outcome == hook.Withdrawn) {
		b.mu.Unlock()
		return
	}
	n := followUp{id: id, step: hook.StepDelivered}
	if e != nil {
		if e.Delivery != "" && e.Delivery != Recorded { // a later hook of the same request
			b.mu.Unlock()
			return
		}
		e.delivered = true
		e.followUpsDue++
		n.entry = e
		e.movedLocked()
	}
	b.mu.Unlock()
	b.followUps.add(n)
}
