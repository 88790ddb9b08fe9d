package history

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/text/digest"
)

// What counts is the same input of the same tool in the same project, allowed by a person and as it was
// asked for.
func TestAllowed(t *testing.T) {
	r := newRig(t)
	r.cfg.Forget = func(context.Context, []uint64, []string, func(hook.Event) bool) error { return nil }
	h := r.start()
	asked := func(session, root, tool, input string) *hook.Request {
		return &hook.Request{
			ID: uuid.NewString(), SessionID: session, CWD: root, ToolName: tool, ToolInput: hook.JSON(input), InputSHA256: digest.Of([]byte(input)), Agent: "claude",
			Raw: fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PermissionRequest","tool_name":%q,"tool_input":%s}`, session, tool, input), CreatedAt: time.Now(), EventTime: time.Now(),
		}
	}
	settled := func(q *hook.Request, kind string, d hook.Decision, o hook.Outcome) {
		q.EventSeq = r.publish(hook.Event{ID: q.ID, Type: "PermissionRequest", Raw: q.Raw})
		at := r.append(hook.Record{RequestID: q.ID, Step: hook.StepAsked, Request: q}, 0)
		r.append(hook.Record{RequestID: q.ID, Step: hook.StepDecided, Outcome: o, Decision: &d, By: &hook.Approver{Kind: kind, ID: "a", Name: "a"}}, at)
	}
	const test = `{"command":"npm test"}`
	yes := hook.Decision{Behavior: hook.BehaviorAllow}
	settled(asked("one", "/srv/shop", "Bash", test), "device", yes, hook.Allowed)
	settled(asked("two", "/srv/shop/.claude/worktrees/a", "Bash", test), "owner-cli", yes, hook.Allowed)
	settled(asked("two", "/srv/shop", "Bash", test), "token", yes, hook.Allowed)
	settled(asked("two", "/srv/shop", "Bash", test), hook.KindRule, yes, hook.Allowed)
	settled(asked("two", "/srv/shop", "Bash", test), "device", hook.Decision{Behavior: hook.BehaviorDeny}, hook.Denied)
	settled(asked("two", "/srv/shop", "Bash", test), "device", hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(`{"command":"npm run lint"}`)}, hook.Allowed)
	r.catchUp()
	all := func(when string, want int) {
		t.Helper()
		for _, c := range []struct {
			name string
			q    *hook.Request
			want int
		}{
			{"the same", asked("x", "/srv/shop", "Bash", test), want},
			{"in a work tree of the project", asked("x", "/srv/shop/.claude/worktrees/b", "Bash", test), want},
			{"another project", asked("x", "/srv/other", "Bash", test), 0},
			{"another tool", asked("x", "/srv/shop", "Shell", test), 0},
			{"another input", asked("x", "/srv/shop", "Bash", `{"command":"npm test "}`), 0},
			{"what was allowed in another's place", asked("x", "/srv/shop", "Bash", `{"command":"npm run lint"}`), 0},
			{"no digest", &hook.Request{ToolName: "Bash", CWD: "/srv/shop"}, 0},
		} {
			if got := h.Allowed(c.q); got != c.want {
				t.Errorf("%s, %s: %d, want %d", when, c.name, got, c.want)
			}
		}
	}
	all("live", 2)
	r.halt()
	h = r.start()
	r.catchUp()
	all("after a restart", 2)
	if err := h.Forget(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	all("after one was forgotten", 1)
}
