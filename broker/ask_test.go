package broker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

func TestAskAllow(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("touch x")
		w := r.ask(q)
		r.wantPending(q)
		if !w.waits() {
			t.Fatal("the hook was answered before anybody decided")
		}
		r.b.Delivered(q.ID) // nothing was: a premature call must not be recorded
		v := r.decide(q, allow(q))
		if v.Outcome != hook.Allowed || v.DecidedBy == nil || *v.DecidedBy != phone {
			t.Errorf("Decide's view: %+v", v)
		}
		a := w.got()
		if a.Outcome != hook.Allowed || a.Decision == nil || a.Decision.Behavior != hook.BehaviorAllow {
			t.Errorf("answer %+v", a)
		}
		r.wantPending()
		r.wantSteps(q, "asked decided:allowed")
		r.b.Delivered(q.ID)
		r.b.Delivered(q.ID)
		followUpsDone()
		r.wantSteps(q, "asked decided:allowed delivered")
		if v := r.get(q); v.Delivery != broker.Delivered || string(v.Raw) != string(q.Raw) {
			t.Errorf("Get: %+v", v)
		}
	})
}

func TestAskDenyKeepsTheWords(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("touch x")
		w := r.ask(q)
		r.decide(q, deny(q, "not on a Friday"))
		if a := w.got(); a.Outcome != hook.Denied || a.Decision.Message != "not on a Friday" {
			t.Errorf("answer %+v", a)
		}
	})
}

func TestAskNeedsAnID(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		q.ID = ""
		if _, err := askAndWait(t.Context(), r.b, q); err == nil {
			t.Error("a request without id was taken")
		}
		if r.log.Len() != 0 {
			t.Error("and recorded")
		}
	})
}

func TestIdenticalRequestsAreNotMerged(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, b := r.request("touch x"), r.request("touch x")
		b.PayloadSHA256 = a.PayloadSHA256 // byte for byte the same
		wa, wb := r.ask(a), r.ask(b)
		r.wantPending(a, b)
		r.decide(a, allow(a))
		if wa.got().Outcome != hook.Allowed || !wb.waits() {
			t.Error("a decision answered another request")
		}
	})
}

// To look at what waits copies nothing.
func TestEachPending(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, b, over := r.request("a"), r.request("b"), r.request("c")
		for _, q := range []hook.Request{a, b, over} {
			r.ask(q)
		}
		r.wantPending(a, b, over)
		r.decide(over, allow(over))
		ids := map[string]bool{}
		r.b.EachPending(func(v *broker.View) { ids[v.ID] = true })
		if len(ids) != 2 || !ids[a.ID] || !ids[b.ID] {
			t.Errorf("%v wait", ids)
		}
		n := 0
		count := func(*broker.View) { n++ }
		if made := testing.AllocsPerRun(10, func() { r.b.EachPending(count) }); made > 0 || n == 0 {
			t.Errorf("%v allocations, %d seen", made, n)
		}
	})
}

func TestSameIDAttaches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		first, second := r.ask(q), r.ask(q)
		r.wantSteps(q, "asked")
		first.hangUp()
		if err := first.failed(); !errors.Is(err, context.Canceled) {
			t.Errorf("Ask after the hang-up: %v", err)
		}
		r.wantPending(q) // another hook still waits
		third := r.ask(q)
		r.decide(q, allow(q))
		if second.got().Outcome != hook.Allowed || third.got().Outcome != hook.Allowed {
			t.Error("an attached hook did not get the answer")
		}
		if late := r.ask(q).got(); late.Outcome != hook.Allowed { // over: at once
			t.Errorf("late hook got %+v", late)
		}
		r.observe("Stop", q) // leaves memory
		if late := r.ask(q).got(); late.Outcome != hook.Allowed || late.Decision == nil {
			t.Errorf("hook after the request left memory got %+v", late)
		}
		r.wantPending()
		r.wantSteps(q, "asked decided:allowed")
	})
}

func TestSameIDWithAnotherPayloadIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		other := q
		other.PayloadSHA256, other.ToolInput = "other", hook.JSON("rm -rf ~")
		if err := r.ask(other).failed(); !errors.Is(err, broker.ErrReused) {
			t.Errorf("other payload, in memory: %v", err)
		}
		r.decide(q, allow(q))
		w.got()
		if err := r.ask(other).failed(); !errors.Is(err, broker.ErrReused) {
			t.Errorf("other payload, settled: %v", err)
		}
		r.observe("Stop", q)
		if err := r.ask(other).failed(); !errors.Is(err, broker.ErrReused) {
			t.Errorf("other payload, out of memory: %v", err)
		}
		r.wantPending()
	})
}

// A replica's request with the same id must not answer a hook with another payload, not even
// while our memory has not heard of it.
func TestReusedIDOfAnotherReplica(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cfg := r.cfg
		cfg.SingleReplica = false
		replica := r.open(cfg)
		defer replica.Close()
		q := r.request("x")
		other := q
		other.PayloadSHA256, other.Raw, other.SessionID = "other", []byte("other"), "s2"
		r.log.Inject(func(rec hook.Record) logtest.Fault {
			if rec.Request != nil && rec.Request.PayloadSHA256 == "other" {
				return logtest.Fault{Delay: 100 * time.Millisecond} // the replica's comes first
			}
			return logtest.Fault{}
		})
		w := askOn(t, r.b, other)
		synctest.Wait()
		wq := askOn(t, replica, q)
		synctest.Wait()
		if v := r.get(q); string(v.Raw) != string(q.Raw) || v.SessionID != "s" {
			t.Errorf("approvers are shown %q", v.Raw)
		}
		if _, err := replica.Decide(t.Context(), q.ID, allow(q), phone); err != nil {
			t.Fatal(err)
		}
		wq.got()
		time.Sleep(time.Second)
		if err := w.failed(); !errors.Is(err, broker.ErrReused) {
			t.Errorf("hook with the other payload: %v", err)
		}
	})
}

// Nor does what came here under its id, and was refused, say anything about it: approvers see it here,
// may decide it here, and nobody withdraws it.
func TestReusedIDThatIsNotHeldHere(t *testing.T) {
	for _, c := range []struct {
		name string
		come func(b *broker.Broker, other hook.Request) error
	}{
		{"handed back", func(b *broker.Broker, other hook.Request) error {
			return b.HandBack(context.Background(), other, hook.ReasonTooLarge)
		}},
		{"asked", func(b *broker.Broker, other hook.Request) error {
			_, err := b.Ask(other)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.cfg.SingleReplica = false
				r.restart()
				replica := r.open(r.cfg)
				defer replica.Close()
				q := r.request("x")
				other := q
				other.PayloadSHA256, other.Raw, other.SessionID = "other", nil, "s2"
				r.log.Inject(func(rec hook.Record) (f logtest.Fault) {
					if rec.Request != nil && rec.Request.PayloadSHA256 == "other" {
						f.Delay = 100 * time.Millisecond // the replica's comes first
					}
					return f
				})
				came := make(chan error, 1)
				go func() { came <- c.come(r.b, other) }()
				synctest.Wait()
				wq := askOn(t, replica, q)
				if err := <-came; !errors.Is(err, broker.ErrReused) {
					t.Fatalf("the other payload: %v", err)
				}
				time.Sleep(time.Minute)
				r.wantPending(q)
				if _, err := r.b.Decide(t.Context(), q.ID, allow(q), phone); err != nil {
					t.Fatal(err)
				}
				wq.got()
				r.wantSteps(q, "asked decided:allowed")
			})
		})
	}
}

func TestHangUp(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(*hook.Request)
	}{{"socket", func(*hook.Request) {}}, {"plain", plain}} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := r.request("x", c.with)
				w := r.ask(q)
				before := time.Now()
				w.hangUp()
				w.failed()
				r.wantSteps(q, "asked ended:withdrawn/hangup")
				r.wantPending()
				if d := time.Since(before); d != 0 {
					t.Errorf("withdrawn after %v, want at once", d)
				}
				if s := r.refused(q, allow(q)); s.Outcome != hook.Withdrawn || s.Reason != hook.ReasonHangup {
					t.Errorf("late decision: %+v", s)
				}
			})
		})
	}
}

func TestRemoteHangUpDetaches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", remote)
		w := r.ask(q)
		w.hangUp()
		w.failed()
		r.wantPending(q)
		if !r.get(q).Detached {
			t.Error("the card does not say that the hook is away")
		}
		time.Sleep(15*time.Second - 1)
		r.wantPending(q)
		back := r.ask(q)
		if r.get(q).Detached {
			t.Error("still detached after the hook came back")
		}
		time.Sleep(time.Minute)
		r.wantPending(q)
		back.hangUp()
		synctest.Wait()
		time.Sleep(15*time.Second - 1)
		r.wantPending(q)
		time.Sleep(time.Nanosecond)
		r.wantSteps(q, "asked ended:withdrawn/detached")
		r.wantPending()
	})
}

// The hook comes back before its departure could be recorded: then it has not left.
func TestBackBeforeTheDepartureIsRecorded(t *testing.T) {
	for name, with := range map[string]func(*hook.Request){"socket": func(*hook.Request) {}, "remote": remote} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := r.request("x", with)
				w := r.ask(q)
				r.log.Down(true)
				w.hangUp()
				time.Sleep(time.Minute)
				back := r.ask(q)
				r.log.Down(false)
				time.Sleep(time.Minute)
				r.wantPending(q)
				r.decide(q, allow(q))
				if back.got().Outcome != hook.Allowed {
					t.Error("wrong answer")
				}
				r.wantSteps(q, "asked decided:allowed")
			})
		})
	}
}

// A request decided while its hook is away is recorded at once, and the hook gets it.
func TestDecidedWhileDetached(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", remote)
		w := r.ask(q)
		w.hangUp()
		w.failed()
		before := time.Now()
		if v := r.decide(q, allow(q)); v.Delivery != broker.Recorded {
			t.Errorf("delivery %q", v.Delivery)
		}
		if time.Since(before) != 0 {
			t.Error("Decide waited for a hook that is not there")
		}
		if a := r.ask(q).got(); a.Outcome != hook.Allowed {
			t.Errorf("hook that came back got %+v", a)
		}
	})
}

// What a closed connection means is a matter of the connection that closes.
func TestChannelOfTheLastConnectionCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", remote)
		w := r.ask(q)
		over := q
		over.Channel = hook.ChannelSocket
		w2 := r.ask(over)
		w.hangUp()
		r.wantPending(q)
		w2.hangUp()
		r.wantSteps(q, "asked ended:withdrawn/hangup")
	})
}

func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(*hook.Request)
		want hook.Fallback
	}{{"abstain", func(*hook.Request) {}, hook.Abstain}, {"deny", denying, hook.Deny}} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := r.request("x", within(10*time.Second), c.with)
				w := r.ask(q)
				time.Sleep(10*time.Second - 1)
				if !w.waits() {
					t.Fatal("answered before the deadline")
				}
				time.Sleep(time.Nanosecond)
				a := w.got()
				if a.Outcome != hook.Expired || a.Fallback != c.want || a.Decision != nil {
					t.Errorf("answer %+v", a)
				}
				r.wantSteps(q, "asked ended:expired/deadline")
				if s := r.refused(q, allow(q)); s.Outcome != hook.Expired {
					t.Errorf("late decision: %+v", s)
				}
				if a := r.ask(q).got(); a.Outcome != hook.Expired || a.Fallback != c.want {
					t.Errorf("late hook: %+v", a)
				}
			})
		})
	}
}

// A hook goes when its time is up. On a machine that was held up the broker may see that before it
// sees the deadline, which lies earlier: the request has expired all the same.
func TestHangupAtTheDeadline(t *testing.T) {
	for range 50 { // either may come first
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x", within(10*time.Second))
			w := askOn(t, r.b, q)
			time.Sleep(10 * time.Second)
			w.hangUp()
			r.wantSteps(q, "asked ended:expired/deadline")
		})
	}
}

// The decision is on its way to the log when the deadline passes: whichever is recorded first
// is what the hook gets.
func TestDeadlineLosesToADecision(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", within(10*time.Second))
		w := r.ask(q)
		r.log.Inject(func(rec hook.Record) logtest.Fault {
			if rec.Step == hook.StepEnded {
				return logtest.Fault{Delay: 300 * time.Millisecond}
			}
			return logtest.Fault{}
		})
		time.Sleep(10*time.Second + 100*time.Millisecond)
		r.decide(q, allow(q))
		if a := w.got(); a.Outcome != hook.Allowed {
			t.Errorf("answer %+v", a)
		}
		time.Sleep(time.Minute)
		r.wantSteps(q, "asked decided:allowed")
	})
}

// The agent does not wait for our log. It gets the fallback in time, nothing else can be
// decided here any more, and the record follows when it can.
func TestDeadlineWithoutALog(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", denying)
		w := r.ask(q)
		r.log.Down(true)
		time.Sleep(588*time.Second + time.Second - 1)
		if !w.waits() {
			t.Fatal("answered without a record before it had to be")
		}
		time.Sleep(time.Nanosecond)
		if a := w.got(); a.Outcome != hook.Expired || a.Fallback != hook.Deny {
			t.Fatalf("answer %+v", a)
		}
		if !r.operatorHeard("without a record") {
			t.Error("the operator was not told")
		}
		if a := r.ask(q).got(); a.Fallback != hook.Deny { // the client tries again
			t.Errorf("second hook: %+v", a)
		}
		r.b.Delivered(q.ID)
		r.log.Down(false)
		if s := r.refused(q, allow(q)); s.Outcome != hook.Expired {
			t.Errorf("a decision after the answer: %+v", s)
		}
		time.Sleep(10 * time.Second)
		r.wantSteps(q, "asked ended:expired/deadline")
		r.wantPending()
	})
}

// Where others share the record, one of them may have recorded a decision about a request whose hook had to be answered
// without a record: who decides it here is told that nobody knows, not that it has expired.
func TestDecideWhatWasAnsweredWithoutALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.New()
		b, err := broker.New(t.Context(), broker.Config{Log: shared{Log: log}})
		if err != nil {
			t.Fatal(err)
		}
		q := newRequest("00000001-0000-4000-8000-000000000000", "s", "x", 1)
		q.Deadline = q.CreatedAt.Add(time.Minute)
		w := askOn(t, b, q)
		synctest.Wait()
		log.Down(true)
		time.Sleep(2 * time.Minute)
		if w.waits() || w.answer.Outcome != hook.Expired {
			t.Fatalf("the hook got %+v, %v", w.answer, w.err)
		}
		if _, err := b.Decide(t.Context(), q.ID, allow(q), phone); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("a decision: %v", err)
		}
		_ = b.Close()
	})
}

// A short deadline leaves less room before the agent's own.
func TestShortDeadlineWithoutALog(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", within(900*time.Millisecond)) // of an agent's 1 s
		w := r.ask(q)
		r.log.Down(true)
		time.Sleep(999 * time.Millisecond)
		if a := w.got(); a.Outcome != hook.Expired {
			t.Errorf("answer %+v", a)
		}
	})
}

func TestAskWithoutALog(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.log.Down(true)
		q := r.request("x")
		if err := r.ask(q).failed(); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("Ask: %v", err)
		}
		r.log.Down(false)
		r.wantPending()
		r.decide(q2asked(r, q), allow(q)) // the client's next attempt works
	})
}

func q2asked(r *rig, q hook.Request) hook.Request { r.ask(q); return q }

// A log that is late, for a crowd or a slow disk, is waited for; what never answers is not.
func TestAskOnASlowLogIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.log.Inject(func(hook.Record) logtest.Fault { return logtest.Fault{Delay: time.Hour} })
		before := time.Now()
		w := r.ask(r.request("x"))
		time.Sleep(time.Minute)
		if err := w.failed(); !errors.Is(err, broker.ErrUnavailable) || w.at.Sub(before) > time.Minute {
			t.Errorf("Ask: %v after %v", err, w.at.Sub(before))
		}
	})
}

// asked was recorded, its acknowledgement lost, and the look for it too.
func TestAskedAckLostBlind(t *testing.T) {
	blind := func(hook.Record) logtest.Fault { return logtest.Fault{LoseAck: true, Blind: true} }
	t.Run("the tail knows better", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x")
			r.log.Inject(func(rec hook.Record) logtest.Fault {
				r.log.Inject(nil)
				if _, err := r.log.Append(t.Context(), rec, 0); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond) // the tail brings it
				return logtest.Fault{Err: broker.ErrUnavailable}
			})
			w := r.ask(q)
			r.wantPending(q)
			r.decide(q, allow(q))
			if w.got().Outcome != hook.Allowed {
				t.Error("the hook did not get the answer")
			}
		})
	})
	t.Run("nobody knows", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.log.PauseTail(true)
			r.log.Inject(blind)
			q := r.request("x")
			if err := r.ask(q).failed(); !errors.Is(err, broker.ErrUnavailable) {
				t.Fatal(err)
			}
			r.log.Inject(nil)
			r.log.PauseTail(false)
			// Its hook was sent away: nobody shall be asked to decide it.
			r.wantSteps(q, "asked ended:withdrawn/hangup")
			r.wantPending()
		})
	})
}

func TestHandBack(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.b.Watch("", 0)
		defer w.Close()
		w.Next(t.Context())
		q := r.request("x")
		q.Raw = nil
		for range 2 { // the second is a client that tries again
			if err := r.b.HandBack(t.Context(), q, hook.ReasonTooLarge); err != nil {
				t.Fatal(err)
			}
			r.wantSteps(q, "asked/too_large ended:handed_back/too_large")
		}
		batch, err := w.Next(t.Context())
		if err != nil || len(batch.Changes) != 1 || batch.Changes[0].View.Outcome != hook.HandedBack {
			t.Errorf("watcher saw %+v, %v; want the end alone", batch.Changes, err)
		}
		if a := r.ask(q).got(); a.Outcome != hook.HandedBack || a.Fallback != hook.Abstain {
			t.Errorf("hook with that id: %+v", a)
		}
		r.observe("Stop", q) // leaves memory
		if err := r.b.HandBack(t.Context(), q, hook.ReasonTooLarge); err != nil {
			t.Errorf("third attempt: %v", err)
		}
		q.PayloadSHA256 = "other"
		if err := r.b.HandBack(t.Context(), q, hook.ReasonTooLarge); !errors.Is(err, broker.ErrReused) {
			t.Errorf("other payload: %v", err)
		}
		r.wantPending()
		r.log.Down(true)
		if err := r.b.HandBack(t.Context(), r.request("y"), hook.ReasonTooLarge); !errors.Is(err, broker.ErrUnavailable) {
			t.Errorf("without a log: %v", err)
		}
	})
}

// A broker killed between the two records of a request that was handed back leaves none that
// could be approved: nobody has seen its input, and its hook has gone.
func TestHandBackCutOff(t *testing.T) {
	for i, reason := range []string{hook.ReasonTooLarge, hook.ReasonPaused, hook.ReasonNobody} {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x", remote)
			q.Raw = nil
			if reason == hook.ReasonTooLarge {
				q.ToolInput = nil
			}
			r.log.Inject(func(rec hook.Record) (f logtest.Fault) {
				if rec.Step == hook.StepEnded {
					f.Err = broker.ErrUnavailable
				}
				return f
			})
			if err := r.b.HandBack(t.Context(), q, reason); err != nil {
				t.Fatal(err)
			}
			r.cfg.SingleReplica = i%2 == 0
			r.kill()
			r.wantPending()
			if s := r.refused(q, allow(q)); s.Outcome != hook.HandedBack {
				t.Errorf("refused with %+v", s)
			}
			r.log.Inject(nil)
			time.Sleep(10 * time.Second) // the next attempt
			r.wantSteps(q, "asked/"+reason+" ended:handed_back/"+reason)
		})
	}
}

// Not even in the moment before the tail brings the first of the two records.
func TestHandedBackCannotBeDecided(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.log.Inject(func(rec hook.Record) (f logtest.Fault) {
			if rec.Step == hook.StepEnded {
				f.Delay = 100 * time.Millisecond
			}
			return f
		})
		r.log.PauseTail(true)
		q := r.request("x")
		q.Raw = nil
		if err := r.b.HandBack(t.Context(), q, hook.ReasonTooLarge); err != nil {
			t.Fatal(err)
		}
		r.refused(q, allow(q))
		r.log.PauseTail(false)
		time.Sleep(time.Second)
		r.wantSteps(q, "asked/too_large ended:handed_back/too_large")
	})
}
