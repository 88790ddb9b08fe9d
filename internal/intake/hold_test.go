package intake_test

import (
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/intake"
)

func ofCodex(a intake.Arrival) intake.Arrival {
	a.Event.Agent, a.Timeout = "codex", 24*time.Hour
	return a
}

// Whoever sits at the terminal of an agent that shows no prompt meanwhile is not locked out for long, and
// not at all where nobody can be told.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  intake.Config
		in   time.Duration
	}{
		{"by default", intake.Config{}, 10 * time.Minute},
		{"as told", intake.Config{Hold: 8 * time.Hour}, 8 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, c.cfg, func(t *testing.T, r *rig) {
				p := r.pending(ofCodex(arrival(payload("PermissionRequest", "Bash"))))
				start := time.Now()
				r.wants(p, hook.Expired, "")
				if waited := time.Since(start); waited != c.in {
					t.Errorf("it waited %s", waited)
				}
				q := r.pending(arrival(payload("PermissionRequest", "Bash"))) // Claude Code's prompt is up
				start = time.Now()
				r.wants(q, hook.Expired, "")
				if waited := time.Since(start); waited != 588*time.Second {
					t.Errorf("Claude Code's waited %s", waited)
				}
			})
		})
	}
}

func TestNobodyThere(t *testing.T) {
	there := false
	rules := func(req *hook.Request, _ hook.JSON) hook.Verdict {
		if req.CWD == "/denied" {
			return hook.Verdict{Action: hook.ActionDeny, Rule: "r", Message: "no"}
		}
		return hook.Verdict{Action: hook.ActionAsk}
	}
	inBubble(t, intake.Config{Reachable: func() bool { return there }, Rules: rules}, func(t *testing.T, r *rig) {
		p := r.pending(ofCodex(arrival(payload("PermissionRequest", "Bash"))))
		if !p.Answered() {
			t.Error("it waits for nobody")
		}
		r.wants(p, hook.HandedBack, "")
		if v, err := r.b.Get(t.Context(), p.ID()); err != nil || v.Outcome != hook.HandedBack || v.Reason != hook.ReasonNobody || len(v.ToolInput) == 0 {
			t.Errorf("%+v, %v", v, err)
		}

		a := ofCodex(arrival(`{"session_id":"s","cwd":"/denied","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`))
		r.wants(r.pending(a), hook.Denied, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`)

		q := r.pending(arrival(payload("PermissionRequest", "Bash")))
		if q.Answered() {
			t.Error("Claude Code's own prompt is up, and it was handed back")
		}

		there = true
		a = ofCodex(arrival(payload("PermissionRequest", "Bash")))
		a.ReattachSHA256 = "secret"
		w := r.pending(a)
		there = false
		a.Event.Attempt = 2
		again := r.pending(a) // its hook lost its connection, and comes back to what waits
		v, err := r.b.Get(t.Context(), w.ID())
		if err != nil || again.Answered() {
			t.Fatal(again.Answered(), err)
		}
		if _, err := r.b.Decide(over(), w.ID(), hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: v.InputSHA256}, hook.Approver{Kind: "token"}); err != nil {
			t.Fatal(err)
		}
		r.wants(w, hook.Allowed, allowed)
		r.wants(again, hook.Allowed, allowed)
		q.Close()
	})
}
