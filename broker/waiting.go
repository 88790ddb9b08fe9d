package broker

import (
	"context"
	"time"

	"assent/internal/hook"
)

// Waiting is a hook that is attached to a request. Wait must be called, once.
//
// Thousands may wait: it is one piece of memory, and has a channel only while Wait blocks.
type Waiting struct {
	id      string
	e       *entry
	channel hook.Channel

	// Guarded by Broker.mu.
	answer *Answer       // nil until there is one
	notify func()        // see Notify
	told   chan struct{} // closed when there is an answer; nil while Wait does not block
}

// answerLocked gives x its answer, and lets it go.
func (x *Waiting) answerLocked(a Answer) {
	x.answer = &a
	if x.told != nil {
		close(x.told)
	}
	x.wakeLocked()
}

// wakeLocked calls, once, what Notify was given.
func (x *Waiting) wakeLocked() {
	if f := x.notify; f != nil {
		x.notify = nil
		f()
	}
}

// ID is that of the request that is waited for, which for a duplicate is not its own.
func (x *Waiting) ID() string { return x.id }

// attachLocked lets a hook wait for e, or answers it at once.
func (b *Broker) attachLocked(e *entry, channel hook.Channel) *Waiting {
	x := &Waiting{id: e.ID, e: e, channel: channel}
	switch {
	case !e.open():
		e.answered++
		x.answerLocked(e.answer())
		return x
	case e.answeredUnrecorded:
		x.answerLocked(e.fallbackAnswer())
		return x
	}
	if e.waiters == nil {
		e.waiters = e.first[:0]
	}
	e.waiters = append(e.waiters, x)
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
	x.notify = f
	if x.answer != nil || b.closing {
		x.wakeLocked()
	}
}

// Wait blocks until the request is settled, and returns the answer. ctx is the hook's connection: when
// it ends, and no other hook waits for the request, what the hook's channel says happens to the
// request, and Wait returns ctx's error. ErrStopping means that the hook should come back.
func (x *Waiting) Wait(ctx context.Context) (Answer, error) {
	e, b := x.e, x.e.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.answer == nil && !b.closing {
		x.told = make(chan struct{})
		b.mu.Unlock()
		select {
		case <-x.told:
		case <-b.stopped:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
	if x.answer != nil { // perhaps it came in between; let the server try to write it
		return *x.answer, nil
	}
	if b.closing {
		return Answer{}, ErrStopping
	}
	b.removeWaiterLocked(e, x)
	if len(e.waiters) == 0 && e.open() {
		b.leftLocked(e, x.channel)
	}
	return Answer{}, ctx.Err()
}

func (b *Broker) removeWaiterLocked(e *entry, x *Waiting) {
	for i, w := range e.waiters {
		if w == x {
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
