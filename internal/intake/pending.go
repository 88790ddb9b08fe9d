package intake

import (
	"context"

	"assent/broker"
	"assent/internal/hook"
)

// Pending is a hook that waits for its answer. Wait must be called, once, and Close after it.
type Pending struct {
	in       *Intake
	req      *hook.Request   // the hook's own; a duplicate's is not the one that is waited for
	waiting  *broker.Waiting // nil for a request that was handed back
	allowed  func()          // nil unless a rule allows it; called when the answer is with the hook
	answered bool
}

// ID names the request that the hook waits for. That of a duplicate is another than its own.
func (p *Pending) ID() string {
	if p.waiting == nil {
		return p.req.ID
	}
	return p.waiting.ID()
}

// Answered reports whether a rule's answer is recorded already. Wait returns as soon as that record
// comes by, so to hold the connection meanwhile is not worth it.
func (p *Pending) Answered() bool { return p.answered }

// Notify has f called once, when Wait would return at once without its ctx being done. f must not
// block. With it a hook can wait without a goroutine. It must not be called for one that is
// Answered.
func (p *Pending) Notify(f func()) { p.waiting.Notify(f) }

// Wait blocks until the request is over, and returns the answer. ctx is the hook's connection: when
// it ends first Wait returns ctx's error, and what that means for the request is the broker's to
// say. broker.ErrStopping means that the hook should come back.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	if p.waiting == nil {
		return Answer{Outcome: hook.HandedBack}, nil
	}
	a, err := p.waiting.Wait(ctx)
	if err != nil {
		return Answer{}, err
	}
	return p.in.answer(p.req, p.ID(), a), nil
}

// Delivered says that the answer was written to the hook.
func (p *Pending) Delivered() { p.in.cfg.Broker.Delivered(p.ID()) }

// Close counts the hook off, when it has its answer or has gone.
func (p *Pending) Close() {
	if p.waiting != nil {
		p.in.leave(p.req.Channel)
	}
	if p.allowed != nil {
		p.allowed()
	}
}
