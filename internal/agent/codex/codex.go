// Package codex is OpenAI's Codex CLI, as package agent wants it. Its hooks speak Claude Code's
// dialect, but for one tool, apply_patch.
//
// Codex 0.169.0 was measured. It takes a decision with any member that it does not know for a failed
// hook, and then asks at its own prompt: a denial with interrupt would be lost. So nothing but behavior
// and message is ever written.
package codex

import (
	"assent/internal/agent"
	"assent/internal/agent/dialect"
	"assent/internal/hook"
)

// Name is what hooks, flags and records call it.
const Name = "codex"

// Events are the types of its hooks' events.
var Events = []string{ // read-only
	"PermissionRequest", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "PostCompact",
	"SubagentStart", "SubagentStop", "Stop", "Interrupt", "SessionEnd",
}

// Agent is Codex.
type Agent struct{ dialect.Agent }

// New returns Codex.
func New() Agent {
	return Agent{dialect.Agent{ID: Name, Is: agent.Facts{
		Title: "Codex", Version: "0.169.0", Newest: "0.171.0", Package: "@openai/codex", Events: Events,
		Can: hook.Can{Words: true},
		Failed: agent.Failed{
			Terminal: "its own prompt asks",
			Headless: "`codex exec` asks no hook; with `--approve-for-me` its own model decides",
		},
	}}}
}
