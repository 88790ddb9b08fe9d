package broker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

var ruleA = hook.Approver{Kind: hook.KindRule, ID: "a", Name: "a", File: "/rules.yaml"}

// ruled marks a request as one that rule a answers so.
func ruled(action hook.Action) func(*hook.Request) {
	return func(q *hook.Request) { q.Verdict = &hook.Verdict{Action: action, Rule: "a", File: "/rules.yaml"} }
}

// over is a context that is done.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// seen drains what a watcher has and returns the states in which the request was shown.
func (r *rig) seen(w *broker.Watcher, id string) (states []string) {
	r.t.Helper()
	for {
		synctest.Wait()
		batch, err := w.Next(over())
		if err != nil {
			return states
		}
		if batch.Snapshot != nil {
			for _, v := range batch.Snapshot.Pending {
				if v.ID == id {
					states = append(states, v.State)
				}
			}
		}
		for _, c := range batch.Changes {
			if c.View.ID == id {
				states = append(states, c.View.State)
			}
		}
	}
}

func TestRuleAnswersAndNobodySeesItWait(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.b.Watch("", 0)
		defer w.Close()
		q := r.request("ls", ruled(hook.ActionAllow))
		x, err := r.b.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if p := r.b.Pending(); len(p) != 0 {
			t.Errorf("it waits for everybody to see: %+v", p)
		}
		if err := x.AnswerByRule(allow(q), ruleA); err != nil {
			t.Fatal(err)
		}
		a, err := x.Wait(t.Context())
		if err != nil || a.Outcome != hook.Allowed || a.Decision == nil {
			t.Errorf("the hook gets %+v, %v", a, err)
		}
		r.b.Delivered(q.ID)
		for _, s := range r.seen(w, q.ID) {
			if s != broker.Ended {
				t.Errorf("it was shown as %q", s)
			}
		}
		v, err := r.b.Get(t.Context(), q.ID)
		if err != nil || v.DecidedBy == nil || *v.DecidedBy != ruleA || v.Verdict == nil || v.Verdict.Rule != "a" {
			t.Errorf("view %+v, %v", v, err)
		}
	})
}

func TestRuleAnswerIsNotRecordedSoAPersonIsAsked(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("ls", ruled(hook.ActionAllow))
		x, err := r.b.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.log.Down(true)
		if err := x.AnswerByRule(allow(q), ruleA); !errors.Is(err, broker.ErrUnavailable) {
			t.Fatalf("Rule = %v", err)
		}
		r.log.Down(false)
		if p := r.b.Pending(); len(p) != 1 || p[0].ID != q.ID {
			t.Fatalf("pending %+v", p)
		}
		go func() { _, _ = r.b.Decide(t.Context(), q.ID, allow(q), phone) }()
		if a, err := x.Wait(t.Context()); err != nil || a.Outcome != hook.Allowed {
			t.Errorf("the hook gets %+v, %v", a, err)
		}
		synctest.Wait()
	})
}

func TestKilledBetweenAskedAndTheRulesAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("ls", ruled(hook.ActionAllow))
		if _, err := r.b.Ask(q); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.kill()
		if p := r.b.Pending(); len(p) != 0 {
			t.Fatalf("shown before its hook can have come back: %+v", p)
		}
		x, err := r.b.Ask(q) // the hook comes back, and is evaluated again
		if err != nil {
			t.Fatal(err)
		}
		if err := x.AnswerByRule(allow(q), ruleA); err != nil {
			t.Fatal(err)
		}
		if a, err := x.Wait(t.Context()); err != nil || a.Outcome != hook.Allowed {
			t.Errorf("the hook gets %+v, %v", a, err)
		}
	})
}

func TestKilledAndTheRulesSayOtherwiseByNow(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("ls", ruled(hook.ActionAllow))
		if _, err := r.b.Ask(q); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.kill()
		again := q
		again.Verdict = nil
		if _, err := r.b.Ask(again); err != nil {
			t.Fatal(err)
		}
		if p := r.b.Pending(); len(p) != 1 || p[0].Detached {
			t.Errorf("pending %+v, want it to wait for a person", p)
		}
	})
}

func TestKilledAndTheHookStaysAway(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("ls", ruled(hook.ActionDeny))
		if _, err := r.b.Ask(q); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.kill()
		time.Sleep(6 * time.Second) // virtual
		synctest.Wait()
		if p := r.b.Pending(); len(p) != 1 || !p[0].Detached {
			t.Errorf("pending %+v, want the request that nobody answered", p)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if v, err := r.b.Get(t.Context(), q.ID); err != nil || v.Outcome != hook.Withdrawn {
			t.Errorf("view %+v, %v", v, err)
		}
	})
}

func TestRuleLosesToTheHangUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("ls", ruled(hook.ActionAllow))
		x, err := r.b.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Wait(over()); err == nil {
			t.Fatal("an answer out of nowhere")
		}
		synctest.Wait()
		if err := x.AnswerByRule(allow(q), ruleA); !errors.Is(err, broker.ErrSettled) {
			t.Errorf("Rule = %v, want that it is over", err)
		}
		if v, err := r.b.Get(t.Context(), q.ID); err != nil || v.Outcome != hook.Withdrawn {
			t.Errorf("view %+v, %v", v, err)
		}
	})
}
