package broker_test

import (
	"context"
	"errors"
	"testing"

	"assent/broker"
	"assent/internal/hook"
)

// A hook that did not print an allow says so, and it alone: the record has it once, whenever delivery is heard of, and a tool that runs later ran by
// the agent's own prompt.
func TestRefusedByItsHook(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			allowed, denied, waits := r.request("ls", by("token:a", "mine")), r.request("rm", by("token:a", "mine")), r.request("id", by("token:a", "mine"))
			for _, q := range []hook.Request{allowed, denied, waits} {
				r.ask(q)
			}
			r.decide(allowed, allow(allowed))
			r.decide(denied, deny(denied, "no"))
			if restarts {
				followUpsDone()
				r.restartOrKill(true)
			}
			says := func(id, secretHash string, want error) {
				t.Helper()
				if err := r.b.Refused(context.Background(), id, secretHash, "it is not signed"); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", id, err, want)
				}
			}
			says(allowed.ID, "another's", broker.ErrStranger)
			says(allowed.ID, "", broker.ErrStranger)
			says(denied.ID, "mine", broker.ErrStranger)
			says(waits.ID, "mine", broker.ErrStranger)
			says("nobody", "mine", broker.ErrNotFound)
			followUpsDone()
			r.wantSteps(allowed, "asked decided:allowed")
			says(allowed.ID, "mine", nil)
			says(allowed.ID, "mine", nil)
			followUpsDone()
			r.b.Delivered(allowed.ID)
			r.tell("token:a", "PostToolUse", allowed)
			followUpsDone()
			r.wantSteps(allowed, "asked decided:allowed refused")
			v, err := r.b.Get(context.Background(), allowed.ID)
			if err != nil || v.Delivery != broker.Refused || v.Reason != hook.ReasonRefused || v.Failure != "it is not signed" || v.Outcome != hook.Allowed {
				t.Errorf("%+v, %v", v, err)
			}
			r.wantPending(waits)
		})
	}
}
