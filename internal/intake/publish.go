package intake

import (
	"context"

	"assent/internal/hook"
)

// publish makes the event durable, once: one that comes back to a request we hold was published
// before.
func (in *Intake) publish(ctx context.Context, e hook.Event, asks bool) (seq uint64, err error) {
	if asks && e.Attempt > 1 {
		if v, err := in.cfg.Broker.Get(ctx, e.ID); err == nil {
			return v.EventSeq, nil
		}
	}
	if seq, err = in.cfg.Publish(ctx, e); err != nil {
		return 0, &PublishError{err}
	}
	return seq, nil
}
