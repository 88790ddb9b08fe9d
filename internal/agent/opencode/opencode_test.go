package opencode

import (
	"testing"

	"assent/internal/agent/claude/tools"
)

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
