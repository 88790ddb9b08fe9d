package broker_test

import (
	"context"
	"fmt"
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
	older time.Duration // how much older than it is the log takes a record for: its leader's clock is behind
}

func (s shared) Append(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	rec.Time = rec.Time.Add(s.apart)
	if rec.Request != nil {
		q := *rec.Request
		q.CreatedAt, q.Deadline = q.CreatedAt.Add(s.apart), q.Deadline.Add(s.apart)
		rec.Request = &q
	}
	rec.Stored = time.Now().Add(-s.older) // which the log in memory keeps
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
				b, err := broker.New(t.Context(), broker.Config{Log: shared{Log: log, apart: apart}})
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

// A request that stood in line before the log took it says nothing about the clock of its broker.
func TestWhatIsSaidOfAClock(t *testing.T) {
	for name, x := range map[string]struct {
		older time.Duration // how much before it was made the log took the request
		said  bool
	}{
		"a crowd":              {-30 * time.Second, false},
		"a clock that is late": {-2 * time.Minute, true},
		"a clock that is fast": {20 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := logtest.New()
				said := make(chan string, 1)
				open := func(logf func(string, ...any)) *broker.Broker {
					b, err := broker.New(t.Context(), broker.Config{Log: shared{Log: log, older: x.older}, Logf: logf})
					if err != nil {
						t.Fatal(err)
					}
					return b
				}
				own := open(nil)
				other := open(func(f string, a ...any) { said <- fmt.Sprintf(f, a...) })
				askOn(t, own, newRequest("00000001-0000-4000-8000-000000000000", "s", "x", 1))
				synctest.Wait()
				if len(said) > 0 != x.said {
					t.Errorf("said: %v, want %v", len(said) > 0, x.said)
				}
				_, _ = own.Close(), other.Close()
			})
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

// A log whose new leader has a clock that is minutes behind takes what is new for minutes old, until that is noticed.
// No broker ends another's request by that, and a hook that goes on at another broker has the time that it says it has.
func TestTheLogTakesNewRequestsForOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.New()
		open := func() *broker.Broker {
			b, err := broker.New(t.Context(), broker.Config{Log: shared{Log: log, older: 10 * time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		own, other := open(), open()
		requests := map[string]hook.Request{}
		for i, name := range []string{"stays", "moves", "decided"} {
			q := newRequest(fmt.Sprintf("0000000%d-0000-4000-8000-000000000000", i+1), "s", name, 1)
			q.Deadline, q.Channel = q.CreatedAt.Add(5*time.Minute), hook.ChannelRemote
			requests[name] = q
		}
		stays, moves := askOn(t, own, requests["stays"]), askOn(t, own, requests["moves"])
		askOn(t, own, requests["decided"])
		synctest.Wait()
		late := open() // it begins when they wait already
		time.Sleep(time.Minute)
		for name, b := range map[string]*broker.Broker{"its own": own, "the other": other, "a later one": late} {
			if n := len(b.Pending()); n != len(requests) {
				t.Errorf("%s broker shows %d requests after one of five minutes, want %d", name, n, len(requests))
			}
		}

		again := func(name string, left time.Duration) hook.Request {
			q := requests[name]
			q.CreatedAt = time.Now()
			q.Deadline = q.CreatedAt.Add(left)
			return q
		}
		if _, err := other.Decide(t.Context(), requests["decided"].ID, allow(requests["decided"]), phone); err != nil {
			t.Errorf("a decision at the other broker: %v", err)
		}
		synctest.Wait()
		if a, err := askAndWait(t.Context(), late, again("decided", 4*time.Minute)); err != nil || a.Outcome != hook.Allowed {
			t.Errorf("a hook that comes for its answer at another broker got %+v, %v", a, err)
		}

		moved := askOn(t, other, again("moves", 4*time.Minute))
		time.Sleep(3 * time.Minute)
		if !moved.waits() || !moves.waits() || !stays.waits() {
			t.Errorf("after four of five minutes the hooks got %+v, %+v, %+v", moved.answer, moves.answer, stays.answer)
		}
		time.Sleep(time.Minute + time.Second)
		for name, w := range map[string]*waiting{"moved": moved, "moves": moves, "stays": stays} {
			if w.waits() || w.answer.Outcome != hook.Expired {
				t.Errorf("%s: after its time its hook got %+v, %v", name, w.answer, w.err)
			}
		}
		for _, b := range []*broker.Broker{own, other, late} {
			_ = b.Close()
		}
	})
}
