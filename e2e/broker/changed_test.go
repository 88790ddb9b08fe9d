package broker

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// A request that runs the project's code says so when its session changed some of it before: also after
// the broker was killed. Another session's request does not.
func TestRunsWhatTheSessionChanged(t *testing.T) {
	d := rig.Serve(t)
	project := d.Repository("shop")
	event := func(name, session string, more map[string]any) []byte {
		t.Helper()
		m := map[string]any{"session_id": session, "cwd": project, "hook_event_name": name}
		for k, v := range more {
			m[k] = v
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	tests := map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "go test ./..."}}
	type shown struct{ Risk, RiskReason string }
	of := func(r rig.Request) (s shown) {
		t.Helper()
		d.Get("/v1/requests/"+r.ID, &s)
		return s
	}
	ask := func(session string) (rig.Request, *rig.HookRun) {
		t.Helper()
		h := d.Hook(event("PermissionRequest", session, tests))
		for _, r := range d.WaitPending(1) {
			return r, h
		}
		return rig.Request{}, nil
	}

	first, h := ask("s")
	if s := of(first); s.Risk != "normal" {
		t.Fatalf("before any change: %+v", s)
	}
	d.Allow(first)
	h.Wait()
	d.Hook(event("PostToolUse", "s", map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": project + "/a.go", "old_string": "a", "new_string": "b"}, "tool_response": map[string]any{}})).Wait()

	other, h := ask("other")
	if s := of(other); s.Risk != "normal" {
		t.Errorf("of another session: %+v", s)
	}
	d.Allow(other)
	h.Wait()

	second, h := ask("s")
	raised := func(s shown) bool { return s.Risk == "attention" && strings.Contains(s.RiskReason, "changed a.go") }
	if s := of(second); !raised(s) {
		t.Errorf("after the change: %+v", s)
	}
	if s := of(first); s.Risk != "normal" {
		t.Errorf("what was asked before the change: %+v", s)
	}
	d.Kill()
	d.Start()
	rig.Eventually(t, rig.Soon, "the change to be known again", func() bool { return raised(of(second)) })
	d.WaitPending(1)
	d.Allow(second)
	h.Wait()
}
