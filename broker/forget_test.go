package broker_test

import (
	"testing"

	"assent/internal/hook"
)

// A session is forgotten with the answers that still wait for proof, but not while a request of
// it is pending.
func TestForget(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		answered, waits := r.request("answered"), r.request("waits")
		w, other := r.ask(answered), r.ask(waits)
		r.decide(answered, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: answered.InputSHA256})
		w.got()
		r.b.Forget("s")
		if n := len(r.b.Sessions()); n != 1 {
			t.Fatalf("%d sessions while a request is pending", n)
		}
		r.decide(waits, hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: waits.InputSHA256, Message: "no"})
		other.got()
		r.b.Forget("s")
		if got := r.b.Sessions(); len(got) != 0 {
			t.Errorf("still known: %+v", got)
		}
		r.observe("PostToolUse", answered) // proof that comes too late
		r.wantSteps(answered, "asked decided:allowed")
		r.ask(r.request("next"))
		if got := r.b.Sessions(); len(got) != 1 || got[0].QueueCount != 1 {
			t.Errorf("after a new request: %+v", got)
		}
	})
}
