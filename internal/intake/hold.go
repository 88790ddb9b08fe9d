package intake

import (
	"context"
	"errors"
	"time"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/hook"
)

// An agent that shows no prompt of its own while its hook waits locks out whoever sits at its terminal.
// So its requests wait for Config.Hold at most, and not at all where nobody can be told of them.

// bounded is a new request with a deadline that such an agent's user can live with.
func (in *Intake) bounded(a *Arrival, req *hook.Request) *hook.Request {
	if agents.Races(req.Agent) {
		return req
	}
	hold := in.cfg.Hold
	if most := agents.MaxHold(req.Agent); most > 0 {
		hold = min(hold, most-maxMargin)
	}
	if end := onClock(time.Now(), a.At.Add(hold)); end.Before(req.Deadline) {
		req.Deadline = end // nobody else has it yet
	}
	return req
}

// unattended reports whether req is to be left to the agent's own prompt because nobody can be told of
// it. What waits already goes on waiting.
func (in *Intake) unattended(ctx context.Context, req *hook.Request) bool {
	if agents.Races(req.Agent) || in.cfg.Reachable() {
		return false
	}
	_, err := in.cfg.Broker.Get(ctx, req.ID)
	return errors.Is(err, broker.ErrNotFound)
}
