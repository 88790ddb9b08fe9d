package hookclient

import (
	"context"
	"errors"
	"time"

	"assent/internal/hook"
)

// ErrNoAnswer is Question's error when the time was up.
var ErrNoAnswer = errors.New("nobody answered in time")

// Question asks the broker about a PermissionRequest that no hook brought, as Run does about a
// hook's: with the same retries under one id, until cfg.Timeout. It returns what a hook would
// print, which is empty when the broker abstains. via is the hook.Request's.
//
// It does not look at standard input and output, nor at signals: ctx is the agent's patience.
func Question(ctx context.Context, cfg Config, via string, payload []byte) ([]byte, error) {
	cfg.fill()
	start := time.Now()
	c := &client{cfg: cfg, deadline: start.Add(cfg.Timeout)}
	if cfg.Fault != nil {
		return nil, cfg.Fault
	}
	var err error
	if c.to, err = newTarget(&c.cfg); err != nil {
		return nil, err
	}
	if len(payload) > MaxPayload {
		return nil, errors.New("the request is larger than the broker takes")
	}
	c.event = hook.Event{ID: newID(), Type: permissionRequest, Agent: cfg.Agent, Time: start, Source: via, Raw: payload, Origin: origin(cfg.Env)}
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	r, end := persist(ctx, func(n int) reply { return c.put(ctx, n) })
	switch end {
	case endAnswer:
		return r.body, nil
	case endExpired:
		return nil, ErrNoAnswer
	case endGone:
		return nil, ctx.Err()
	}
	return nil, errors.New(c.failure(r))
}
