package broker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// TestFormEndsWithItsHook: the hook of a form does not come back, so once it has gone nobody is
// asked any more, and no answer is recorded that would reach nobody.
func TestFormEndsWithItsHook(t *testing.T) {
	for _, how := range []struct {
		name, want string
		do         func(*rig, *waiting)
	}{
		{"hang-up", "asked ended:withdrawn/hangup", func(_ *rig, w *waiting) { w.hangUp() }},
		{"close", "asked ended:withdrawn/detached", func(r *rig, _ *waiting) { r.restart() }},
		{"kill", "asked ended:withdrawn/detached", func(r *rig, _ *waiting) { r.kill() }},
	} {
		t.Run(how.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q, call := r.request("form", form, remote), r.request("call", remote)
				w := r.ask(q)
				r.ask(call)
				how.do(r, w)
				r.wantPending(call)
				r.wantSteps(q, how.want)
				if why := r.refused(q, allow(q)); why.Outcome != hook.Withdrawn {
					t.Errorf("answered all the same: %v", why)
				}
			})
		})
	}
}

// TestFormWithoutItsHookTakesNoAnswer, also while its end cannot be recorded.
func TestFormWithoutItsHookTakesNoAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("form", form, remote)
		w := r.ask(q)
		r.log.Down(true)
		w.hangUp()
		synctest.Wait()
		if why := r.refused(q, allow(q)); why.Outcome != hook.Withdrawn {
			t.Errorf("answered all the same: %v", why)
		}
		r.log.Down(false)
		time.Sleep(10 * time.Second)
		r.wantSteps(q, "asked ended:withdrawn/hangup")
	})
}
