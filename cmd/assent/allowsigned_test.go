package main

import (
	"strings"
	"testing"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// What is signed is what the agent's own request says, and nothing where the broker says otherwise.
func TestSeenDecision(t *testing.T) {
	const raw = `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command": "rm -rf x"}}`
	request := func(raw string) *api.Request {
		p, err := claude.Agent{}.Decode("", []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return &api.Request{Request: hook.Request{ID: "id", ToolName: p.ToolName, CWD: p.CWD, InputSHA256: p.InputSHA256}, Raw: raw,
			// which the broker makes up
			Shown: &show.Shown{Verb: "Run", Fields: []show.Field{{Name: "command", Text: "ls"}}}}
	}
	d, fields, err := seenDecision(request(raw), time.Unix(0, 0))
	text := strings.Join(fields, "\n")
	if err != nil || !strings.Contains(text, "rm -rf x") || strings.Contains(text, "ls") || !strings.Contains(text, "directory: /w") ||
		d.Shown != `{"cwd":"/w","tool":"Bash"}` || d.SignedAt != "1970-01-01T00:00:00Z" || d.Behavior != hook.BehaviorAllow {
		t.Errorf("%+v, %v\n%s", d, err, text)
	}
	other := request(strings.Replace(raw, "rm -rf x", "ls", 1))
	for name, change := range map[string]func(*api.Request){
		"another digest":    func(r *api.Request) { r.InputSHA256 = other.InputSHA256 },
		"another payload":   func(r *api.Request) { r.Raw = other.Raw },
		"another tool":      func(r *api.Request) { r.ToolName = "Read" },
		"another directory": func(r *api.Request) { r.CWD = "/" },
		"no payload":        func(r *api.Request) { r.Raw = "" },
		"no request":        func(r *api.Request) { r.Raw = `{"hook_event_name":"Stop","session_id":"s"}` },
		"two readings":      func(r *api.Request) { *r = *request(strings.Replace(raw, `"cwd"`, `"tool_input":{},"cwd"`, 1)) },
	} {
		r := request(raw)
		change(r)
		if d, _, err := seenDecision(r, time.Now()); err == nil {
			t.Errorf("%s would be signed: %+v", name, d)
		}
	}
}
