package intake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/intake"
)

// overACP is a request for permission that an agent put to its editor, about a command.
func overACP(session, command string) intake.Arrival {
	a := arrival(`{"hook_event_name":"PermissionRequest","session_id":"` + session + `","cwd":"/home/dev","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"` + command + `"},"acp":{"input":"rawInput","kind":"execute"}}`)
	a.Event.Agent, a.Event.Source = "acp:claude-agent-acp", hook.SourceACP
	return a
}

// TestAskedByHookToo: a call that the agent's hook asks about is not asked about a second time.
func TestAskedByHookToo(t *testing.T) {
	inBubble(t, intake.Config{}, func(t *testing.T, r *rig) {
		asks := func(a intake.Arrival) *intake.Pending {
			p, err := r.in.Handle(t.Context(), a)
			if err != nil || p == nil {
				t.Fatalf("%v, %v", p, err)
			}
			synctest.Wait()
			return p
		}
		alone := asks(overACP("other", "ls"))
		if alone.Answered() || len(r.b.Pending()) != 1 {
			t.Fatal("a request without a hook's is not asked")
		}
		if _, err := r.b.Decide(over(), alone.ID(), hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: inputOf(t, r, alone.ID())}, hook.Approver{Kind: "token", ID: "x"}); err != nil {
			t.Fatal(err)
		}
		r.wants(alone, hook.Denied, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny"}}}`)

		hooks := r.pending(arrival(payload("PermissionRequest", "Bash")))
		r.wants(asks(overACP("s", "ls")), hook.HandedBack, "")
		another := asks(overACP("s", "rm x"))
		if n := len(r.b.Pending()); n != 2 || another.Answered() {
			t.Errorf("%d wait", n)
		}
		if _, err := r.b.HandBackWaiting(hooks.ID(), hook.HandBack{InputSHA256: inputOf(t, r, hooks.ID())}, hook.Approver{Kind: "token", ID: "x"}); err != nil {
			t.Fatal(err)
		}
		r.wants(hooks, hook.HandedBack, "")
		r.wants(asks(overACP("s", "ls")), hook.HandedBack, "") // the agent asks its editor now
		time.Sleep(time.Minute)
		if late := asks(overACP("s", "ls")); late.Answered() {
			t.Error("a hook's request of long ago counts")
		}
	})
}

// TestHookComesAfterTheEditor: an agent that asks in both ways at once may be heard in either order.
func TestHookComesAfterTheEditor(t *testing.T) {
	inBubble(t, intake.Config{}, func(t *testing.T, r *rig) {
		if p, err := r.in.Handle(t.Context(), arrival(`{"session_id":"s","hook_event_name":"SessionStart"}`)); p != nil || err != nil {
			t.Fatal(p, err)
		}
		editor := make(chan *intake.Pending)
		go func() {
			p, err := r.in.Handle(t.Context(), overACP("s", "ls"))
			if err != nil {
				t.Error(err)
			}
			editor <- p
		}()
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		hooks := r.pending(arrival(payload("PermissionRequest", "Bash")))
		r.wants(<-editor, hook.HandedBack, "")
		if n := len(r.b.Pending()); n != 1 {
			t.Errorf("%d wait", n)
		}
		hooks.Close()
	})
}

func inputOf(t *testing.T, r *rig, id string) string {
	t.Helper()
	v, err := r.b.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v.InputSHA256
}
