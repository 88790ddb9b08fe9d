package broker_test

import (
	"testing"

	"assent/broker"
	"assent/internal/hook"
)

// Of an agent that shows no prompt of its own meanwhile, no event ends a request that waits: nobody can
// have answered it, and the turn of its session may go on without it. Its hook's end does.
func TestEventsEndNothingWithoutARace(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.b.Close()
		r.cfg.Races = func(agent string) bool { return agent != "other" }
		r.b = r.open(r.cfg)
		other := func(q *hook.Request) { q.Agent = "other" }
		q, racing := r.request("x", other), r.request("y")
		w, wr := r.ask(q), r.ask(racing)
		for _, kind := range []string{"PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "Stop", "StopFailure", "SubagentStop", "SessionEnd"} {
			r.observe(kind, q)
			if !w.waits() {
				t.Fatalf("%s ended it: %+v", kind, w.answer)
			}
		}
		if got := wr.got(); got.Outcome != hook.Withdrawn {
			t.Errorf("the one whose prompt was up: %+v", got)
		}
		r.decide(q, allow(q))
		if got := w.got(); got.Outcome != hook.Allowed {
			t.Errorf("%+v", got)
		}
		gone := r.request("z", other)
		wg := r.ask(gone)
		wg.hangUp()
		r.wantSteps(gone, "asked ended:withdrawn/hangup")
		if v := r.get(gone); v.State != broker.Ended {
			t.Error(v.State)
		}
	})
}
