// Package toolset finds a tool in the tables of all agents: for rules and others who have an agent's
// name and a tool's. Agents' tools are known by assent's names for them, which are Claude Code's
// where that has such a tool. Data only.
package toolset

import (
	claude "assent/internal/agent/claude/tools"
	codex "assent/internal/agent/codex/tools"
	"assent/internal/agent/tool"
)

// Of returns what is known of an agent's tool, by its exact name.
func Of(agent, name string) tool.Tool {
	if agent == "codex" {
		if t := codex.Of(name); t.Kind != tool.Other {
			return t
		}
	}
	return claude.Of(name)
}
