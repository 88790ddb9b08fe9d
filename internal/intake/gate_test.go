package intake_test

import (
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/intake"
)

// A call of Droid's that only reads goes by, and asks nobody, unless a rule denies it or wants a person asked.
func TestGate(t *testing.T) {
	rules := func(req *hook.Request, input hook.JSON) hook.Verdict {
		switch {
		case strings.Contains(string(input), "secret"):
			return hook.Verdict{Action: hook.ActionDeny, Rule: "secret", Message: "not that"}
		case strings.Contains(string(input), "odd"):
			return hook.Verdict{Action: hook.ActionAsk, Rule: "odd"}
		}
		return hook.Verdict{Action: hook.ActionAsk}
	}
	read := func(path string) intake.Arrival {
		a := arrival(`{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"` + path + `"}}`)
		a.Event.Agent, a.Event.Type = "droid", "PreToolUse"
		return a
	}
	inBubble(t, intake.Config{Rules: rules}, func(t *testing.T, r *rig) {
		printed := ""
		a := read("/w/a")
		a.Print = func(out []byte) { printed += string(out) }
		if p, err := r.in.Handle(t.Context(), a); p != nil || err != nil || printed != "{}" {
			t.Errorf("%v, %v, printed %q", p, err, printed)
		}
		p := r.pending(read("/w/secret"))
		r.wants(p, hook.Denied, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not that"}}`)
		odd := r.pending(read("/w/odd"))
		if odd.Answered() {
			t.Error("nobody was asked")
		}
		odd.Close()
		var got []string
		for _, e := range r.published {
			got = append(got, e.NativeType+" "+e.Type)
		}
		if want := " PreToolUse,PreToolUse PermissionRequest,PreToolUse PermissionRequest"; strings.Join(got, ",") != want {
			t.Errorf("published %q, want %q", strings.Join(got, ","), want)
		}
	})
	inBubble(t, intake.Config{}, func(t *testing.T, r *rig) {
		a, printed := read("/w/secret"), ""
		a.Print = func(out []byte) { printed = string(out) }
		if p, err := r.in.Handle(t.Context(), a); p != nil || err != nil || printed != "{}" {
			t.Errorf("without rules: %v, %v, printed %q", p, err, printed)
		}
	})
}
