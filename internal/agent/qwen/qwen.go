// Package qwen is Qwen Code, as package agent wants it. Its hooks speak Claude Code's dialect with its own
// names of tools.
//
// Qwen Code 0.24.4 was measured. Whatever its settings say, it waits for a decision for 60 seconds and then
// asks at its own prompt; an answer after that is ignored.
package qwen

import (
	"time"

	"assent/internal/agent"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/dialect"
	"assent/internal/hook"
)

// Name is what hooks, flags and records call it.
const Name = "qwen"

// MaxHold is how long it waits for its hook.
const MaxHold = 60 * time.Second

// Events are the types of its hooks' events that a hook is written for.
var Events = []string{ // read-only
	"PermissionRequest", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification",
	"PreCompact", "SubagentStart", "SubagentStop", "Stop", "SessionEnd",
}

var words = dialect.Words{Tools: map[string]dialect.Tool{
	"run_shell_command": {Name: tools.Bash}, "write_file": {Name: tools.Write}, "edit": {Name: tools.Edit},
	"read_file": {Name: tools.Read}, "web_fetch": {Name: tools.WebFetch}, "web_search": {Name: tools.WebSearch},
	"notebook_edit": {Name: tools.NotebookEdit}, "grep_search": {Name: tools.Grep}, "glob": {Name: tools.Glob}, "list_directory": {Name: tools.LS},
	"agent": {Name: tools.Agent}, "skill": {Name: tools.Skill}, "monitor": {Name: tools.Monitor},
}}

// Agent is Qwen Code.
type Agent struct{ dialect.Agent }

// Decode reads a payload. Qwen Code says UserPromptSubmit once more, with no prompt, whenever it goes on with the
// results of its tools.
func (a Agent) Decode(event string, raw []byte) (hook.Payload, error) {
	p, err := a.Agent.Decode(event, raw)
	p.Continues = err == nil && p.Type == hook.EventUserPromptSubmit && p.AgentID == "" && a.Detail(event, raw).Prompt == ""
	return p, err
}

// New returns Qwen Code.
func New() Agent {
	return Agent{dialect.Agent{ID: Name, Words: words, Is: agent.Facts{
		Title: "Qwen Code", Version: "0.24.4", Package: "@qwen-code/qwen-code", Events: Events,
		Can: hook.Can{Words: true, Edit: true}, MaxHold: MaxHold,
		Failed: agent.Failed{Terminal: "its own prompt asks", Headless: "`-p` offers no shell tools"},
	}}}
}
