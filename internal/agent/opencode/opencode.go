// Package opencode is OpenCode, and Kilo which is made of it, as package agent wants them. They have no
// hooks: a plugin of assent's tells a hook what the agent asks, in the shape of Claude Code's payloads with
// the agent's own names, and gives the answer by the agent's own API. Their prompt is up meanwhile.
//
// OpenCode 1.18.33 and Kilo 7.7.7 were measured.
package opencode

import (
	"encoding/json"
	"slices"
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/dialect"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// Events are the types of the events that the plugin tells.
var Events = []string{ // read-only
	"PermissionRequest", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop",
}

// file are the members that name a file. In a request both spellings may stand: the call's own, and what
// the prompt shows.
var file = map[string]string{"filePath": "file_path", "filepath": "file_path", "oldString": "old_string", "newString": "new_string", "replaceAll": "replace_all"}

var words = dialect.Words{
	Tools: map[string]dialect.Tool{
		"bash": {Name: tools.Bash}, "webfetch": {Name: tools.WebFetch},
		"edit": {Name: tools.Edit, Members: file}, "write": {Name: tools.Write, Members: file}, "read": {Name: tools.Read, Members: file},
		tools.Question: {Name: tools.Question}, // the plugin's own name
	},
	// Its MCP tools are called SERVER_TOOL, which cannot be taken apart: what looks like Claude Code's name of
	// one is something else.
	Tool: func(native string) string {
		if strings.HasPrefix(native, tools.MCP) {
			return "tool:" + native
		}
		return native
	},
}

// Agent is OpenCode or Kilo.
type Agent struct{ dialect.Agent }

// OpenCode returns OpenCode.
func OpenCode() Agent { return named("opencode", "OpenCode", "opencode-ai", "1.18.33") }

// Kilo returns Kilo.
func Kilo() Agent { return named("kilo", "Kilo", "@kilocode/cli", "7.7.7") }

func named(id, title, pkg, version string) Agent {
	return Agent{dialect.Agent{ID: id, Words: words, Is: agent.Facts{
		Title: title, Version: version, Package: pkg, Events: Events,
		Can: hook.Can{Words: true, Always: true, Question: true}, Race: true,
		Failed: agent.Failed{
			Terminal: "its prompt, which is up anyway",
			Headless: "`" + id + " run` refuses at once whatever it would ask",
		},
	}}}
}

// Decode reads a payload of the plugin. What the agent would remember of an "always" stands in a member of
// its own.
func (a Agent) Decode(event string, raw []byte) (hook.Payload, error) {
	p, err := a.Agent.Decode(event, raw)
	if always := member(member(raw, "permission"), "always"); len(always) > 0 && always[0] == '[' {
		p.Suggestions = hook.JSON(always)
	}
	return p, err
}

// Check holds a decision against what the agent can take. It remembers its own patterns, all of them or none:
// whatever else a person chose would become that.
func (a Agent) Check(d hook.Decision, r *hook.Request) error {
	if len(d.UpdatedPermissions) > 0 && !sameTexts(d.UpdatedPermissions, r.Suggestions) {
		return hook.BadField("updatedPermissions", "want exactly the request's permissionSuggestions: the agent remembers all of them, or nothing")
	}
	return a.Agent.Check(d, r)
}

// sameTexts reports whether both are arrays of the same texts, at least one.
func sameTexts(a, b []byte) bool {
	var as, bs []string
	return json.Unmarshal(a, &as) == nil && json.Unmarshal(b, &bs) == nil && len(as) > 0 && slices.Equal(as, bs)
}

// Encode writes what Check lets through.
func (a Agent) Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	if err := a.Check(d, r); err != nil {
		return nil, err
	}
	return a.Agent.Encode(d, r)
}

// member is a member of an object, nil where it is none, or stands there more than once.
func member(object []byte, key string) (value []byte) {
	ms, err := strictjson.Object(object)
	if err != nil {
		return nil
	}
	for _, m := range ms {
		if m.Key != key {
			continue
		}
		if value != nil {
			return nil
		}
		value = m.Value
	}
	return value
}
