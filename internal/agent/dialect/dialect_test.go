package dialect

import (
	"encoding/json"
	"testing"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

// other is an agent with a name of its own for everything.
var other = Agent{ID: "other", Is: agent.Facts{Can: hook.Can{Words: true}}, Words: Words{
	Events:  map[string]string{"permissionRequest": "PermissionRequest", "toolEnd": "PostToolUse"},
	Members: map[string]string{"hookName": "hook_event_name", "sessionId": "session_id", "toolName": "tool_name", "toolInput": "tool_input"},
	Tools:   map[string]Tool{"sh": {Name: "Bash", Members: map[string]string{"cmd": "command"}}, "edit": {Name: "Edit", Members: map[string]string{"path": "file_path", "filePath": "file_path"}}},
	Tool:    func(n string) string { return "x:" + n },
}}

func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		name, raw                 string
		tool, native, input, from string // from: what a decision is bound to
		uninspectable             bool
	}{
		{"a command", `{"hookName":"permissionRequest","sessionId":"s","toolName":"sh","toolInput":{ "cmd" : "a\u0062" ,"n":1.0}}`, "Bash", "sh", `{"command":"a\u0062","n":1.0}`, `{ "cmd" : "a\u0062" ,"n":1.0}`, false},
		{"one name twice, the same", `{"hookName":"permissionRequest","sessionId":"s","toolName":"edit","toolInput":{"path":"/a","filePath":"/a"}}`, "Edit", "edit", `{"file_path":"/a"}`, `{"path":"/a","filePath":"/a"}`, false},
		{"one name twice, another", `{"hookName":"permissionRequest","sessionId":"s","toolName":"edit","toolInput":{"path":"/a","filePath":"/b"}}`, "Edit", "edit", `{"file_path":"/a","file_path":"/b"}`, `{"path":"/a","filePath":"/b"}`, true},
		{"what was ambiguous stays so", `{"hookName":"permissionRequest","sessionId":"s","toolName":"edit","toolInput":{"path":"/a","Path":"/b"}}`, "Edit", "edit", `{"file_path":"/a","Path":"/b"}`, `{"path":"/a","Path":"/b"}`, true},
		{"both agents' words", `{"hookName":"permissionRequest","sessionId":"s","toolName":"sh","tool_name":"Read","toolInput":{"cmd":"a"}}`, "Read", "Read", `{"cmd":"a"}`, `{"cmd":"a"}`, true},
		{"an unknown tool", `{"hookName":"permissionRequest","sessionId":"s","toolName":"z","toolInput":{"cmd":"a"}}`, "x:z", "z", `{"cmd":"a"}`, `{"cmd":"a"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := other.Decode("", []byte(c.raw))
			if c.name == "both agents' words" { // which of them counts nobody can say
				if p.Uninspectable == "" {
					t.Errorf("%+v, %v", p, err)
				}
				return
			}
			if err != nil || p.Type != "PermissionRequest" || p.SessionID != "s" || p.ToolName != c.tool || p.NativeTool != c.native || string(p.ToolInput) != c.input || p.InputSHA256 != digest.Of([]byte(c.from)) {
				t.Errorf("%+v, %v", p, err)
			}
			if (p.Uninspectable != "") != c.uninspectable {
				t.Errorf("uninspectable: %q", p.Uninspectable)
			}
		})
	}
}

// A tool that is not mapped is never taken for a tool of Claude Code's that has its name.
func TestForeignName(t *testing.T) {
	for name, want := range map[string]string{"Bash": "plain:Bash", "Read": "plain:Read", "Agent": "plain:Agent", "bash": "Bash", "x": "x"} {
		a := Agent{ID: "plain", Words: Words{Tools: map[string]Tool{"bash": {Name: "Bash"}}}}
		p, err := a.Decode("PermissionRequest", []byte(`{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/p","tool_name":"`+name+`","tool_input":{"command":"ls","file_path":"a"}}`))
		if err != nil || p.ToolName != want {
			t.Errorf("%s: %q %v", name, p.ToolName, err)
		}
	}
}

// A payload is renamed, and stays what it was: JSON if it was that, and never readable where it was not.
func FuzzTranslate(f *testing.F) {
	f.Add(`{"hookName":"permissionRequest","sessionId":"s","toolName":"sh","toolInput":{"cmd":"a"}}`, "")
	f.Add(`{"toolName":"edit","toolInput":{"path":1,"filePath":2,"path":1}}`, "toolEnd")
	f.Add(`{}`, "x")
	f.Fuzz(func(t *testing.T, raw, event string) {
		got := other.translate(event, []byte(raw))
		if json.Valid([]byte(raw)) != json.Valid(got.text) {
			t.Errorf("%q became %q", raw, got.text)
		}
		_, _ = other.Decode(event, []byte(raw))
		other.Detail(event, []byte(raw))
	})
}
