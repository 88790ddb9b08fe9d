package broker

import (
	"context"
	"time"

	"assent/internal/hook"
)

// Where several brokers share the record, a request whose broker is gone must not wait for its deadline
// with nobody listening, and one whose hook went on elsewhere must not be withdrawn. Each broker looks after all:
// what it finds held by a run that is gone is detached, and withdrawn when no other broker has taken
// its hook by then. An end competes like every end, so it does not matter who finds it first.

const (
	// replicasEvery is how often a broker looks whether the others are there.
	replicasEvery = 2 * time.Second
	// announceTimeout bounds one note to the others.
	announceTimeout = 5 * time.Second
)

// shares reports whether there are others that can be asked about.
func (b *Broker) shares() bool { return !b.cfg.SingleReplica && b.cfg.Replicas != nil }

// self is the name of this run among the others; empty without them.
func (b *Broker) self() string {
	if !b.shares() {
		return ""
	}
	return b.cfg.Replicas.Self()
}

// announceLocked notes, for the other brokers, that a hook of e waits here, if they believe it elsewhere.
func (b *Broker) announceLocked(e *entry, heldBy string) {
	if !b.shares() || heldBy == b.self() && !e.HeldElsewhere || b.closing {
		return
	}
	e.heldBy, e.announced = b.self(), true
	id := e.ID
	b.running.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, announceTimeout)
		defer cancel()
		if err := b.cfg.Replicas.Attached(ctx, id); err != nil && b.ctx.Err() == nil {
			b.cfg.Logf("request %s: the other brokers could not be told that its hook waits here: %v", id, err)
		}
	})
}

// unannounceLocked forgets that note: the request is over.
func (b *Broker) unannounceLocked(e *entry) {
	if !e.announced || b.closing {
		return
	}
	e.announced = false
	id := e.ID
	b.running.Go(func() { b.cfg.Replicas.Settled(b.ctx, id) })
}

// awayLocked is for a request without a hook that may come back, here or at another broker.
func (b *Broker) awayLocked(e *entry) {
	if b.closing {
		return
	}
	if !e.comesBack() {
		b.leftLocked(e, e.Channel)
		return
	}
	e.withdrawAt, e.HeldElsewhere = time.Now().Add(b.cfg.DetachGrace), false
	e.armLocked()
	if !e.Detached {
		e.Detached = true
		b.showLocked(e)
	}
}

// watchReplicas finds the requests whose brokers have gone, until this one closes.
func (b *Broker) watchReplicas() {
	for b.pause(replicasEvery) {
		b.lookAtReplicas()
	}
}

// lookAtReplicas detaches what is held by runs that are gone, and takes that back where one was silent only.
func (b *Broker) lookAtReplicas() {
	b.mu.Lock()
	defer b.mu.Unlock()
	gone := map[string]bool{}
	isGone := func(run string) bool {
		over, known := gone[run]
		if !known {
			over = b.cfg.Replicas.Gone(run)
			gone[run] = over
		}
		return over
	}
	self := b.self()
	for _, e := range b.entries {
		if !e.open() || e.asked() == 0 || e.heldBy == "" || e.heldBy == self || len(e.waiters) > 0 || e.handingBack || e.end != nil {
			continue
		}
		over := isGone(e.heldBy)
		switch {
		case over && e.HeldElsewhere:
			e.HeldElsewhere, e.Detached = false, true
			e.withdrawAt = time.Now().Add(b.cfg.RestartGrace)
			e.armLocked()
			b.showLocked(e)
		case !over && e.Detached && !e.HeldElsewhere:
			b.heldElsewhereLocked(e, e.heldBy)
		}
	}
}

// heldElsewhereLocked is for a request whose hook turns out to wait at another broker.
func (b *Broker) heldElsewhereLocked(e *entry, run string) {
	if e.end != nil && e.end.reason == hook.ReasonDetached {
		e.end, e.retryAt = nil, time.Time{}
	}
	e.heldBy, e.HeldElsewhere, e.Detached, e.withdrawAt = run, true, false, time.Time{}
	e.armLocked()
	b.showLocked(e)
}

// waitsElsewhere asks, before e is withdrawn because no hook of it is there, whether one went on at another
// broker. An error says that nobody knows.
func (b *Broker) waitsElsewhere(e *entry, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(b.ctx, endTimeout)
	defer cancel()
	run, err := b.cfg.Replicas.Holder(ctx, id)
	if err != nil {
		return false, err
	}
	if run == "" || run == b.self() || b.cfg.Replicas.Gone(run) {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.endQueued = false
	if e.open() && len(e.waiters) == 0 {
		b.heldElsewhereLocked(e, run)
	}
	return true, nil
}
