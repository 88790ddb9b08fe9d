package broker

import (
	"context"
	"time"

	"assent/internal/hook"
)

// Waiting is a hook that is attached to a request. Wait must be called, once.
type Waiting struct {
	id      string
	e       *entry
	w       *waiter
	channel hook.Channel
}

// waiter is one attached hook. Its channel takes the one answer.
type waiter struct {
	answer chan Answer
	notify func() // see Waiting.Notify; guarded by Broker.mu
}

// wakeLocked calls, once, what Notify was given.
func (w *waiter) wakeLocked() {
	if f := w.notify; f != nil {
		w.notify = nil
		f()
	}
}

// ID is that of the request that is waited for, which for a duplicate is not its own.
func (x *Waiting) ID() string { return x.id }

// attachLocked lets a hook wait for e, or answers it at once.
func (b *Broker) attachLocked(e *entry, channel hook.Channel) *Waiting {
	w := &waiter{answer: make(chan Answer, 1)}
	x := &Waiting{e.ID, e, w, channel}
	switch {
	case !e.open():
		e.answered++
		w.answer <- e.answer()
		return x
	case e.answeredUnrecorded:
		w.answer <- e.fallbackAnswer()
		return x
	}
	e.waiters = append(e.waiters, w)
	moved := e.HeldElsewhere
	if e.asked() > 0 {
		b.announceLocked(e, e.heldBy)
	}
	e.HeldElsewhere = false
	e.withdrawAt = time.Time{}
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
	return x
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

// Wait blocks until the request is settled, and returns the answer. ctx is the hook's connection: when
// it ends, and no other hook waits for the request, what the hook's channel says happens to the
// request, and Wait returns ctx's error. ErrStopping means that the hook should come back.
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

// leftLocked does what it means that the last hook of a request has gone, on a connection of
// kind ch.
func (b *Broker) leftLocked(e *entry, ch hook.Channel) {
	if b.closing {
		return
	}
	if ch != hook.ChannelRemote || !e.comesBack() {
		end := ending{outcome: hook.Withdrawn, reason: hook.ReasonHangup}
		if !time.Now().Before(e.ends()) { // our timer is late, and the hook's was quicker
			end = ending{outcome: hook.Expired, reason: hook.ReasonDeadline}
		}
		b.endLocked(e, end)
		return
	}
	if b.cfg.SingleReplica || b.shares() {
		e.withdrawAt = time.Now().Add(b.cfg.DetachGrace)
	} else {
		e.HeldElsewhere = true // it may come back to another replica, of which we would not hear
	}
	e.armLocked()
	if !e.Detached {
		e.Detached = true
		b.showLocked(e)
	}
}
