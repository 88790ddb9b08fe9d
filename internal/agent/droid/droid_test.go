package droid

import (
	"errors"
	"strings"
	"testing"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// An edit is laid over the original, in the agent's own names: what it leaves out would stay.
func TestEditedInput(t *testing.T) {
	edit := hook.JSON(`{"file_path":"/w/a","old_string":"one","new_string":"two"}`)
	for _, x := range []struct{ tool, was, edited, want string }{
		{tools.Edit, string(edit), `{"file_path":"/w/a","old_string":"one","new_string":"three"}`, `"updatedInput":{"file_path":"/w/a","old_str":"one","new_str":"three"}`},
		{tools.Edit, string(edit), `{"file_path":"/w/a","new_string":"three"}`, ""},
		{tools.Bash, `{"command":"rm a","timeout":5}`, `{"command":"ls","timeout":5}`, `"updatedInput":{"command":"ls","timeout":5}`},
		{tools.Bash, `{"command":"rm a","timeout":5}`, `{"command":"ls"}`, ""},
		{tools.Edit, string(edit), `{"file_path":"/w/a","old_string":"one","new_string":"two","new_str":"evil"}`, ""},
	} {
		r := &hook.Request{Agent: Name, ToolName: x.tool, ToolInput: hook.JSON(x.was)}
		out, err := New().Encode(hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(x.edited)}, r)
		var bad *hook.FieldError
		if x.want == "" && (!errors.As(err, &bad) || bad.Field != "updatedInput") || x.want != "" && (err != nil || !strings.Contains(string(out), x.want)) {
			t.Errorf("%s: %s %v, want %s", x.edited, out, err, x.want)
		}
	}
}

// A tool that is called like one of Claude Code's, or that nobody knows, is not taken for one that rules know.
func TestForeignTools(t *testing.T) {
	for name, want := range map[string]string{"Bash": "droid:Bash", "Write": "droid:Write", "apply_patch": "droid:apply_patch", "Script": "Script", "a___b": "mcp__a__b", "___b": "___b"} {
		p, err := New().Decode("", []byte(`{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"`+name+`","tool_input":{"command":"ls"}}`))
		if err != nil || p.ToolName != want || p.Type != hook.EventPermissionRequest {
			t.Errorf("%s: %s %q %v", name, p.Type, p.ToolName, err)
		}
	}
}

// Nobody is asked about a call that only reads, unless it is named as a request; an odd one is asked about.
func TestReads(t *testing.T) {
	for _, x := range []struct{ event, payload, want string }{
		{"", `{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/a"}}`, Asks},
		{Asks, `{"hook_event_name":"PreToolUse","tool_name":"LS","tool_input":{"directory_path":"/a"}}`, Asks},
		{Asks, `{"tool_name":"Grep","tool_input":{"pattern":"a"}}`, Asks},
		{Asks, `{"tool_name":"Glob","tool_input":{"folder":"/a"}}`, Asks},
		{hook.EventPermissionRequest, `{"tool_name":"Read","tool_input":{"file_path":"/a"}}`, hook.EventPermissionRequest},
		{Asks, `{"tool_name":"Read","tool_input":{"file_path":"/a","file_path":"/b"}}`, hook.EventPermissionRequest},
		{Asks, `{"tool_name":"Create","tool_input":{"file_path":"/a","content":""}}`, hook.EventPermissionRequest},
		{"PostToolUse", `{"tool_name":"Read","tool_input":{"file_path":"/a"}}`, "PostToolUse"},
	} {
		if p, err := New().Decode(x.event, []byte(x.payload)); err != nil || p.Type != x.want {
			t.Errorf("%s %s: %s %v", x.event, x.payload, p.Type, err)
		}
	}
}
