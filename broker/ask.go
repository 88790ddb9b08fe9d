package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Ask records that r waits, if it does not already, and blocks until it is settled. Several
// calls may wait for one request; each gets the answer.
//
// The same ID with the same PayloadSHA256 and ReattachSHA256 attaches to the request that is there;
// if it is over, its answer comes at once, until its deadline (see admits). So does a new ID that is the other way of asking about a call (see
// Twin). The same ID with another payload is ErrReused, and from somebody who cannot show that the
// request is theirs ErrStranger. ErrUnavailable means
// that the request could not be recorded and nobody will see it. ErrStopping means that the
// broker is closing and the hook should come back.
//
// ctx is the hook's connection. When it ends, and no other hook waits for the request, what
// r.Channel says happens to it, and Ask returns ctx's error.
//
// r.ID is required. A zero CreatedAt is now, a zero Deadline 590 s after it.
func (b *Broker) Ask(ctx context.Context, r hook.Request) (Answer, error) {
	w, err := b.Enter(r)
	if err != nil {
		return Answer{}, err
	}
	return w.Wait(ctx)
}

// Waiting is a hook attached to its request, between the two halves of Ask. Wait must be called,
// once.
type Waiting struct {
	id      string
	e       *entry
	w       *waiter
	channel hook.Channel
}

// Enter is the first half of Ask, which records the request. It stands apart because recording
// needs a deep stack and waiting, which thousands may do, a small one: the halves can be in two
// goroutines.
func (b *Broker) Enter(r hook.Request) (*Waiting, error) {
	if err := complete(&r); err != nil {
		return nil, err
	}
	w := &waiter{answer: make(chan Answer, 1)}
	channel := r.Channel
	e, isNew, err := b.attach(&r, w)
	if err == nil && isNew {
		err = b.recordAsked(e, w, &r)
	}
	if err != nil {
		return nil, err
	}
	return &Waiting{r.ID, e, w, channel}, nil
}

// ID is that of the request that is waited for, which for a twin is not its own.
func (x *Waiting) ID() string { return x.id }

// complete checks and fills in what a request must have.
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

// attach registers w, before anything is published. isNew says that the request is not known
// here to be recorded. A twin's r becomes the request that it shares.
func (b *Broker) attach(r *hook.Request, w *waiter) (e *entry, isNew bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return nil, false, ErrStopping
	}
	if e = b.entries[r.ID]; e != nil {
		if err := e.admits(r); err != nil {
			return nil, false, fmt.Errorf("request %s: %w", r.ID, err)
		}
		e.resumeLocked(r)
	} else if e = b.twinLocked(r); e != nil {
		b.joinLocked(e, r)
	}
	if e == nil {
		e = &entry{b: b}
		e.Request = *r
		e.awaitRuleLocked()
		b.entries[r.ID] = e
		b.linkLocked(e)
	}
	if e.Submitter == "" { // an earlier version did not record it
		e.Submitter = r.Submitter
	}
	b.attachLocked(e, w)
	if !r.Verdict.Decides() {
		b.revealLocked(e) // it came back, and by now the rules say otherwise
	}
	return e, e.asked() == 0, nil
}

// attachLocked lets w wait for e, or answers it at once.
func (b *Broker) attachLocked(e *entry, w *waiter) {
	switch {
	case !e.open():
		e.answered++
		w.answer <- e.answer()
		return
	case e.gaveUp:
		w.answer <- e.fallbackAnswer()
		return
	}
	e.waiters = append(e.waiters, w)
	moved := e.Foreign
	e.Foreign = false
	e.leaveAt = time.Time{}
	if e.expiring {
		e.boundWaitLocked()
	}
	if e.end != nil && (e.end.reason == hook.ReasonHangup || e.end.reason == hook.ReasonDetached) {
		// It came back before its departure was recorded. An attempt on its way may still win.
		e.end, e.retryAt = nil, time.Time{}
		if e.expiring {
			b.endLocked(e, ending{outcome: hook.Expired, reason: hook.ReasonDeadline})
		}
	}
	if e.Detached || moved {
		e.Detached = false
		b.showLocked(e)
	}
	e.armLocked()
}

// recordAsked makes a new request durable. On an error w has left again.
func (b *Broker) recordAsked(e *entry, w *waiter, r *hook.Request) error {
	patience := min(askPatience, max(expiryPatience(r), time.Until(r.Deadline)))
	ctx, cancel := context.WithTimeout(b.ctx, patience)
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
		return b.attachRecorded(ctx, e, w, r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.askedSeq > 0 && e.admits(r) == nil && !b.closing {
		return nil // the acknowledgement was lost, but the tail has brought the record
	}
	b.leaveUnrecordedLocked(e, w)
	return b.unavailable("record request", r.ID, err)
}

func (b *Broker) askedRecord(r *hook.Request) hook.Record {
	return hook.Record{ID: uuid.NewString(), RequestID: r.ID, Step: hook.StepAsked, Time: time.Now(), Request: r}
}

// attachRecorded is for a request that the log knows and our memory does not: it is over, or
// the tail is about to bring it.
func (b *Broker) attachRecorded(ctx context.Context, e *entry, w *waiter, r *hook.Request) error {
	recs, err := b.cfg.Log.Records(ctx, r.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.leaveUnrecordedLocked(e, w)
		return b.unavailable("read request", r.ID, err)
	}
	f := foldAll(recs)
	if f.askedSeq == 0 {
		b.leaveUnrecordedLocked(e, w)
		return fmt.Errorf("request %s: its records are unreadable: %w", r.ID, ErrUnavailable)
	}
	if err := f.admits(r); err != nil {
		b.leaveAnothersLocked(e, w)
		return fmt.Errorf("request %s: %w", r.ID, err)
	}
	if f.State == Pending {
		e.askedAt = f.askedSeq
		b.queueEndLocked(e)
		return nil
	}
	// Over. If it is not in memory because the tail has passed it, it must not stay there.
	b.removeWaiterLocked(e, w)
	b.unenterLocked(e)
	select {
	case w.answer <- f.answer():
	default: // the tail was quicker
	}
	return nil
}

// leaveUnrecordedLocked undoes attach for a request of which we do not know that it is
// recorded.
func (b *Broker) leaveUnrecordedLocked(e *entry, w *waiter) {
	b.removeWaiterLocked(e, w)
	if len(e.waiters) > 0 || !e.open() {
		return
	}
	if e.asked() > 0 { // it is recorded after all, and its hook is sent away
		b.leftLocked(e, e.Channel)
		return
	}
	b.unenterLocked(e)
}

// leaveAnothersLocked undoes attach for a request that turned out to be another's. That its own
// hook is away says nothing about the one whose request it is.
func (b *Broker) leaveAnothersLocked(e *entry, w *waiter) {
	b.removeWaiterLocked(e, w)
	if len(e.waiters) > 0 || !e.open() || b.closing {
		return
	}
	switch {
	case e.asked() == 0:
		b.unenterLocked(e)
		return
	case b.cfg.Sole:
		e.Detached = true
		e.leaveAt = time.Now().Add(b.cfg.RestartGrace)
	default:
		e.Foreign = true
	}
	e.armLocked()
	b.showLocked(e)
}

// unenterLocked removes an entry nobody waits for and no record is known of. If its record
// turns up all the same, the tail makes a new entry without a hook.
func (b *Broker) unenterLocked(e *entry) {
	if e.asked() == 0 && len(e.waiters) == 0 && b.entries[e.ID] == e {
		b.unlinkLocked(e)
		e.disarmLocked()
		delete(b.entries, e.ID)
	}
}

func (b *Broker) removeWaiterLocked(e *entry, w *waiter) {
	for i, x := range e.waiters {
		if x == w {
			last := len(e.waiters) - 1
			e.waiters[i] = e.waiters[last]
			e.waiters[last] = nil
			e.waiters = e.waiters[:last]
			return
		}
	}
}

// Notify has f called once, when Wait would return at once without ctx being done. f is called
// under the broker's lock: it must not block or call the broker. With it a hook can wait
// without a goroutine.
func (x *Waiting) Notify(f func()) {
	b := x.e.b
	b.mu.Lock()
	defer b.mu.Unlock()
	x.w.notify = f
	if len(x.w.answer) > 0 || b.closing {
		x.w.wakeLocked()
	}
}

// Wait is the second half of Ask.
func (x *Waiting) Wait(ctx context.Context) (Answer, error) {
	e, w, b := x.e, x.w, x.e.b
	select {
	case a := <-w.answer:
		return a, nil
	case <-b.stopped:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case a := <-w.answer: // it came in between; let the server try to write it
		return a, nil
	default:
	}
	if b.closing {
		return Answer{}, ErrStopping
	}
	b.removeWaiterLocked(e, w)
	if len(e.waiters) == 0 && e.open() {
		b.leftLocked(e, x.channel)
	}
	return Answer{}, ctx.Err()
}

// leftLocked does what it means that the last hook of a request has gone, on a connection of
// kind ch.
func (b *Broker) leftLocked(e *entry, ch hook.Channel) {
	if b.closing {
		return
	}
	if ch != hook.ChannelRemote || !e.comesBack() {
		end := ending{outcome: hook.Withdrawn, reason: hook.ReasonHangup}
		if !time.Now().Before(e.Deadline) { // our timer is late, and the hook's was quicker
			end = ending{outcome: hook.Expired, reason: hook.ReasonDeadline}
		}
		b.endLocked(e, end)
		return
	}
	if b.cfg.Sole {
		e.leaveAt = time.Now().Add(b.cfg.DetachGrace)
	} else {
		e.Foreign = true // it may come back to another replica, of which we would not hear
	}
	e.armLocked()
	if !e.Detached {
		e.Detached = true
		b.showLocked(e)
	}
}

// HandBack records that r was not held, and why (hook.ReasonTooLarge): its hook abstains. It is
// never shown as pending. It records both steps, so a request id that is already known with
// this payload is left as it is.
func (b *Broker) HandBack(ctx context.Context, r hook.Request, reason string) error {
	if err := complete(&r); err != nil {
		return err
	}
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return ErrStopping
	}
	e := b.entries[r.ID]
	if e != nil {
		same := e.PayloadSHA256 == r.PayloadSHA256
		b.mu.Unlock()
		if !same {
			return fmt.Errorf("request %s: %w", r.ID, ErrReused)
		}
		return nil
	}
	e = &entry{b: b, hidden: true}
	e.Request = r
	b.entries[r.ID] = e
	b.linkLocked(e)
	b.mu.Unlock()

	actx, cancel := context.WithTimeout(b.ctx, askPatience)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	seq, err := b.cfg.Log.Append(actx, b.askedRecord(&r), 0)
	var f folded
	if errors.Is(err, ErrConflict) {
		f, err = b.read(actx, r.ID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.askedAt = max(seq, f.askedSeq)
	switch {
	case f.askedSeq > 0 && f.PayloadSHA256 != r.PayloadSHA256:
		err = fmt.Errorf("request %s: %w", r.ID, ErrReused)
	case e.asked() > 0 && f.State != Ended:
		b.endLocked(e, ending{outcome: hook.HandedBack, reason: reason})
		return nil
	case err != nil:
		err = b.unavailable("record request", r.ID, err)
	}
	e.askedAt = 0
	b.unenterLocked(e)
	return err
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
