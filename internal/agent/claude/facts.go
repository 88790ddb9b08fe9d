package claude

import (
	"assent/internal/agent"
	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/events"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// eventNames are those of its events. Facts is asked whenever a request is shown.
var eventNames = events.Names()

// Facts are those of Claude Code.
func (Agent) Facts() agent.Facts {
	return agent.Facts{
		Title: "Claude Code", Version: events.Driven, Newest: events.Newest, Package: "@anthropic-ai/claude-code", Events: eventNames,
		Can:    hook.Can{Words: true, Interrupt: true, Edit: true, Always: true, Question: true},
		Race:   true,
		Failed: agent.Failed{Terminal: "its prompt, which is up anyway", Headless: "denied by `claude -p`"},
	}
}

// Describe tells a person what a call of one of its tools does.
func (Agent) Describe(name string, input []byte) (verb string, fields []show.Field) {
	return describe.Call(name, input)
}
