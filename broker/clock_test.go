package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// shared is a log as a broker sees it that shares it with others: the log says when it took what. A broker
// with another clock writes times that are so far apart.
type shared struct {
	*logtest.Log
	apart time.Duration
}

func (s shared) Append(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	rec.Time = rec.Time.Add(s.apart)
	if rec.Request != nil {
		q := *rec.Request
		q.CreatedAt, q.Deadline = q.CreatedAt.Add(s.apart), q.Deadline.Add(s.apart)
		rec.Request = &q
	}
	rec.Stored = time.Now() // which the log in memory keeps
	return s.Log.Append(ctx, rec, after)
}

// A broker whose clock is wrong by minutes or an hour, either way, neither has its requests ended early by
// the others, nor do those that begin later end them; they live exactly as long as their hooks wait, and a
// hook that goes on at another broker gets its answer.
func TestClocksApart(t *testing.T) {
	for _, apart := range []time.Duration{10 * time.Minute, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			log := logtest.New()
			open := func(apart time.Duration) *broker.Broker {
				b, err := broker.New(t.Context(), broker.Config{Log: shared{log, apart}})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			wrong, right := open(apart), open(0)
			q, moved := newRequest("00000001-0000-4000-8000-000000000000", "s", "x", 1), newRequest("00000002-0000-4000-8000-000000000000", "s", "y", 2)
			q.Deadline, moved.Channel = q.CreatedAt.Add(5*time.Minute), hook.ChannelRemote
			w, m := askOn(t, wrong, q), askOn(t, wrong, moved)
			synctest.Wait()
			late := open(0) // it begins when they wait already
			time.Sleep(4 * time.Minute)
			for name, b := range map[string]*broker.Broker{"the other": right, "a later one": late, "its own": wrong} {
				if n := len(b.Pending()); n != 2 {
					t.Errorf("%v apart: %s broker shows %d requests after 4 of 5 minutes, want 2", apart, name, n)
				}
				if v, err := b.Get(t.Context(), q.ID); err != nil || b != wrong && time.Until(v.Deadline).Round(time.Second) != time.Minute {
					t.Errorf("%v apart: at %s broker it has %v left, want a minute (%v)", apart, name, time.Until(v.Deadline), err)
				}
			}
			if _, err := right.Decide(t.Context(), moved.ID, allow(moved), phone); err != nil {
				t.Errorf("a decision at the other broker: %v", err)
			}
			synctest.Wait()
			if !m.waits() && (m.err != nil || m.answer.Outcome != hook.Allowed) {
				t.Errorf("its hook got %+v, %v", m.answer, m.err)
			}
			if a, err := askAndWait(t.Context(), late, moved); err != nil || a.Outcome != hook.Allowed {
				t.Errorf("%v apart: a hook that goes on at another broker got %+v, %v", apart, a, err)
			}
			time.Sleep(2 * time.Minute)
			if w.waits() || w.answer.Outcome != hook.Expired {
				t.Errorf("after its time its hook got %+v, %v", w.answer, w.err)
			}
			for _, b := range []*broker.Broker{wrong, right, late} {
				_ = b.Close()
			}
			steps := map[hook.Step]int{}
			for _, rec := range log.All() {
				if rec.RequestID == q.ID {
					steps[rec.Step]++
					if rec.Step == hook.StepEnded && rec.Outcome != hook.Expired {
						t.Errorf("%v apart: it ended as %s, %s", apart, rec.Outcome, rec.Reason)
					}
				}
			}
			if steps[hook.StepEnded] != 1 {
				t.Errorf("%v apart: %v", apart, steps)
			}
		})
	}
}

// A clock that is set while a request is on its way to the broker, or waits, takes none of its time: the times of a
// request have no monotonic reading, since they are times of day in UTC.
func TestTheClockIsSetBeforeARequestIsAsked(t *testing.T) {
	for _, set := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x")
			q.CreatedAt = time.Now().Add(-set).UTC()
			q.Deadline = q.CreatedAt.Add(time.Minute)
			w := r.ask(q)
			time.Sleep(50 * time.Second)
			if !w.waits() {
				t.Errorf("set by %v: the hook got %+v, %v", set, w.answer, w.err)
			}
			time.Sleep(20 * time.Second)
			if w.waits() || w.answer.Outcome != hook.Expired {
				t.Errorf("set by %v: after its time the hook got %+v, %v", set, w.answer, w.err)
			}
		})
	}
}
