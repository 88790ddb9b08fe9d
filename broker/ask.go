package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Ask records that r waits, if it does not already, and returns the hook's part in that. It blocks
// until the record has r; Wait then blocks until r is settled. The two stand apart because recording
// needs a deep stack and waiting, which thousands may do, a small one: they can be in two goroutines,
// and with Notify waiting needs none. Several hooks may wait for one request; each gets the answer.
//
// The same ID with the same PayloadSHA256 and ReattachSHA256 attaches to the request that is there;
// if it is over, its answer comes at once, until its deadline (see checkOwner). A new ID that is the
// other way of asking about a call attaches to that request (see Attach). The same ID with another
// payload is ErrReused, and from somebody who cannot show that the request is theirs ErrStranger.
// ErrUnavailable means that the request could not be recorded and nobody will see it. ErrStopping
// means that the broker is closing and the hook should come back.
//
// r.ID is required. A zero CreatedAt is now, a zero Deadline 590 s after it.
func (b *Broker) Ask(r hook.Request) (*Waiting, error) {
	if err := complete(&r); err != nil {
		return nil, err
	}
	x, unrecorded, err := b.register(&r)
	if err == nil && unrecorded != nil {
		err = b.recordAsked(x, unrecorded)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// complete checks the broker's own copy of a request, and fills in what it must have.
func complete(r *hook.Request) error {
	if r.ID == "" {
		return errors.New("broker: a request needs an id")
	}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = time.Now()
	}
	if r.Deadline.IsZero() {
		r.Deadline = r.CreatedAt.Add(590 * time.Second)
	}
	r.OnTimeout = fallbackOf(r.OnTimeout)
	return nil
}

// register lets a hook wait for r, before anything is published. unrecorded is the request to record
// first, which of a duplicate is the other one; nil if it is recorded.
func (b *Broker) register(r *hook.Request) (x *Waiting, unrecorded *hook.Request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return nil, nil, ErrStopping
	}
	e := b.entries[r.ID]
	if e == nil {
		if e = b.duplicateLocked(r); e != nil {
			x, unrecorded = b.attachDuplicateLocked(e, r)
			return x, unrecorded, nil
		}
		e = &entry{b: b}
		e.Request = *r
		e.endsInLocked()
		e.awaitRuleLocked()
		b.entries[r.ID] = e
		b.linkLocked(e)
	} else {
		if err := e.checkOwner(r); err != nil {
			return nil, nil, fmt.Errorf("request %s: %w", r.ID, err)
		}
		e.resumeLocked(r)
	}
	if e.Submitter == "" { // an earlier version did not record it
		e.Submitter = r.Submitter
	}
	x = b.attachLocked(e, r.Channel)
	if !r.Verdict.Decides() {
		b.publishLocked(e) // it came back, and by now the rules say otherwise
	}
	if e.asked() == 0 {
		unrecorded = r
	}
	return x, unrecorded, nil
}

// recordAsked makes a new request durable. On an error x has left again.
func (b *Broker) recordAsked(x *Waiting, r *hook.Request) error {
	e := x.e
	timeout := min(askTimeout, max(expiryTimeout(r), time.Until(r.Deadline)))
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	seq, err := b.cfg.Log.Append(ctx, b.askedRecord(r), 0)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		e.askedAt = seq
		b.queueEndLocked(e)
		return nil
	}
	if errors.Is(err, ErrConflict) {
		return b.attachRecorded(ctx, x, r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.AskedSeq > 0 && e.checkOwner(r) == nil && !b.closing {
		return nil // the acknowledgement was lost, but the tail has brought the record
	}
	b.leaveUnrecordedLocked(x)
	return b.unavailable("record request", r.ID, err)
}

func (b *Broker) askedRecord(r *hook.Request) hook.Record {
	return hook.Record{ID: uuid.NewString(), RequestID: r.ID, Step: hook.StepAsked, Time: time.Now(), Request: r, Broker: b.self()}
}

// attachRecorded is for a request that the log has and memory does not: it has ended, or the tail
// has not read it yet.
func (b *Broker) attachRecorded(ctx context.Context, x *Waiting, r *hook.Request) error {
	e := x.e
	recs, err := b.cfg.Log.Records(ctx, r.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.leaveUnrecordedLocked(x)
		return b.unavailable("read request", r.ID, err)
	}
	f := foldAll(recs)
	if f.AskedSeq == 0 {
		b.leaveUnrecordedLocked(x)
		return fmt.Errorf("request %s: its records are unreadable: %w", r.ID, ErrUnavailable)
	}
	if err := f.checkOwner(r); err != nil {
		b.leaveAnothersLocked(x)
		return fmt.Errorf("request %s: %w", r.ID, err)
	}
	if f.State == Pending {
		e.askedAt = f.AskedSeq
		b.announceLocked(e, f.heldBy)
		b.queueEndLocked(e)
		return nil
	}
	// Over. If it is not in memory because the tail has passed it, it must not stay there.
	b.removeWaiterLocked(e, x)
	b.abandonLocked(e)
	if x.answer == nil { // else the tail was quicker
		x.answerLocked(f.answer())
	}
	return nil
}

// leaveUnrecordedLocked undoes attach for a request of which we do not know that it is
// recorded.
func (b *Broker) leaveUnrecordedLocked(x *Waiting) {
	e := x.e
	b.removeWaiterLocked(e, x)
	if len(e.waiters) > 0 || !e.open() {
		return
	}
	if e.asked() > 0 { // it is recorded after all, and its hook is sent away
		if b.shares() { // to come again, here or elsewhere
			b.awayLocked(e)
		} else {
			b.leftLocked(e, e.Channel)
		}
		return
	}
	b.abandonLocked(e)
}

// leaveAnothersLocked undoes attach for a request that turned out to be another's. That its own
// hook is away says nothing about the one whose request it is.
func (b *Broker) leaveAnothersLocked(x *Waiting) {
	e := x.e
	b.removeWaiterLocked(e, x)
	if len(e.waiters) > 0 || !e.open() || b.closing {
		return
	}
	switch {
	case e.asked() == 0:
		b.abandonLocked(e)
		return
	case b.cfg.SingleReplica:
		e.Detached = true
		e.withdrawAt = time.Now().Add(b.cfg.RestartGrace)
	default:
		e.HeldElsewhere = true
	}
	e.armLocked()
	b.showLocked(e)
}

// abandonLocked removes an entry nobody waits for and no record is known of. If its record
// turns up later, the tail makes a new entry without a hook.
func (b *Broker) abandonLocked(e *entry) {
	if e.asked() == 0 && len(e.waiters) == 0 && b.entries[e.ID] == e {
		b.unlinkLocked(e)
		e.disarmLocked()
		delete(b.entries, e.ID)
	}
}

// unavailable is ErrUnavailable with the cause, or ErrStopping if that is why.
func (b *Broker) unavailable(what, id string, err error) error {
	if b.isStopped() {
		return ErrStopping
	}
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%s %s: %w", what, id, err)
	}
	return fmt.Errorf("%s %s: %w (%w)", what, id, ErrUnavailable, err)
}

func (b *Broker) isStopped() bool {
	select {
	case <-b.stopped:
		return true
	default:
		return false
	}
}
