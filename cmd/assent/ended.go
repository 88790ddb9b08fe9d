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
		return eachEnded(ctx, b, func(v *broker.View) bool { return visit(&v.Request, v.Outcome) })
	}
}

// pastOfBroker reads the same with what people made of them.
func pastOfBroker(b *broker.Broker) suggest.Past {
	return func(ctx context.Context, visit func(suggest.Settled) bool) error {
		_, err := eachEnded(ctx, b, func(v *broker.View) bool {
			edited := v.Decision != nil && v.Decision.Contain == "" && len(v.Decision.UpdatedInput) > 0
			s, ok := suggest.Settle(&v.Request, v.Outcome, v.DecidedBy, edited)
			return !ok || visit(s)
		})
		return err
	}
}

// eachEnded visits what is over, the newest first, some at a time, until visit returns false. It reports
// whether there was no more.
func eachEnded(ctx context.Context, b *broker.Broker, visit func(*broker.View) bool) (all bool, err error) {
	const page = 50
	for before := uint64(0); ; {
		views, err := b.Ended(ctx, before, page)
		if err != nil {
			return false, err
		}
		for i := range views {
			if !visit(&views[i]) {
				return false, nil
			}
			before = views[i].SettledSeq
		}
		if len(views) == 0 {
			return true, nil
		}
	}
}
