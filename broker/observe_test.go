package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// The terminal said yes, so the tool ran while the hook waited: one event retires one request,
// the oldest.
func TestToolRanRetiresTheOldest(t *testing.T) {
	for _, kind := range []string{"PostToolUse", "PostToolUseFailure"} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				other, a, b := r.request("other"), r.request("x"), r.request("x")
				r.ask(other)
				wa, wb := r.ask(a), r.ask(b)
				seq := r.observe(kind, a)
				if got := wa.got(); got.Outcome != hook.Withdrawn || got.Reason != hook.ReasonToolRan || got.Fallback != hook.Abstain {
					t.Errorf("answer %+v", got)
				}
				if !wb.waits() {
					t.Error("one event retired two requests")
				}
				recs, _ := r.log.Records(t.Context(), a.ID)
				if recs[1].EventSeq != seq {
					t.Errorf("the record names event %d, want %d", recs[1].EventSeq, seq)
				}
				if s := r.refused(a, allow(a)); s.Outcome != hook.Withdrawn {
					t.Errorf("late decision: %+v", s)
				}
				r.wantPending(other, b)
				r.observe(kind, a)
				r.wantPending(other)
			})
		})
	}
}

func TestToolRanConfirmsBeforeItRetires(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ours, waits := r.request("x"), r.request("x")
		r.ask(ours)
		w := r.ask(waits)
		r.decide(ours, allow(ours))
		seq := r.observe("PostToolUse", ours)
		followUpsDone()
		r.wantSteps(ours, "asked decided:allowed confirmed")
		if !w.waits() {
			t.Fatal("the tool that we allowed retired another request")
		}
		recs, _ := r.log.Records(t.Context(), ours.ID)
		if recs[2].EventSeq != seq {
			t.Errorf("the record names event %d, want %d", recs[2].EventSeq, seq)
		}
		r.observe("PostToolUse", ours) // a surplus one
		r.wantSteps(waits, "asked ended:withdrawn/tool_ran")
	})
}

func TestConfirmedAfterDelivered(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		r.ask(q)
		r.decide(q, allow(q))
		r.b.Delivered(q.ID)
		r.observe("PostToolUse", q)
		r.observe("PostToolBatch", q) // the end of the turn does not lose the notes
		followUpsDone()
		r.wantSteps(q, "asked decided:allowed delivered confirmed")
		if v := r.get(q); v.Delivery != broker.Confirmed {
			t.Errorf("delivery %q", v.Delivery)
		}
	})
}

func TestToolRanWithTheUpdatedInput(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		edited, waits := r.request("x"), r.request("y")
		r.ask(edited)
		w := r.ask(waits)
		d := allow(edited)
		d.UpdatedInput = hook.JSON("y")
		r.decide(edited, d)
		r.observe("PostToolUse", waits) // y ran: that is the edited one
		followUpsDone()
		r.wantSteps(edited, "asked decided:allowed confirmed")
		if !w.waits() {
			t.Error("the edited call retired another request")
		}
	})
}

// The terminal was quicker than an allow with an edited input, or the agent took no notice of the
// edit: the input that ran is not the one that was allowed.
func TestToolRanWithTheInputThatWasEdited(t *testing.T) {
	for _, late := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x")
			r.ask(q)
			d := allow(q)
			d.UpdatedInput = hook.JSON("y")
			if late { // the record comes by after the event
				r.log.PauseTail(true)
			}
			r.decide(q, d)
			r.observe("PostToolUse", q)
			r.log.PauseTail(false)
			followUpsDone()
			r.wantSteps(q, "asked decided:allowed overruled")
			v := r.get(q)
			if v.Delivery != broker.Overruled || v.Outcome != hook.Allowed || v.Reason != broker.ReasonOverruled {
				t.Errorf("%s %s %q", v.Outcome, v.Delivery, v.Reason)
			}
			if !late && !r.operatorHeard("OVERRULED: it was allowed as edited") {
				t.Error("nobody was told")
			}
		})
	}
}

// Of two equal calls one was allowed as edited, and the agent knows it; the other waits. What runs
// as it was asked for is the one that waited: nothing is called overruled that may not be.
func TestToolRanBesideAnEditedOne(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		edited, waits := r.request("x"), r.request("x")
		r.ask(edited)
		w := r.ask(waits)
		d := allow(edited)
		d.UpdatedInput = hook.JSON("y")
		r.decide(edited, d)
		r.b.Delivered(edited.ID)
		followUpsDone()
		r.observe("PostToolUse", waits)
		followUpsDone()
		if w.got().Outcome != hook.Withdrawn {
			t.Error("the waiting request was not retired")
		}
		r.wantSteps(edited, "asked decided:allowed delivered")
		r.observe("PostToolUse", waits) // a second time: now it can only be the edited one
		followUpsDone()
		r.wantSteps(edited, "asked decided:allowed delivered overruled")
	})
}

// TestConfirmedByAFailure: the tool ran all the same, and failed.
func TestConfirmedByAFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for kind, reason := range map[string]string{"PostToolUse": "", "PostToolUseFailure": hook.ReasonFailed} {
			q := r.request("x" + kind)
			r.ask(q)
			r.decide(q, allow(q))
			r.observe(kind, q)
			followUpsDone()
			if v := r.get(q); v.Delivery != broker.Confirmed || v.Reason != reason || v.Outcome != hook.Allowed {
				t.Errorf("after %s: %s %s %q, want the reason %q", kind, v.Outcome, v.Delivery, v.Reason, reason)
			}
		}
	})
}

func TestOverruled(t *testing.T) {
	for _, expired := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			watcher := r.b.Watch("", 0)
			defer watcher.Close()
			watcher.Next(t.Context())
			q := r.request("x", denying, within(10*time.Second))
			r.ask(q)
			decided := "decided:denied"
			if expired {
				time.Sleep(10 * time.Second)
				synctest.Wait()
				decided = "ended:expired/deadline"
			} else {
				r.decide(q, deny(q, "no"))
			}
			r.observe("PostToolUse", q)
			followUpsDone()
			r.wantSteps(q, "asked "+decided+" overruled")
			v := r.get(q)
			if v.Delivery != broker.Overruled || v.Reason != broker.ReasonOverruled {
				t.Errorf("view %+v", v)
			}
			if !expired && v.Outcome != hook.Denied {
				t.Errorf("outcome %q", v.Outcome)
			}
			if !r.operatorHeard("OVERRULED") {
				t.Error("nobody was told")
			}
			shown := false
			for !shown {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				batch, err := watcher.Next(ctx)
				cancel()
				if err != nil {
					t.Fatalf("no watcher was told: %v", err)
				}
				for _, c := range batch.Changes {
					shown = shown || c.View.Delivery == broker.Overruled
				}
			}
		})
	}
}

// A request that waits is likelier the one that ran than one that was denied.
func TestToolRanRetiresBeforeItOverrules(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		denied, waits := r.request("x"), r.request("x")
		r.ask(denied)
		w := r.ask(waits)
		r.decide(denied, deny(denied, "no"))
		r.observe("PostToolUse", waits)
		followUpsDone()
		if w.got().Outcome != hook.Withdrawn {
			t.Error("the waiting request was not retired")
		}
		r.wantSteps(denied, "asked decided:denied")
	})
}

// An expired request was left to the terminal; its tool's end must not retire another.
func TestToolRanSpendsItselfOnAnAbstainedRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		gone, waits := r.request("x", within(time.Second)), r.request("x")
		r.ask(gone)
		w := r.ask(waits)
		time.Sleep(time.Second)
		synctest.Wait()
		r.observe("PostToolUse", gone)
		if !w.waits() {
			t.Fatal("the event was spent on the wrong request")
		}
		r.observe("PostToolUse", gone)
		if w.got().Outcome != hook.Withdrawn {
			t.Error("the surplus event retired nothing")
		}
		followUpsDone()
		r.wantSteps(gone, "asked ended:expired/deadline")
	})
}

func TestWhatProvesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*hook.Event, *hook.Payload)
	}{
		{"spooled", func(e *hook.Event, _ *hook.Payload) { e.Spooled = true }},
		{"unpublished", func(e *hook.Event, _ *hook.Payload) { e.Seq = 0 }},
		{"before the request by sequence", func(e *hook.Event, _ *hook.Payload) { e.Seq = 1 }},
		{"before the request by time", func(e *hook.Event, _ *hook.Payload) { e.Time = e.Time.Add(-time.Second) }},
		{"another session", func(_ *hook.Event, p *hook.Payload) { p.SessionID = "other" }},
		{"no session", func(_ *hook.Event, p *hook.Payload) { p.SessionID = "" }},
		{"another agent", func(_ *hook.Event, p *hook.Payload) { p.AgentID = "sub" }},
		{"another call", func(e *hook.Event, p *hook.Payload) {
			if p.CallKey == "" {
				e.Type, p.Type = "PostToolUse", "PostToolUse"
			}
			p.CallKey = "Bash y"
		}},
		{"no call", func(e *hook.Event, p *hook.Payload) {
			e.Type, p.Type, p.CallKey = "PostToolUse", "PostToolUse", ""
		}},
		{"PreToolUse", func(e *hook.Event, p *hook.Payload) { e.Type, p.Type = "PreToolUse", "PreToolUse" }},
		{"Notification", func(e *hook.Event, p *hook.Payload) { e.Type, p.Type = "Notification", "Notification" }},
		{"SessionStart", func(e *hook.Event, p *hook.Payload) { e.Type, p.Type = "SessionStart", "SessionStart" }},
		{"its own PermissionRequest", func(e *hook.Event, p *hook.Payload) {
			e.Type, p.Type = "PermissionRequest", "PermissionRequest"
		}},
		{"an unknown event", func(e *hook.Event, p *hook.Payload) { e.Type, p.Type = "stop", "stop" }},
	} {
		for _, kind := range []string{"PostToolUse", "Stop", "UserPromptSubmit"} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					q := r.request("x")
					w := r.ask(q)
					ev, p := r.event(kind, q)
					c.change(&ev, &p)
					r.b.Observe(ev, p)
					if !w.waits() {
						t.Errorf("retired: %+v", w.answer)
					}
					r.wantSteps(q, "asked")
					r.observe(kind, q) // the same event unchanged does
					if w.waits() {
						t.Error("this test proves nothing")
					}
				})
			})
		}
	}
}

func TestTurnEndRetiresTheAgentsRequests(t *testing.T) {
	for _, kind := range []string{"Stop", "StopFailure", "SubagentStop", "PostToolBatch", "UserPromptSubmit"} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				a, b := r.request("x"), r.request("y")
				sub := r.request("x", subagent)
				wa, wb, wsub := r.ask(a), r.ask(b), r.ask(sub)
				r.observe(kind, a)
				for _, w := range []*waiting{wa, wb} {
					if got := w.got(); got.Outcome != hook.Withdrawn || got.Reason != hook.ReasonTurnEnded {
						t.Errorf("answer %+v", got)
					}
				}
				if !wsub.waits() {
					t.Error("the main thread's end retired a subagent's request")
				}
				r.wantPending(sub)
				r.observe(kind, sub)
				r.wantPending()
			})
		})
	}
}

func TestSessionEndRetiresAll(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, sub := r.request("x"), r.request("y", subagent)
		foreign := newRequest("f", "other session", "x", r.nextEvent())
		wa, wsub, wf := r.ask(a), r.ask(sub), r.ask(foreign)
		r.observe("SessionEnd", a)
		for _, w := range []*waiting{wa, wsub} {
			if got := w.got(); got.Outcome != hook.Withdrawn || got.Reason != hook.ReasonSession {
				t.Errorf("answer %+v", got)
			}
		}
		if !wf.waits() {
			t.Error("another session's request was retired")
		}
		if n := len(r.b.Sessions()); n != 1 {
			t.Errorf("%d sessions, want the other one", n)
		}
	})
}

// After the turn nothing that was allowed in it can be confirmed any more.
func TestTurnEndForgetsWhatAwaitsProof(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ours := r.request("x")
		r.ask(ours)
		r.decide(ours, allow(ours))
		r.observe("PostToolBatch", ours)
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

// The tool's end is seen while the decision is on its way: the record decides, and the event
// then proves what the record says.
func TestToolRanLosesToADecision(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     func(hook.Request) hook.Decision
		kind  string
		steps string
	}{
		{"allowed", allow, "PostToolUse", "asked decided:allowed confirmed"},
		{"denied", func(q hook.Request) hook.Decision { return deny(q, "") }, "PostToolUse", "asked decided:denied overruled"},
		{"turn ended", allow, "Stop", "asked decided:allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := r.request("x")
				w := r.ask(q)
				r.log.Inject(func(rec hook.Record) logtest.Fault {
					if rec.Step == hook.StepEnded {
						return logtest.Fault{Delay: 100 * time.Millisecond}
					}
					return logtest.Fault{}
				})
				r.observe(c.kind, q)
				r.decide(q, c.d(q))
				if got := w.got(); got.Decision == nil {
					t.Errorf("answer %+v", got)
				}
				time.Sleep(time.Second)
				r.wantSteps(q, c.steps)
			})
		})
	}
}

// Proof that comes while the log is away is recorded when it is back.
func TestProofWithoutALog(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ran, ended, ours := r.request("x"), r.request("y", subagent), r.request("z")
		wr, we := r.ask(ran), r.ask(ended)
		r.ask(ours)
		r.decide(ours, allow(ours))
		r.log.Down(true)
		r.observe("PostToolUse", ran)
		r.observe("SubagentStop", ended)
		r.observe("PostToolUse", ours)
		time.Sleep(20 * time.Second)
		if !wr.waits() || !we.waits() {
			t.Fatal("a hook was answered without a record")
		}
		r.log.Down(false)
		time.Sleep(10 * time.Second)
		r.wantSteps(ran, "asked ended:withdrawn/tool_ran")
		r.wantSteps(ended, "asked ended:withdrawn/turn_ended")
		r.wantSteps(ours, "asked decided:allowed confirmed")
	})
}

// The event comes while asked is still on its way to the log.
func TestToolRanBeforeAskedIsRecorded(t *testing.T) {
	for _, kind := range []string{"PostToolUse", "Stop"} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.log.Inject(func(rec hook.Record) logtest.Fault { return logtest.Fault{Delay: 50 * time.Millisecond} })
			q := r.request("x")
			w := r.ask(q)
			r.observe(kind, q)
			r.log.Inject(nil)
			time.Sleep(time.Second)
			if got := w.got(); got.Outcome != hook.Withdrawn {
				t.Errorf("answer %+v", got)
			}
			r.wantPending()
		})
	}
}

// Two replicas observe the same events; each event is spent once.
func TestOneEventOnTwoReplicas(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cfg := r.cfg
		cfg.SingleReplica = false
		replica := r.open(cfg)
		defer replica.Close()
		ours, waits := r.request("x"), r.request("x")
		r.ask(ours)
		w := r.ask(waits)
		r.decide(ours, allow(ours))
		for i := range 2 {
			ev, p := r.event("PostToolUse", ours)
			r.b.Observe(ev, p)
			followUpsDone()
			replica.Observe(ev, p) // the record of this event is there already
			followUpsDone()
			if i == 0 && !w.waits() {
				t.Fatal("one event was spent twice")
			}
		}
		r.wantSteps(ours, "asked decided:allowed confirmed")
		r.wantSteps(waits, "asked ended:withdrawn/tool_ran")

		again := r.request("x") // both at the same moment
		r.ask(again)
		r.decide(again, allow(again))
		ev, p := r.event("PostToolUse", again)
		r.b.Observe(ev, p)
		replica.Observe(ev, p)
		followUpsDone()
		r.wantSteps(again, "asked decided:allowed confirmed")
	})
}

func TestUnprovenRequestsAreBounded(t *testing.T) {
	t.Run("a session", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			var all []hook.Request
			for i := range 257 {
				q := r.request(fmt.Sprint("x", i))
				all = append(all, q)
				r.ask(q)
				w, err := r.b.Decide(canceled(), q.ID, allow(q), phone)
				if err != nil {
					t.Fatal(w, err)
				}
			}
			synctest.Wait()
			for i, want := range map[int]string{0: "asked decided:allowed", 1: "asked decided:allowed confirmed"} {
				r.observe("PostToolUse", all[i])
				followUpsDone()
				r.wantSteps(all[i], want)
			}
		})
	})
	t.Run("an hour", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x")
			r.ask(q)
			r.decide(q, allow(q))
			time.Sleep(time.Hour + 10*time.Second)
			r.observe("PostToolUse", q)
			followUpsDone()
			r.wantSteps(q, "asked decided:allowed")
		})
	})
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestSessions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		start := time.Now()
		ev, p := r.event("SessionStart", hook.Request{SessionID: "s"})
		p.CWD = "/home/dev"
		ev.Origin.Host = "box"
		r.b.Observe(ev, p)
		time.Sleep(time.Second)
		q := r.request("x")
		w := r.ask(q)
		time.Sleep(time.Second)
		r.observe("Notification", q)
		ev, p = r.event("Stop", hook.Request{SessionID: "s"}) // comes late, out of a spool
		ev.Time, ev.Spooled, p.CWD = start.Add(time.Millisecond), true, "/old"
		r.b.Observe(ev, p)
		got := r.b.Sessions()
		want := broker.SessionView{SessionID: "s", CWD: "/home/dev", Agent: "claude", Origin: hook.Origin{Host: "box"},
			PermissionMode: "default", LastEvent: "Notification", LastEventAt: start.Add(2 * time.Second),
			QueueCount: 1, StartedAt: start}
		if len(got) != 1 || got[0] != want {
			t.Errorf("sessions:\n got %+v\nwant %+v", got, want)
		}
		r.observe("SessionEnd", q)
		w.got()
		if got := r.b.Sessions(); len(got) != 0 {
			t.Errorf("after its end: %+v", got)
		}
		keep := newRequest("k", "busy", "x", r.nextEvent())
		r.ask(keep)
		for i := range 1100 {
			time.Sleep(time.Millisecond)
			r.observe("SessionStart", hook.Request{SessionID: fmt.Sprint("n", i)})
		}
		got = r.b.Sessions()
		ids := map[string]bool{}
		for _, s := range got {
			ids[s.SessionID] = true
		}
		if len(got) != 1000 || !ids["busy"] || !ids["n1099"] || ids["n0"] || got[0].SessionID != "n1099" {
			t.Errorf("%d sessions, busy %v, newest %v, oldest %v", len(got), ids["busy"], ids["n1099"], ids["n0"])
		}
	})
}

func TestObserveAfterClose(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		r.b.Close()
		if err := w.failed(); !errors.Is(err, broker.ErrStopping) {
			t.Errorf("Ask: %v", err)
		}
		r.observe("Stop", q)
		r.wantSteps(q, "asked")
	})
}

// A session is remembered long after its events: it must not keep what is as large as they are.
func TestSessionsKeepNoLongTexts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		ev, p := r.event("Stop", q)
		p.CWD = "/home/dev"
		r.b.Observe(ev, p)
		ev, p = r.event("Stop", q)
		p.CWD, p.PermissionMode = strings.Repeat("/a", 1<<20), strings.Repeat("m", 1<<20)
		r.b.Observe(ev, p)
		if v := r.b.Sessions()[0]; v.CWD != "/home/dev" || v.PermissionMode != "" {
			t.Errorf("kept %d and %d bytes", len(v.CWD), len(v.PermissionMode))
		}
	})
}

// What came in an envelope proves nothing: the agent's own hook may tell of the same call, and the
// second of them would retire another request.
func TestEmittedProvesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.request("x")
		w := r.ask(a)
		for _, kind := range []string{"PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"} {
			ev, p := r.event(kind, a)
			ev.Emitted = true
			r.b.Observe(ev, p)
			synctest.Wait()
		}
		if !w.waits() {
			t.Errorf("answer %+v", w.got())
		}
		r.wantPending(a)
	})
}
