package claude

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/schemas"
)

func TestEnvelope(t *testing.T) {
	example, err := schemas.Example("Envelope")
	if err != nil {
		t.Fatal(err)
	}
	e, cwd, err := Envelope(example)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Payload json.RawMessage }
	if err := json.Unmarshal(example, &doc); err != nil {
		t.Fatal(err)
	}
	want := hook.Event{
		ID: "0b6d3c1e-0f6c-4f0e-9a51-3d0d6a2f7c11", Type: "PostToolUse", Agent: "claude", Attempt: 1, Emitted: true, Tool: "write",
		Time: time.Date(2026, 11, 21, 15, 4, 5, 123e6, time.UTC), Raw: doc.Payload,
		Origin: hook.Origin{PID: 4711, AgentLabel: "reviewer", Repo: hook.Repo{
			Root: "/home/dev/project", Branch: "main", Head: "9fceb02d0ae598e95dc970b74767f19372d61af8"}},
	}
	if !reflect.DeepEqual(e, want) || cwd != "/home/dev/project" {
		t.Errorf("got %+v in %s\nwant %+v", e, cwd, want)
	}
	// What hookd-emit was told is the tool, unless the payload says another.
	for payload, tool := range map[string]string{`{}`: "write", `{"tool_name":null}`: "write", `{"tool_name":""}`: "write", `{"tool_name":"Edit"}`: "edit", `{"tool_name":"Read"}`: ""} {
		e, _, err := Envelope([]byte(`{"event_type":"post_tool_use","tool_name":"write","payload":` + payload + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if m, ok, err := readMutation(e); err != nil || ok != (tool != "") || m.ToolName != tool {
			t.Errorf("%s: %q, %v, %v", payload, m.ToolName, ok, err)
		}
	}
	for kind, want := range map[string]string{
		"pre_tool_use": "PreToolUse", "post_tool_use": "PostToolUse", "post_tool_use_failure": "PostToolUseFailure", "PreToolUse": "PreToolUse",
	} {
		if e, _, err := Envelope([]byte(`{"event_type":"` + kind + `","payload":{}}`)); err != nil || e.Type != want {
			t.Errorf("%s: %s, %v", kind, e.Type, err)
		}
	}
}

// TestEnvelopeFlaws: what is optional and wrong is left out, and the rest is kept.
func TestEnvelopeFlaws(t *testing.T) {
	for _, member := range []string{
		`"timestamp":5`, `"timestamp":"yesterday"`, `"timestamp":"0000-01-01T00:00:00Z"`, `"timestamp":"9999-12-31T23:59:59-05:00"`,
		`"pid":"7"`, `"pid":-1`, `"pid":1.5`, `"pid":4294967296`, `"tool_name":[]`, `"agent_id":{}`, `"event_id":7`, `"cwd":false`,
		`"repo":"/r"`, `"repo":{}`, `"repo":{"git_root":"r"}`, `"repo":{"git_root":"/r","Git_Root":"/s"}`, `"repo":{"git_root":"/r","branch":7}`,
		`"cwd":"/` + strings.Repeat("x", 5000) + `"`, `"repo":{"git_root":"/` + strings.Repeat("ü", 1000) + `"}`, "\"cwd\":\"/\xff\"", "\"repo\":{\"git_root\":\"/\xff\"}",
	} {
		e, cwd, err := Envelope([]byte(`{"event_type":"pre_tool_use","payload":{"a":1},` + member + `}`))
		want := hook.Event{Type: "PreToolUse", Agent: "claude", Attempt: 1, Emitted: true, Raw: []byte(`{"a":1}`)}
		if !errors.Is(err, agent.ErrUnreadable) || !reflect.DeepEqual(e, want) || cwd != "" {
			t.Errorf("%.80s: %+v, %q, %v", member, e, cwd, err)
		}
	}
	// A payload of any kind stays: it is for its readers to judge.
	for _, payload := range []string{`"text"`, `7`, `null`, `[]`, "{\"a\":\"\xff\"}"} {
		if e, _, err := Envelope([]byte(`{"event_type":"pre_tool_use","payload":` + payload + `}`)); err != nil || string(e.Raw) != payload || e.Type != "PreToolUse" {
			t.Errorf("%s: %+v, %v", payload, e, err)
		}
	}
}

// TestEnvelopeUnknown: what is no envelope is kept as a whole, and is no event of the agent's.
func TestEnvelopeUnknown(t *testing.T) {
	for _, line := range []string{
		``, `x`, `[]`, `{"event_type":"pre_tool_use","payload":{}`, `{"event_type":"pre_tool_use"}`, `{"payload":{}}`, `{"event_type":7,"payload":{}}`,
		`{"event_type":null,"payload":{}}`, `{"event_type":"permission_request","payload":{}}`, `{"event_type":"PermissionRequest","payload":{}}`, `{"event_type":"","payload":{}}`,
		`{"hook_event_name":"PermissionRequest","session_id":"s"}`, `{"event_type":"pre_tool_use","payload":{},"payload":{}}`,
		`{"event_type":"pre_tool_use","payload":{},"Event_Type":"x"}`, `{"event_type":"pre_tool_use","payload":{}}{}`,
	} {
		e, cwd, err := Envelope([]byte(line))
		want := hook.Event{Type: Unknown, Agent: "claude", Attempt: 1, Emitted: true, Raw: []byte(line)}
		if !errors.Is(err, agent.ErrUnreadable) || !reflect.DeepEqual(e, want) || cwd != "" {
			t.Errorf("%s: %+v, %q, %v", line, e, cwd, err)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	example, err := schemas.Example("Envelope")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(`{"event_type":"pre_tool_use","payload":7,"event_id":"` + strings.Repeat("x", 100) + `","pid":1e3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, cwd, err := Envelope(line)
		if !e.Emitted || hook.HookType(e.Type) == "" && e.Type != Unknown {
			t.Fatalf("%+v", e)
		}
		if e.Type == Unknown && (err == nil || string(e.Raw) != string(line)) {
			t.Fatalf("%+v, %v", e, err)
		}
		if e.Type != Unknown && !json.Valid(e.Raw) {
			t.Fatalf("payload %q", e.Raw)
		}
		if len(e.ID) > maxEventID || e.ID != "" && !hook.PlainToken(e.ID) || len(cwd) > hook.MaxLabel || e.Origin.PID < 0 {
			t.Fatalf("%+v", e)
		}
		if r := e.Origin.Repo; r != (hook.Repo{}) && (r.Root == "" || r.Root[0] != '/') {
			t.Fatalf("%+v", r)
		}
		if m, ok, err := readMutation(e); ok && err == nil {
			doc, err := EncodeMutation(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeMutation(doc); err != nil && !e.Time.IsZero() {
				t.Fatalf("%v in %s", err, doc)
			}
		}
	})
}
