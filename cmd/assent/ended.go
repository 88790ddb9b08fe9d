package main

import (
	"context"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/policy/suggest"
)

// endedOf reads the requests that are over, the newest first.
func endedOf(b *broker.Broker) suggest.Ended {
	return func(ctx context.Context, visit func(*hook.Request, hook.Outcome) bool) (bool, error) {
		return b.EachEnded(ctx, func(v *broker.View) bool { return visit(&v.Request, v.Outcome) })
	}
}

// pastOfBroker reads the same with what people made of them.
func pastOfBroker(b *broker.Broker) suggest.Past {
	return func(ctx context.Context, visit func(suggest.Settled) bool) error {
		_, err := b.EachEnded(ctx, func(v *broker.View) bool {
			edited := v.Decision != nil && v.Decision.Contain == "" && len(v.Decision.UpdatedInput) > 0
			s, ok := suggest.Settle(&v.Request, v.Outcome, v.DecidedBy, edited)
			return !ok || visit(s)
		})
		return err
	}
}
