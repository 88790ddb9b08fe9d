package intake

import (
	"context"
	"errors"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

// enterAllow enters for a verdict that allows. While everything is stopped it becomes an ask.
func (in *Intake) enterAllow(v hook.Verdict) (hook.Verdict, func()) {
	if v.Action != hook.ActionAllow {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(in.ctx, lookupTimeout)
	defer cancel()
	if leave, ok := in.cfg.EnterAllow(ctx); ok {
		return v, leave
	}
	return hook.Verdict{
		Action: hook.ActionAsk, Reason: "everything is stopped, so rules and grants allow nothing",
		Shadow: v.Shadow, Timeout: v.Timeout, OnTimeout: v.OnTimeout,
	}, nil
}

// staleAfter is how old a look at what is stopped may be when a rule's answer is recorded.
const staleAfter = 500 * time.Millisecond

// stillAllows looks again whether rules may allow, if the record took long to take the request.
// Without, people are asked in a moment, see broker.Waiting.AnswerByRule.
func (in *Intake) stillAllows(looked time.Time) bool {
	if time.Since(looked) < staleAfter {
		return true
	}
	ctx, cancel := context.WithTimeout(in.ctx, lookupTimeout)
	defer cancel()
	leave, ok := in.cfg.EnterAllow(ctx)
	if ok {
		leave()
	}
	return ok
}

// pauses reports whether req is to be left to the agent's own prompt, because everything is paused.
// What the rules deny stays denied, and what waits already goes on waiting. A permission prompt tool
// has no prompt of its own: it is the agent's.
func (in *Intake) pauses(ctx context.Context, req *hook.Request) bool {
	if req.Source == hook.SourceMCP || !in.cfg.Paused() {
		return false
	}
	if in.cfg.Rules != nil && in.verdict(req).Action == hook.ActionDeny {
		return false
	}
	_, err := in.cfg.Broker.Get(ctx, req.ID)
	return errors.Is(err, broker.ErrNotFound)
}
