// Package toolset finds a tool in the tables of all agents: for rules and others who have an agent's
// name and a tool's. Agents' tools are known by assent's names for them, which are Claude Code's
// where that has such a tool. Data only.
package toolset

import (
	"strings"

	claude "assent/internal/agent/claude/tools"
	codex "assent/internal/agent/codex/tools"
	"assent/internal/agent/tool"
)

// Of returns what is known of an agent's tool, by its exact name.
func Of(agent, name string) tool.Tool {
	if agent == "codex" || agent == "droid" { // Droid's ApplyPatch takes the same patches
		if t := codex.Of(name); t.Kind != tool.Other {
			return t
		}
	}
	if strings.HasPrefix(agent, acp) && strings.HasPrefix(name, acp) {
		t := tool.Tool{Name: name, Unsure: true}
		if name == acp+"execute" {
			t.Kind, t.Command, t.Title = tool.Command, "command", "command"
		}
		return t
	}
	return claude.Of(name)
}

// AnsweredThere says of an agent that the end of a hook without an answer means that somebody answered at its own
// prompt, and that its turn goes on: those whose plugin ends the hook then.
func AnsweredThere(agent string) bool { return agent == "opencode" || agent == "kilo" }

// acp begins the names of agents that ask over ACP, and of tools of theirs of which only the kind of call
// is known.
const acp = "acp:"
