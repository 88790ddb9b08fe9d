package opencode

import (
	"errors"
	"strings"
	"testing"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// What the agent is told to remember is what it would remember.
func TestAlways(t *testing.T) {
	const suggested = `["touch *","ls *"]`
	for _, x := range []struct {
		suggested, updates string
		ok                 bool
	}{
		{suggested, suggested, true},
		{suggested, ` [ "touch *", "ls *" ]`, true},
		{suggested, `["touch *"]`, false},
		{suggested, `["ls *","touch *"]`, false},
		{suggested, `[]`, false},
		{suggested, `[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"touch a"}]}]`, false},
		{"", `[]`, false},
		{"", suggested, false},
		{`[]`, `[]`, false},
	} {
		r := &hook.Request{ToolName: tools.Bash, ToolInput: hook.JSON(`{"command":"touch a"}`), Suggestions: hook.JSON(x.suggested)}
		d := hook.Decision{Behavior: hook.BehaviorAllow, UpdatedPermissions: hook.JSON(x.updates)}
		out, err := OpenCode().Encode(d, r)
		var bad *hook.FieldError
		if x.ok != (err == nil) || !x.ok && (!errors.As(err, &bad) || bad.Field != "updatedPermissions") || x.ok && !strings.Contains(string(out), `"updatedPermissions":`) {
			t.Errorf("suggested %s, chosen %s: %s %v", x.suggested, x.updates, out, err)
		}
		if check := OpenCode().Check(d, r); (check == nil) != (err == nil) {
			t.Errorf("Check %v, Encode %v", check, err)
		}
	}
}

// A patch asks for the permission to edit, and an MCP tool or one of a plugin may have any name: none of
// them is taken for the edit of one file, or for another tool that rules know.
func TestForeignTools(t *testing.T) {
	for name, input := range map[string]string{
		"permission:edit":          `{"filepath":"a.txt, ../../x","diff":"","patterns":["a.txt","../../x"],"call":{"tool":"apply_patch","input":{"patchText":""}}}`,
		"permission:bash":          `{"command":"ls","patterns":["ls"]}`,
		"Edit":                     `{"file_path":"a.txt"}`,
		"Bash":                     `{"command":"ls"}`,
		"mcp__github__create_repo": `{}`,
	} {
		p, err := OpenCode().Decode("PermissionRequest", []byte(`{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/p","tool_name":"`+name+`","tool_input":`+input+`}`))
		if err != nil || tools.Of(p.ToolName).Kind != 0 || p.ToolName[:4] == tools.MCP[:4] {
			t.Errorf("%s: %q %v", name, p.ToolName, err)
		}
	}
}
