package hookclient

import "assent/internal/hook"

// asks is the event in which each agent asks for permission, by the agent's own name for it. What is not
// here is not known, and waits for nothing.
var asks = map[string]string{ // read-only
	"claude":   hook.EventPermissionRequest,
	"codex":    hook.EventPermissionRequest,
	"opencode": hook.EventPermissionRequest,
	"kilo":     hook.EventPermissionRequest,
	"copilot":  copilotAsks,
	"qwen":     hook.EventPermissionRequest,
	"droid":    droidAsks,
}

// What Copilot calls the event, and in which one Droid asks.
const (
	copilotAsks = "permissionRequest"
	droidAsks   = "PreToolUse"
)

// foundOut is the agent that really runs a hook which was registered for Claude Code: Copilot runs the hooks
// of a repository's .claude/settings.json, with its own payload, and takes an answer in Claude Code's shape
// for none.
func (c *Config) foundOut(p *payload) {
	if c.Agent == "claude" && c.Event == "" && p.event == "" && p.hookName == copilotAsks && p.hasSessionID {
		c.Agent, c.Event = "copilot", copilotAsks
	}
}

// waits reports whether an event of this agent's own name for it waits for an answer.
func waits(agent, event string) bool { return event != "" && asks[agent] == event }

// denial returns the one answer that this program makes up by itself, nil for an agent that it
// does not know. It is for a user who asked for denials and has no broker to phrase one. The words
// are ASCII without quotes and backslashes.
func denial(agent, words string) []byte {
	switch agent {
	case "claude", "codex", "opencode", "kilo", "qwen":
		return []byte(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny",` +
			`"message":"` + words + `"}}}`)
	}
	switch agent {
	case "copilot":
		return []byte(`{"behavior":"deny","message":"` + words + `"}`)
	case "droid":
		return []byte(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
			`"permissionDecisionReason":"` + words + `"}}`)
	}
	return nil
}

// fallback is what to print when the broker did not answer.
func (c *client) fallback(f hook.Fallback, words string) []byte {
	if f == hook.Deny {
		return denial(c.cfg.Agent, words)
	}
	return nil
}
