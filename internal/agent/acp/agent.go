// Package acp is the Agent Client Protocol, version 1, as far as assent speaks it: an agent that asks its
// editor for permission is asked about here too, and the first answer counts.
//
// It has two sides. Conversation reads the lines between an editor and an agent, on the machine where they
// run, and makes a question of a request for permission; package proxy carries the lines. Agent is what the
// broker makes of that question: the agent that has asked, as package agent wants it.
//
// Every line passes as it is. Nothing is asked about that could be read in two ways, or that does not say
// the whole of what would run; then the editor alone decides, as without assent.
//
// Measured with claude-agent-acp 0.101.0, codex-acp 2.6.0, Copilot 1.0.102, Gemini CLI 0.61.0, Goose
// 1.34.0, Kilo 7.7.7, Kimi 2.1.0, OpenCode 1.18.33 and Qwen Code 0.24.4.
package acp

import (
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/claude"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/dialect"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Agent is an agent that asks over ACP. The zero value is not usable; use Named.
type Agent struct {
	dialect.Agent
	known known
}

// Named returns the agent of a name that begins with Prefix; ok is false for another.
func Named(name string) (a Agent, ok bool) {
	of, ok := strings.CutPrefix(name, Prefix)
	if !ok || of == "" || of != nameOf(of) {
		return a, false
	}
	k := agents[of]
	return Agent{dialect.Agent{ID: name, Words: dialect.Words{Tools: k.tools}, Is: agent.Facts{
		Title: of + " over ACP", Events: []string{hook.EventPermissionRequest}, Race: true,
		Failed: agent.Failed{Terminal: "the editor's dialog, which is up anyway", Headless: "as its client has it"},
	}}, k}, true
}

// Decode reads a question. A tool whose calls are not certain to be what they seem has a name that begins
// with Prefix.
func (a Agent) Decode(event string, raw []byte) (hook.Payload, error) {
	p, err := a.Agent.Decode(event, raw)
	about := readObject(raw).in("acp")
	asked := p.NativeTool
	if asked == "" {
		asked = p.ToolName
	}
	_, listed := a.known.tools[asked]
	if p.ToolName != "" && (about.text("input") != fromRaw || !listed && !a.known.names) {
		p.ToolName = kindTool(about.text("kind"), p.ToolInput)
	}
	if p.NativeTool = about.text("tool"); p.NativeTool == p.ToolName {
		p.NativeTool = ""
	}
	return p, err
}

// Encode writes a decision. Of a denial the protocol carries no words: those of a rule stay in the record.
func (a Agent) Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	d.Message = ""
	return a.Agent.Encode(d, r)
}

// Describe tells of a call whose tool is not certain by what its input seems to be.
func (a Agent) Describe(name string, input []byte) (verb string, fields []show.Field) {
	switch in := readObject(input); {
	case !strings.HasPrefix(name, Prefix):
	case in.text("command") != "":
		name = tools.Bash
	case name == Prefix+"edit" && in.text("file_path") != "" && in.text("old_string") != "" && in["new_string"] != nil:
		name = tools.Edit
	}
	return claude.Agent{}.Describe(name, input)
}
