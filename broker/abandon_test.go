package broker_test

import (
	"testing"

	"assent/internal/hook"
)

// What nobody can be told of any more is left to the agent's own prompt, once.
func TestAbandon(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x")
		w := r.ask(q)
		if err := r.b.Abandon(q.ID, "another"); err == nil {
			t.Error("another input was handed back")
		}
		if err := r.b.Abandon(q.ID, q.InputSHA256); err != nil {
			t.Fatal(err)
		}
		if got := w.got(); got.Outcome != hook.HandedBack || got.Reason != hook.ReasonNobody || got.Decision != nil {
			t.Errorf("%+v", got)
		}
		r.wantSteps(q, "asked ended:handed_back/nobody_there")
		if err := r.b.Abandon(q.ID, q.InputSHA256); err == nil {
			t.Error("it ended twice")
		}
	})
}
