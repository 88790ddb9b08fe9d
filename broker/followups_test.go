package broker_test

import (
	"sync"
	"testing"
	"time"

	"assent/broker/logtest"
	"assent/internal/hook"
)

// A log that several brokers share takes a round trip for each record, so deliveries are on their way together there. In an
// engine of our own a decision would stand behind all of them.
func TestHowManyDeliveriesAreOnTheirWay(t *testing.T) {
	for name, x := range map[string]struct {
		single bool
		want   int
	}{
		"an engine of our own": {true, 1},
		"a shared log":         {false, 16},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.cfg.SingleReplica = x.single
				r.restart()
				var mu sync.Mutex
				underWay, most := 0, 0
				r.log.Inject(func(rec hook.Record) logtest.Fault {
					if rec.Step != hook.StepDelivered {
						return logtest.Fault{}
					}
					mu.Lock()
					defer mu.Unlock()
					underWay++
					most = max(most, underWay)
					time.AfterFunc(999*time.Millisecond, func() {
						mu.Lock()
						defer mu.Unlock()
						underWay--
					})
					return logtest.Fault{Delay: time.Second}
				})
				var qs []hook.Request
				for range 40 {
					q := r.request("x", func(q *hook.Request) { q.SessionID = q.ID })
					r.ask(q)
					qs = append(qs, q)
				}
				for _, q := range qs {
					go func() { _, _ = r.b.Decide(t.Context(), q.ID, allow(q), phone) }()
				}
				time.Sleep(100 * time.Millisecond)
				for _, q := range qs {
					r.b.Delivered(q.ID)
				}
				time.Sleep(time.Minute)
				for _, q := range qs {
					r.wantSteps(q, "asked decided:allowed delivered")
				}
				mu.Lock()
				defer mu.Unlock()
				if most != x.want {
					t.Errorf("%d deliveries were on their way at a time, want %d", most, x.want)
				}
			})
		})
	}
}

// However many are on their way, those of one request come one after the other.
func TestFollowUpsOfARequestInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.cfg.SingleReplica = false
		r.restart()
		q := r.request("x")
		r.ask(q)
		r.log.Inject(func(rec hook.Record) logtest.Fault {
			if rec.Step == hook.StepDelivered {
				return logtest.Fault{Delay: time.Second}
			}
			return logtest.Fault{}
		})
		go func() { _, _ = r.b.Decide(t.Context(), q.ID, allow(q), phone) }()
		time.Sleep(100 * time.Millisecond)
		r.b.Delivered(q.ID)
		r.observe("PostToolUse", q)
		time.Sleep(time.Minute)
		r.wantSteps(q, "asked decided:allowed delivered confirmed")
	})
}
