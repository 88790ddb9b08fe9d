package broker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// A stopping broker records nothing, even though its connections close.
func TestCloseRecordsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q, away := r.request("x"), r.request("y", remote)
		w, wa := r.ask(q), r.ask(away)
		wa.hangUp()
		synctest.Wait()
		before := r.log.Len()
		if err := r.b.Close(); err != nil {
			t.Fatal(err)
		}
		w.hangUp()
		if err := w.failed(); !errors.Is(err, broker.ErrStopping) {
			t.Errorf("Ask: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if r.log.Len() != before {
			t.Errorf("recorded %v", stepsOf(r.log)[before:])
		}
		for what, err := range map[string]error{
			"Ask":      r.ask(q).failed(),
			"HandBack": r.b.HandBack(t.Context(), r.request("z"), "x"),
			"Decide":   func() error { _, err := r.b.Decide(t.Context(), q.ID, allow(q), phone); return err }(),
		} {
			if !errors.Is(err, broker.ErrStopping) {
				t.Errorf("%s after Close: %v", what, err)
			}
		}
		if err := r.b.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if c, _ := r.log.Checkpoint(t.Context()); c.Tail != uint64(before) {
			t.Errorf("checkpoint %+v, want tail %d", c, before)
		}
	})
}

// What was delivered is still noted by a broker that stops.
func TestCloseWritesItsNotes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var all []hook.Request
		for range 20 {
			q := r.request("x")
			r.ask(q)
			r.decide(q, allow(q))
			r.b.Delivered(q.ID)
			all = append(all, q)
		}
		r.b.Close()
		for _, q := range all {
			r.wantSteps(q, "asked decided:allowed delivered")
		}
	})
}

// The hook's connection and the broker end at the same moment, in either order.
func TestCloseAndHangUpTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var ws []*waiting
		for range 50 {
			ws = append(ws, r.ask(r.request("x")))
		}
		go r.b.Close()
		for _, w := range ws {
			w.hangUp()
		}
		synctest.Wait()
		for _, w := range ws {
			if err := w.failed(); errors.Is(err, broker.ErrStopping) {
				continue // kept for the next broker
			} else if !errors.Is(err, context.Canceled) {
				t.Errorf("Ask: %v", err)
			}
		}
	})
}

func TestRestartKeepsTheQueue(t *testing.T) {
	for _, how := range []struct {
		name string
		do   func(*rig)
	}{{"close", (*rig).restart}, {"kill", (*rig).kill}} {
		t.Run(how.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				a, b, c := r.request("a"), r.request("b", remote), r.request("c", subagent)
				done := r.request("done")
				for _, q := range []hook.Request{a, b, c} {
					r.ask(q)
				}
				r.ask(done)
				r.decide(done, deny(done, "no"))
				before := r.b.Pending()
				how.do(r)
				r.wantPending(a, b, c)
				for i, v := range r.b.Pending() {
					if !v.Detached {
						t.Error("an open request is not shown as detached")
					}
					v.Detached = before[i].Detached
					if !sameRequest(v.Request, before[i].Request) {
						t.Errorf("changed:\n got %+v\nwant %+v", v, before[i])
					}
				}
				wa := r.ask(a) // the hook comes back
				if r.get(a).Detached {
					t.Error("still detached")
				}
				r.decide(b, allow(b)) // decided while its hook is away
				time.Sleep(30*time.Second - 1)
				if got := r.ask(b).got(); got.Outcome != hook.Allowed {
					t.Errorf("answer %+v", got)
				}
				r.wantPending(a, c)
				time.Sleep(time.Nanosecond)
				r.wantPending(a)
				r.wantSteps(c, "asked ended:withdrawn/detached")
				r.decide(a, allow(a))
				if wa.got().Outcome != hook.Allowed {
					t.Error("wrong answer")
				}
				if got := r.ask(done).got(); got.Outcome != hook.Denied || got.Decision.Message != "no" {
					t.Errorf("answer from before: %+v", got)
				}
			})
		})
	}
}

func sameRequest(a, b hook.Request) bool {
	return a.ID == b.ID && a.SessionID == b.SessionID && string(a.Raw) == string(b.Raw) &&
		string(a.ToolInput) == string(b.ToolInput) && a.Deadline.Equal(b.Deadline) && a.PayloadSHA256 == b.PayloadSHA256 &&
		a.EventSeq == b.EventSeq && a.CallKey == b.CallKey && a.AgentID == b.AgentID
}

// Others may hold the hooks: a starting replica leaves the requests to them, until well after
// the deadline.
func TestReplicaExpiresWhatNobodyHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", within(time.Minute))
		r.ask(q)
		cfg := r.cfg
		cfg.SingleReplica = false
		replica := r.open(cfg)
		defer replica.Close()
		r.b.Close() // its holder is gone
		time.Sleep(time.Minute + 5*time.Second - 1)
		r.wantSteps(q, "asked")
		time.Sleep(time.Nanosecond)
		r.wantSteps(q, "asked ended:expired/deadline")
	})
}

// The hook comes to another replica: the request is the same, and so is the answer.
func TestReattachToAReplica(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", remote, within(time.Minute))
		r.ask(q)
		r.b.Close()
		cfg := r.cfg
		cfg.SingleReplica = false
		replica := r.open(cfg)
		defer replica.Close()
		w := askOn(t, replica, q)
		time.Sleep(time.Minute - 1)
		if !w.waits() {
			t.Fatalf("answered %+v, %v", w.answer, w.err)
		}
		time.Sleep(time.Nanosecond)
		if w.got().Outcome != hook.Expired { // and it is this replica's to expire now
			t.Error("wrong answer")
		}
		r.wantSteps(q, "asked ended:expired/deadline")
	})
}

func TestDeadlineAcrossARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", within(time.Minute), denying)
		r.ask(q)
		r.b.Close()
		time.Sleep(2 * time.Minute)
		r.b = r.open(r.cfg)
		r.wantPending()
		if err := decideFails(r, q); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("a request that may be over was decided: %v", err)
		}
		again := q // the same hook, which has nothing left
		again.CreatedAt = time.Now()
		again.Deadline = again.CreatedAt
		w := r.ask(again)
		time.Sleep(time.Second)
		if a := w.got(); a.Outcome != hook.Expired || a.Fallback != hook.Deny {
			t.Errorf("answer %+v", a)
		}
		r.wantSteps(q, "asked ended:expired/deadline")
	})
}

func decideFails(r *rig, q hook.Request) error {
	_, err := r.b.Decide(r.t.Context(), q.ID, allow(q), phone)
	return err
}

// A request whose deadline passed while no broker ran, and whose hook does not come back, ends as
// expired, when the others would be given up too.
func TestLapsedAcrossARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", within(time.Minute), denying)
		r.ask(q)
		r.b.Close()
		time.Sleep(2 * time.Minute)
		r.b = r.open(r.cfg)
		time.Sleep(29 * time.Second)
		r.wantPending()
		r.wantSteps(q, "asked")
		time.Sleep(2 * time.Second)
		r.wantSteps(q, "asked ended:expired/deadline")
	})
}

// The wall clock may be set while no broker runs: what the hook has left counts, not the deadline
// that stands in the record.
func TestWallClockSetAcrossARestart(t *testing.T) {
	for _, set := range []time.Duration{-2 * time.Hour, -time.Minute, 0, time.Minute, time.Hour, 30 * 24 * time.Hour} {
		t.Run(set.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				// The clock of a bubble cannot be set: the first broker's stood wrong by as much.
				q := r.request("x", func(q *hook.Request) {
					q.CreatedAt, q.Deadline = q.CreatedAt.Add(-set), q.Deadline.Add(-set)
				})
				rec := hook.Record{ID: "r", RequestID: q.ID, Step: hook.StepAsked, Time: q.CreatedAt, Request: &q}
				r.b.Close()
				if _, err := r.log.Append(t.Context(), rec, 0); err != nil {
					t.Fatal(err)
				}
				r.b = r.open(r.cfg)
				time.Sleep(10 * time.Second)
				again := q
				again.CreatedAt = time.Now()
				again.Deadline = again.CreatedAt.Add(570 * time.Second)
				w := r.ask(again)
				r.wantPending(q)
				if left := time.Until(r.get(q).Deadline); left < 565*time.Second || left > 580*time.Second {
					t.Errorf("shown with %v left, the hook has 570 s", left)
				}
				time.Sleep(560 * time.Second)
				r.wantPending(q)
				time.Sleep(20 * time.Second)
				if a := w.got(); a.Outcome != hook.Expired {
					t.Errorf("answer %+v", a)
				}
				r.wantSteps(q, "asked ended:expired/deadline")
			})
		})
	}
}

// Proof works across restarts: what was allowed before is confirmed after, and events that are
// fed again are not spent again.
func TestProofAcrossARestart(t *testing.T) {
	for _, how := range []struct {
		name string
		do   func(*rig)
	}{{"close", (*rig).restart}, {"kill", (*rig).kill}} {
		t.Run(how.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				var fed []func()
				observe := func(kind string, q hook.Request) uint64 {
					ev, p := r.event(kind, q)
					feed := func() { r.b.Observe(ev, p); synctest.Wait() }
					fed = append(fed, func() {
						if ev.Seq >= r.b.EventsFrom() {
							feed()
						}
					})
					feed()
					return ev.Seq
				}
				ours, waits, second := r.request("x"), r.request("x"), r.request("x")
				r.ask(ours)
				r.decide(ours, allow(ours))
				r.ask(waits)
				r.ask(second)
				last := observe("PostToolUse", ours)
				followUpsDone()
				how.do(r)
				ww, ws := r.ask(waits), r.ask(second)
				if from := r.b.EventsFrom(); from > last+1 || how.name == "close" && from != last+1 {
					t.Errorf("events from %d, the last was %d", from, last)
				}
				for _, again := range fed {
					again()
				}
				followUpsDone()
				if !ww.waits() || !ws.waits() {
					t.Fatal("an event that confirmed a request retired another after the restart")
				}
				observe("PostToolUse", waits)
				if ww.got().Outcome != hook.Withdrawn || !ws.waits() {
					t.Error("wrong answers")
				}
				r.wantSteps(ours, "asked decided:allowed confirmed")

				r.decide(second, allow(second))
				how.do(r)
				observe("PostToolUse", second)
				followUpsDone()
				r.wantSteps(second, "asked decided:allowed confirmed")
			})
		})
	}
}

// The broker is killed while the end of a turn retires two requests and only one is recorded:
// the event is fed again and retires the other.
func TestTurnEndHalfRecorded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, b := r.request("a"), r.request("b")
		r.ask(a)
		r.ask(b)
		time.Sleep(10 * time.Second) // a checkpoint
		r.log.Inject(func(rec hook.Record) logtest.Fault {
			if rec.Step == hook.StepEnded && rec.RequestID == b.ID {
				return logtest.Fault{Err: broker.ErrUnavailable}
			}
			return logtest.Fault{}
		})
		ev, p := r.event("Stop", a)
		r.b.Observe(ev, p)
		time.Sleep(10 * time.Second) // another
		r.wantSteps(a, "asked ended:withdrawn/turn_ended")
		r.wantSteps(b, "asked")
		r.log.Inject(nil)
		r.b.Close()
		synctest.Wait()
		r.b = r.open(r.cfg)
		if from := r.b.EventsFrom(); from > ev.Seq {
			t.Fatalf("events from %d: the event %d is not fed again", from, ev.Seq)
		}
		r.b.Observe(ev, p)
		r.wantSteps(b, "asked ended:withdrawn/turn_ended")
		r.wantSteps(a, "asked ended:withdrawn/turn_ended")
	})
}

// A checkpoint lists what is old and open, so that a start reads little, however long the
// record is; and what the last broker had forgotten stays forgotten.
func TestCheckpoint(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		old := r.request("old", within(24*time.Hour))
		r.ask(old)
		proven := r.request("x")
		unproven := newRequest("u", "other", "x", r.nextEvent())
		for _, q := range []hook.Request{proven, unproven} {
			r.ask(q)
			r.decide(q, allow(q))
		}
		r.observe("PostToolUse", proven)
		followUpsDone()
		for range 2200 {
			q := newRequest(fmt.Sprint("n", r.nextEvent()), "busy", "x", 0)
			w := r.ask(q)
			w.hangUp()
			w.waits()
		}
		young := newRequest("y", "young", "x", r.nextEvent())
		r.ask(young)
		r.b.Close()
		c, err := r.log.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(c.Live)
		want := []string{old.ID, unproven.ID}
		slices.Sort(want)
		if !slices.Equal(c.Live, want) || c.Tail != uint64(r.log.Len()) || c.Tail-c.Seq > 4096 {
			t.Errorf("checkpoint %+v, want live %v", c, want)
		}
		r.b = r.open(r.cfg)
		r.wantPending(old, young)
		r.observe("PostToolUse", unproven)
		followUpsDone()
		r.wantSteps(unproven, "asked decided:allowed confirmed")
	})
}

// The log lost its end, as with a damaged block: the next checkpoint must not speak of a place
// that it has yet to reach again.
func TestCheckpointAfterALostEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		if err := r.b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.log.SaveCheckpoint(t.Context(), broker.Checkpoint{Seq: 5, Tail: 5}); err != nil {
			t.Fatal(err)
		}
		r.b = r.open(r.cfg)
		r.ask(r.request("x")).hangUp()
		time.Sleep(10 * time.Second) // a checkpoint is saved
		var queue []hook.Request
		for range 6 { // and is behind these
			q := r.request("y")
			r.ask(q)
			queue = append(queue, q)
		}
		r.kill()
		r.wantPending(queue...)
	})
}

// The record lost a decision, and not what came of it: the broker reads that, and what it ends the request with.
func TestDeliveredWithoutADecision(t *testing.T) {
	for _, step := range []hook.Step{hook.StepDelivered, hook.StepConfirmed, hook.StepOverruled, hook.StepRefused} {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x")
			r.ask(q)
			r.kill()
			for i, rec := range []hook.Record{{ID: "after", Step: step}, {ID: "end", Step: hook.StepEnded, Outcome: hook.HandedBack, Reason: "its records were damaged"}} {
				rec.RequestID, rec.Time = q.ID, time.Now().UTC()
				if _, err := r.log.Append(t.Context(), rec, uint64(i+1)); err != nil {
					t.Fatal(err)
				}
			}
			r.restart()
			if v, err := r.b.Get(t.Context(), q.ID); err != nil || v.State != broker.Ended || v.Outcome != hook.HandedBack {
				t.Errorf("%s: %+v, %v", step, v, err)
			}
		})
	}
}

// A settled request that the last broker had forgotten is read again because an open one lies
// before it; it must not take proof away from others.
func TestForgottenStaysForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		open := newRequest("open", "other", "x", r.nextEvent())
		r.ask(open)
		ours := r.request("x")
		r.ask(ours)
		r.decide(ours, allow(ours))
		r.observe("PostToolBatch", ours)
		r.restart()
		waits := r.request("x")
		w := r.ask(waits)
		r.observe("PostToolUse", waits)
		followUpsDone()
		if w.got().Outcome != hook.Withdrawn {
			t.Error("wrong answer")
		}
		r.wantSteps(ours, "asked decided:allowed")
	})
}

func TestCheckpointIsSavedWhileRunning(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.ask(r.request("x"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := r.log.Saves(); n != 1 {
			t.Errorf("%d checkpoints after 3 s", n)
		}
		time.Sleep(time.Hour)
		if n := r.log.Saves(); n > 2 {
			t.Errorf("%d checkpoints although nothing happened", n)
		}
		n := r.log.Saves()
		for range 1000 {
			r.observe("PreToolUse", hook.Request{SessionID: "s"})
		}
		synctest.Wait()
		if r.log.Saves() != n+1 {
			t.Errorf("%d checkpoints after 1,000 steps, want %d", r.log.Saves(), n+1)
		}
	})
}

func TestNewFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := broker.New(t.Context(), broker.Config{}); err == nil {
			t.Error("a broker without a log")
		}
		log := logtest.New()
		log.Down(true)
		if _, err := broker.New(t.Context(), broker.Config{Log: log}); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("log away: %v", err)
		}
		log.Down(false)
		log.PauseTail(true)
		if _, err := log.Append(t.Context(), logtest.Asked(), 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := broker.New(ctx, broker.Config{Log: log}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("log never catches up: %v", err)
		}
	})
}

// tornTail is a log whose Tail gives up after every few records, as it should not.
type tornTail struct{ *logtest.Log }

func (l tornTail) Tail(ctx context.Context, from uint64, apply func(hook.Record), caughtUp func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	n, torn := 0, errors.New("torn")
	err := l.Log.Tail(ctx, from, func(rec hook.Record) {
		apply(rec)
		if n++; n == 3 {
			cancel(torn)
		}
	}, caughtUp)
	if context.Cause(ctx) == torn {
		return torn
	}
	return err
}

func TestTailIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := broker.New(t.Context(), broker.Config{Log: tornTail{logtest.New()}, SingleReplica: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for i := range 10 {
			q := newRequest(fmt.Sprint("r", i), "s", "x", uint64(i+1))
			w := askOn(t, b, q)
			time.Sleep(10 * time.Second)
			if _, err := b.Decide(t.Context(), q.ID, allow(q), phone); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if w.got().Outcome != hook.Allowed {
				t.Error("wrong answer")
			}
		}
	})
}

// A record that contradicts itself must not become a decision.
func TestDamagedRecordsAllowNothing(t *testing.T) {
	for name, damage := range map[string]func(*hook.Record){
		"allowed by an end":   func(r *hook.Record) { r.Step, r.Decision = hook.StepEnded, nil },
		"no decision":         func(r *hook.Record) { r.Decision = nil },
		"denied, allowed":     func(r *hook.Record) { r.Decision.Behavior = hook.BehaviorDeny },
		"no behavior":         func(r *hook.Record) { r.Decision.Behavior = "" },
		"outcome of an ended": func(r *hook.Record) { r.Outcome = hook.Withdrawn },
		"nothing":             func(r *hook.Record) { r.Outcome, r.Decision.Behavior = "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := r.request("x")
				w := r.ask(q)
				d := allow(q)
				rec := hook.Record{ID: "r", RequestID: q.ID, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: &d, By: &phone}
				damage(&rec)
				if _, err := r.log.Append(t.Context(), rec, 1); err != nil {
					t.Fatal(err)
				}
				if a := w.got(); a.Outcome == hook.Allowed || a.Decision != nil || a.Fallback == "" {
					t.Errorf("answer %+v", a)
				}
			})
		})
	}
}

func TestTraceAndEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var all []hook.Request
		for i := range 5 {
			q := r.request(fmt.Sprint("x", i))
			all = append(all, q)
			w := r.ask(q)
			if i%2 == 0 {
				r.decide(q, allow(q))
			} else {
				w.hangUp()
				w.failed()
			}
		}
		r.ask(r.request("open"))
		if _, err := r.b.Trace(t.Context(), "nobody"); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("Trace: %v", err)
		}
		if _, err := r.b.Get(t.Context(), "nobody"); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
		if recs, err := r.b.Trace(t.Context(), all[0].ID); err != nil || len(recs) != 2 {
			t.Errorf("Trace: %v, %v", recs, err)
		}
		var before uint64
		for i := len(all); i > 0; {
			page, err := r.b.Ended(t.Context(), before, 2)
			if err != nil || len(page) == 0 {
				t.Fatalf("Ended(%d): %v, %v", before, page, err)
			}
			for _, v := range page {
				i--
				if v.ID != all[i].ID || v.State != broker.Ended {
					t.Errorf("got %s, want %s", v.ID, all[i].ID)
				}
				before = v.SettledSeq
			}
		}
		for stop := range len(all) + 1 {
			var ids []string
			complete, err := r.b.EachEnded(t.Context(), func(v *broker.View) bool {
				ids = append(ids, v.ID)
				return len(ids) != stop
			})
			if visited := cmp.Or(stop, len(all)); err != nil || complete != (stop == 0) || len(ids) != visited || ids[visited-1] != all[len(all)-visited].ID {
				t.Errorf("EachEnded until %d: %v, %v, %v", stop, ids, complete, err)
			}
		}
		r.log.Down(true)
		if complete, err := r.b.EachEnded(t.Context(), func(*broker.View) bool { return true }); complete || !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("EachEnded: %v, %v", complete, err)
		}
		if _, err := r.b.Ended(t.Context(), 0, 0); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("Ended: %v", err)
		}
	})
}

// silentLog has a checkpoint, and answers nothing else.
type silentLog struct{ *logtest.Log }

func (silentLog) Checkpoint(context.Context) (c broker.Checkpoint, err error) {
	for i := range 800 {
		c.Live = append(c.Live, fmt.Sprint("r", i))
	}
	return c, nil
}

func (silentLog) Records(ctx context.Context, _ string) ([]hook.Record, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(5 * time.Second):
		return nil, broker.ErrUnavailable
	}
}

// A broker that starts on a record that does not answer says so when the first question has failed, not when all have.
func TestStartOnASilentRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if _, err := broker.New(t.Context(), broker.Config{Log: silentLog{logtest.New()}}); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := broker.New(ctx, broker.Config{Log: silentLog{logtest.New()}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("out of time: %v", err)
		}
	})
}
