// Package claude is Claude Code, as package agent wants it: payloads in, decisions out.
//
// Keys are matched exactly. encoding/json would match them without regard to case and let the
// last of several win, so that {"command":"rm -rf ~","COMMAND":"ls"} could be shown as ls.
//
// What is written holds what Claude Code accepts and nothing else, for an unknown member can void
// a decision.
package claude

import (
	"assent/internal/agent"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
)

// Agent is Claude Code.
type Agent struct{}

var _ agent.Agent = Agent{}

// name is what hooks, flags and records call it.
const name = "claude"

// Name returns "claude".
func (Agent) Name() string { return name }

// Tool returns what is known of one of its tools, by its exact name.
func (Agent) Tool(name string) tool.Tool { return tools.Of(name) }

// refuse says that Claude Code takes no decision with this value of a field.
func refuse(field, problem string) error {
	return hook.BadField(field, problem)
}
