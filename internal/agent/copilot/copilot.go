// Package copilot is GitHub's Copilot CLI, as package agent wants it. Its payloads have names of their own,
// and its answers are flat.
//
// Copilot 1.0.102 was measured. It ignores a denial in Claude Code's shape, and runs the original where an
// allow brings another input: neither is ever written. Whatever else than an answer stands on its hook's
// standard output is a denial.
package copilot

import (
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/dialect"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// Name is what hooks, flags and records call it.
const Name = "copilot"

// Natives are its hooks' events, by its own names and assent's.
var Natives = map[string]string{ // read-only
	"permissionRequest": "PermissionRequest", "sessionStart": "SessionStart", "sessionEnd": "SessionEnd", "userPromptSubmitted": "UserPromptSubmit",
	"preToolUse": "PreToolUse", "postToolUse": "PostToolUse", "postToolUseFailure": "PostToolUseFailure", "agentStop": "Stop",
	"subagentStart": "SubagentStart", "subagentStop": "SubagentStop", "notification": "Notification", "errorOccurred": "StopFailure", "preCompact": "PreCompact",
}

// Order are the keys of Natives as a session meets them.
var Order = []string{ // read-only
	"permissionRequest", "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "notification",
	"subagentStart", "subagentStop", "preCompact", "agentStop", "errorOccurred", "sessionEnd",
}

var words = dialect.Words{
	Events: Natives,
	Members: map[string]string{
		"hookName": "hook_event_name", "sessionId": "session_id", "toolName": "tool_name", "toolInput": "tool_input", "toolArgs": "tool_input",
		"agentId": "agent_id", "agentType": "agent_type", "transcriptPath": "transcript_path", "toolResult": "tool_response",
	},
	Tools: map[string]dialect.Tool{
		"bash":   {Name: tools.Bash},
		"edit":   {Name: tools.Edit, Members: map[string]string{"path": "file_path", "old_str": "old_string", "new_str": "new_string"}},
		"create": {Name: tools.Write, Members: map[string]string{"path": "file_path", "file_text": "content"}},
		"view":   {Name: tools.Read, Members: map[string]string{"path": "file_path"}},

		"web_fetch": {Name: tools.WebFetch},
	},
	Tool: func(native string) string {
		if server, tool, ok := strings.Cut(native, "/"); ok && server != "" && tool != "" {
			return tools.MCP + server + "__" + tool
		}
		return native
	},
}

// Agent is Copilot.
type Agent struct{ dialect.Agent }

// New returns Copilot.
func New() Agent {
	var events []string
	for _, n := range Order {
		events = append(events, Natives[n])
	}
	return Agent{dialect.Agent{ID: Name, Words: words, Is: agent.Facts{
		Title: "Copilot CLI", Version: "1.0.102", Package: "@github/copilot", Events: events, Flat: true,
		Can: hook.Can{Words: true, Interrupt: true},
		Failed: agent.Failed{
			Terminal: "its own prompt asks; a hook that cannot be run, or ends with an error, is a denial",
			Headless: "denied by `-p`; with `--allow-all-tools` it would run, and assent's hook denies",
			Runs:     true,
		},
	}}}
}

// Encode writes a decision in Copilot's own shape.
func (a Agent) Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	if err := a.Check(d, r); err != nil {
		return nil, err
	}
	return strictjson.Encode(struct {
		Behavior  hook.Behavior `json:"behavior"`
		Message   string        `json:"message,omitempty"`
		Interrupt bool          `json:"interrupt,omitempty"`
	}{d.Behavior, d.Message, d.Interrupt})
}
