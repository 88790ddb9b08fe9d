package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

func TestDecideRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		if _, err := r.b.Decide(t.Context(), "nobody", allow(q), phone); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("unknown id: %v", err)
		}
		other := allow(q)
		other.InputSHA256 = "of another input"
		if _, err := r.b.Decide(t.Context(), q.ID, other, phone); !errors.Is(err, broker.ErrDigest) {
			t.Errorf("other digest: %v", err)
		}
		for _, b := range []hook.Behavior{"", "Allow", "maybe"} {
			d := allow(q)
			d.Behavior = b
			if _, err := r.b.Decide(t.Context(), q.ID, d, phone); err == nil {
				t.Errorf("behavior %q was taken", b)
			}
		}
		if !w.waits() {
			t.Fatal("a refused decision answered the hook")
		}
		r.wantSteps(q, "asked")
		r.decide(q, allow(q))
		if s := r.refused(q, deny(q, "no")); s.Outcome != hook.Allowed || s.By == nil || s.By.Name != "phone" {
			t.Errorf("second decision: %+v", s)
		}
		r.observe("Stop", q) // out of memory
		if s := r.refused(q, deny(q, "no")); s.Outcome != hook.Allowed || s.By == nil || s.By.Name != "phone" {
			t.Errorf("decision after it left memory: %+v", s)
		}
		r.wantSteps(q, "asked decided:allowed")
	})
}

// Two replicas share one record; the loser hears who won.
func TestDecideOnTwoReplicas(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cfg := r.cfg
		cfg.SingleReplica = false
		replica := r.open(cfg)
		defer replica.Close()
		q := r.request("x")
		w := r.ask(q)
		v, err := replica.Decide(t.Context(), q.ID, deny(q, "no"), hook.Approver{Kind: "token", Name: "bot"})
		if err != nil || v.Outcome != hook.Denied {
			t.Fatalf("on the replica: %+v, %v", v, err)
		}
		if a := w.got(); a.Outcome != hook.Denied || a.Decision.Message != "no" {
			t.Errorf("hook got %+v", a)
		}
		if s := r.refused(q, allow(q)); s.By == nil || s.By.Name != "bot" {
			t.Errorf("loser heard %+v", s)
		}
	})
}

// Our memory is behind the log: the log decides.
func TestDecideBehindTheLog(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cfg := r.cfg
		cfg.SingleReplica = false
		q, q2 := r.request("x"), r.request("y")
		w := r.ask(q)
		replica := r.open(cfg)
		defer replica.Close()
		r.log.PauseTail(true)
		w2 := r.ask(q2)
		if _, err := replica.Decide(t.Context(), q.ID, allow(q), phone); err != nil {
			t.Fatal(err)
		}
		if s := r.refused(q, deny(q, "")); s.Outcome != hook.Allowed {
			t.Errorf("loser heard %+v", s)
		}
		if v := r.decide(q2, allow(q2)); v.Outcome != hook.Allowed { // not in memory at all
			t.Errorf("view %+v", v)
		}
		r.log.PauseTail(false)
		if w.got().Outcome != hook.Allowed || w2.got().Outcome != hook.Allowed {
			t.Error("hooks did not get what was recorded")
		}
	})
}

func TestDecideWithoutALog(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		r.log.Down(true)
		if _, err := r.b.Decide(t.Context(), q.ID, allow(q), phone); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("Decide: %v", err)
		}
		if _, err := r.b.Decide(t.Context(), "gone", allow(q), phone); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("Decide of what is not in memory: %v", err)
		}
		if !w.waits() {
			t.Fatal("the hook was answered without a record")
		}
		r.wantPending(q)
		r.log.Down(false)
		r.decide(q, allow(q))
		if w.got().Outcome != hook.Allowed {
			t.Error("wrong answer")
		}
	})
}

// The decision was recorded, and neither the acknowledgement nor a look told so.
func TestDecideAckLost(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q, q2 := r.request("x"), r.request("y")
		w, w2 := r.ask(q), r.ask(q2)
		r.log.LoseNextAck()
		r.decide(q, allow(q))
		if w.got().Outcome != hook.Allowed {
			t.Error("wrong answer")
		}
		r.log.Inject(func(hook.Record) logtest.Fault { return logtest.Fault{LoseAck: true, Blind: true} })
		if _, err := r.b.Decide(t.Context(), q2.ID, allow(q2), phone); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("Decide: %v", err)
		}
		r.log.Inject(nil)
		if w2.got().Outcome != hook.Allowed { // the record is what counts
			t.Error("wrong answer")
		}
		if s := r.refused(q2, deny(q2, "")); s.By == nil || s.By.Name != "phone" {
			t.Errorf("second attempt heard %+v", s)
		}
	})
}

// A log may answer a repeated publish with a conflict although the own record is there.
func TestDecideConflictWithItself(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		r.log.Inject(func(rec hook.Record) logtest.Fault {
			r.log.Inject(nil)
			if _, err := r.log.Append(context.Background(), rec, 1); err != nil {
				t.Error(err)
			}
			return logtest.Fault{}
		})
		if v := r.decide(q, allow(q)); v.Outcome != hook.Allowed {
			t.Errorf("view %+v", v)
		}
		w.got()
		r.wantSteps(q, "asked decided:allowed")
	})
}

func TestDecideWaitsForDelivery(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		slow, quick := r.request("x"), r.request("y")
		r.ask(slow)
		wq := r.ask(quick)
		before := time.Now()
		if v := r.decide(slow, allow(slow)); v.Delivery != broker.Recorded || time.Since(before) != 500*time.Millisecond {
			t.Errorf("nobody said delivered: %q after %v", v.Delivery, time.Since(before))
		}
		go func() {
			<-wq.done
			time.Sleep(7 * time.Millisecond)
			r.b.Delivered(quick.ID)
		}()
		before = time.Now()
		if v := r.decide(quick, allow(quick)); v.Delivery != broker.Delivered || time.Since(before) != 7*time.Millisecond {
			t.Errorf("delivered after 7 ms: %q after %v", v.Delivery, time.Since(before))
		}
		followUpsDone()
		r.wantSteps(quick, "asked decided:allowed delivered")
		r.wantSteps(slow, "asked decided:allowed")
	})
}

// The replica that decides hears of the delivery by the record.
func TestDeliveryByAnotherReplica(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cfg := r.cfg
		cfg.SingleReplica = false
		replica := r.open(cfg)
		defer replica.Close()
		q := r.request("x")
		w := r.ask(q)
		go func() {
			<-w.done
			r.b.Delivered(q.ID)
		}()
		v, err := replica.Decide(t.Context(), q.ID, allow(q), phone)
		if err != nil || v.Delivery != broker.Delivered {
			t.Errorf("delivery %q, %v", v.Delivery, err)
		}
	})
}

// The caller's connection ends while the decision is on its way: it is recorded all the same.
func TestDecideOutlivesItsCaller(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		r.log.Inject(func(hook.Record) logtest.Fault { return logtest.Fault{Delay: 10 * time.Millisecond} })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if v, err := r.b.Decide(ctx, q.ID, allow(q), phone); err != nil || v.Outcome != hook.Allowed {
			t.Errorf("Decide: %+v, %v", v, err)
		}
		if w.got().Outcome != hook.Allowed {
			t.Error("wrong answer")
		}
	})
}

// Delivered of a request that has left memory is recorded too, once.
func TestDeliveredOutOfMemory(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		r.ask(q)
		r.decide(q, allow(q))
		r.observe("Stop", q)
		for range 2 {
			r.b.Delivered(q.ID)
			followUpsDone()
		}
		r.b.Delivered("nobody")
		followUpsDone()
		r.wantSteps(q, "asked decided:allowed delivered")
	})
}

func TestDeliveredSurvivesALogThatIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		r.ask(q)
		r.decide(q, allow(q))
		r.log.Down(true)
		r.b.Delivered(q.ID)
		time.Sleep(time.Minute)
		r.log.Down(false)
		time.Sleep(10 * time.Second)
		r.wantSteps(q, "asked decided:allowed delivered")
	})
}

// 16,384 deliveries may wait for the log; the next one waits itself, until the broker closes.
func TestDeliveredIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.log.Down(true)
		time.Sleep(time.Second)
		var wg sync.WaitGroup
		n := 0
		wg.Go(func() {
			for ; n < 20_000; n++ {
				r.b.Delivered(fmt.Sprint("gone ", n))
			}
		})
		synctest.Wait()
		if n != 16_385 { // one is in the hands of the goroutine
			t.Errorf("blocked after %d", n)
		}
		r.b.Close()
		wg.Wait()
	})
}

// 8 approvers race on 1,000 requests: one winner each, the losers hear who won, and the hook
// gets the winner's words.
func TestEightApproversRace(t *testing.T) {
	synctest.Test(t, eightApproversRace)
}

// eightApproversRace runs in a bubble: its goroutines race as everywhere, but a machine that
// stalls cannot use up the broker's patience, and whoever waits in vain is reported.
func eightApproversRace(t *testing.T) {
	const requests, approvers = 1000, 8
	log := logtest.New()
	b, err := broker.New(t.Context(), broker.Config{Log: log, SingleReplica: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var hooks sync.WaitGroup
	answers := make([]broker.Answer, requests)
	queue := make([]hook.Request, requests)
	for i := range requests {
		q := newRequest(fmt.Sprint("r", i), fmt.Sprint("s", i%10), "x", uint64(i+1))
		queue[i] = q
		hooks.Go(func() {
			a, err := askAndWait(context.Background(), b, q)
			if err != nil {
				t.Errorf("Ask: %v", err)
			}
			answers[i] = a
			b.Delivered(q.ID)
		})
	}
	synctest.Wait()
	if n := len(b.Pending()); n != requests {
		t.Fatalf("%d requests wait, want %d", n, requests)
	}
	winners := make([][]string, approvers)
	heard := make([][]string, approvers)
	var deciders sync.WaitGroup
	for n := range approvers {
		winners[n], heard[n] = make([]string, requests), make([]string, requests)
		deciders.Go(func() {
			by := hook.Approver{Kind: "token", Name: fmt.Sprint("approver ", n)}
			for i, q := range queue {
				d := deny(q, by.Name)
				if n%2 == 0 {
					d = allow(q)
					d.Signature = by.Name
				}
				_, err := b.Decide(context.Background(), q.ID, d, by)
				var settled *broker.SettledError
				switch {
				case err == nil:
					winners[n][i] = by.Name
				case errors.As(err, &settled) && settled.By != nil:
					heard[n][i] = settled.By.Name
				default:
					t.Errorf("Decide: %v", err)
				}
			}
		})
	}
	deciders.Wait()
	hooks.Wait()
	for i := range requests {
		winner := ""
		for n := range approvers {
			if w := winners[n][i]; w != "" {
				if winner != "" {
					t.Fatalf("request %d: %s and %s both won", i, winner, w)
				}
				winner = w
			}
		}
		for n := range approvers {
			if h := heard[n][i]; h != "" && h != winner {
				t.Fatalf("request %d: winner %q, a loser heard %q", i, winner, h)
			}
		}
		d := answers[i].Decision
		if winner == "" || d == nil || d.Message+d.Signature != winner {
			t.Fatalf("request %d: winner %q, the hook got %+v", i, winner, answers[i])
		}
	}
	if n := strings.Count(fmt.Sprint(stepsOf(log)), "decided"); n != requests {
		t.Errorf("%d decisions recorded, want %d", n, requests)
	}
}

func stepsOf(l *logtest.Log) []hook.Step {
	var steps []hook.Step
	for _, rec := range l.All() {
		steps = append(steps, rec.Step)
	}
	return steps
}

// A remote hook that comes back to another replica is not sent away by the one it left, which
// cannot hear of it.
func TestRemoteHookMovesToAnotherReplica(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.cfg.SingleReplica = false
		r.restart()
		one, two := r.b, r.open(r.cfg)
		defer two.Close()
		q := r.request("x", remote)
		left, leave := context.WithCancel(t.Context())
		go askAndWait(left, one, q)
		synctest.Wait()
		leave()
		time.Sleep(time.Second)
		w := askOn(t, two, q)
		time.Sleep(time.Minute)
		if _, err := one.Decide(t.Context(), q.ID, allow(q), phone); err != nil {
			t.Fatalf("a minute later: %v", err)
		}
		if a := w.got(); a.Outcome != hook.Allowed {
			t.Errorf("the hook got %+v", a)
		}
	})
}
