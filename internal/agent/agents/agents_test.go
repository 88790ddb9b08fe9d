package agents

import (
	"errors"
	"testing"

	"assent/internal/agent"
	"assent/internal/hook"
)

// TestUnknown: nobody can be answered in the words of an agent that is not known, and its payloads are
// read all the same.
func TestUnknown(t *testing.T) {
	r, allow := &hook.Request{Agent: "nobody"}, hook.Decision{Behavior: hook.BehaviorAllow}
	if _, err := Encode(allow, r); !errors.Is(err, agent.ErrUnknown) || err.Error() != `unknown agent "nobody"; known: claude, codex, opencode, kilo, copilot, qwen, droid` {
		t.Errorf("Encode: %v", err)
	}
	if err := Check(allow, r); !errors.Is(err, agent.ErrUnknown) {
		t.Errorf("Check: %v", err)
	}
	if _, err := Deny("nobody", "no"); !errors.Is(err, agent.ErrUnknown) {
		t.Errorf("Deny: %v", err)
	}
	if p, err := Reader("nobody").Decode("Stop", []byte(`{"session_id":"s"}`)); err != nil || p.SessionID != "s" {
		t.Errorf("Decode: %+v, %v", p, err)
	}
}

// TestNamed: a hook that does not name its agent is the first one's.
func TestNamed(t *testing.T) {
	for _, name := range []string{"", "claude"} {
		if a, err := Named(name); err != nil || a.Name() != "claude" {
			t.Errorf("%q: %v, %v", name, a, err)
		}
	}
	if out, err := Deny("", "no"); err != nil || len(out) == 0 {
		t.Errorf("Deny: %s, %v", out, err)
	}
}

// TestContract: what an agent is not known to send is said, and nothing is said of an unknown agent.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		agent, event, raw string
		ok                bool
	}{
		{"codex", "Stop", `{"session_id":"s","hook_event_name":"Stop"}`, true},
		{"codex", "Notification", `{"session_id":"s","hook_event_name":"Notification"}`, false},
		{"codex", "PermissionRequest", `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"cmd":"ls"}}`, false},
		{"droid", "PreToolUse", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/a"}}`, true},
		{"nobody", "x", `y`, true},
	} {
		if err := Contract(c.agent, c.event, []byte(c.raw)); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.agent, c.event, err)
		}
	}
}

// TestTitle: agents are called as the page calls them, also those that are not known.
func TestTitle(t *testing.T) {
	for name, want := range map[string]string{"claude": "Claude", "opencode": "OpenCode", "kilo": "Kilo", "acp:opencode": "OpenCode", "acp:gemini-cli": "Gemini-cli", "nobody": "Nobody", "": ""} {
		if got := Title(name); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}
