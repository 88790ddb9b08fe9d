package main

import (
	"context"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/policy/suggest"
)

// endedOf reads the requests that are over, the newest first, some at a time.
func endedOf(b *broker.Broker) suggest.Ended {
	const page = 50
	return func(ctx context.Context, visit func(*hook.Request, hook.Outcome) bool) (bool, error) {
		for before := uint64(0); ; {
			views, err := b.Ended(ctx, before, page)
			if err != nil {
				return false, err
			}
			for i := range views {
				if !visit(&views[i].Request, views[i].Outcome) {
					return false, nil
				}
				before = views[i].SettledSeq
			}
			if len(views) == 0 {
				return true, nil
			}
		}
	}
}
