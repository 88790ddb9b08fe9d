// Package droid is Factory's Droid, as package agent wants it. It has no hook that asks for permission:
// its PreToolUse hook decides about a call instead of its own autonomy level, and is taken for the request.
//
// Droid 0.215.0 was measured, as `droid exec`; its terminal wants an account. A hook without an answer, one
// that fails and one that runs out of time leave the call to the autonomy level, under which it may run. An
// edited input is laid over the original, member by member.
package droid

import (
	"encoding/json"
	"slices"
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/claude/tools"
	codex "assent/internal/agent/codex/tools"
	"assent/internal/agent/dialect"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// Name is what hooks, flags and records call it.
const Name = "droid"

// Asks is its own name of the event that asks.
const Asks = "PreToolUse"

// Matcher are the tools that its hook is for, as Droid's settings spell it: what runs, changes, fetches, reads or
// belongs to an MCP server. About what only reads nobody is asked: it is for the rules that deny it.
const Matcher = "Execute|Script|Create|" + tools.Edit + "|" + multiEdit + "|ApplyPatch|FetchUrl|" + tools.Read + "|" + tools.LS + "|" + tools.Grep + "|" + tools.Glob + "|.*___.*"

const multiEdit = "Multi" + tools.Edit

// Events are the types of its hooks' events that a hook is written for, by its own names.
var Events = []string{ // read-only
	Asks, "SessionStart", "UserPromptSubmit", "PostToolUse", "Notification", "PreCompact", "SubagentStop", "Stop", "SessionEnd",
}

var words = dialect.Words{
	Events: map[string]string{Asks: hook.EventPermissionRequest},
	Tools: map[string]dialect.Tool{
		"Execute": {Name: tools.Bash}, "Create": {Name: tools.Write}, tools.Read: {Name: tools.Read}, "FetchUrl": {Name: tools.WebFetch},
		tools.Edit:   {Name: tools.Edit, Members: map[string]string{"old_str": "old_string", "new_str": "new_string"}},
		multiEdit:    {Name: multiEdit, Members: map[string]string{"changes": "edits"}},
		"ApplyPatch": {Name: codex.Patch, Members: map[string]string{"input": codex.Of(codex.Patch).Title}},
		tools.LS:     {Name: tools.LS, Members: map[string]string{"directory_path": "path", "ignorePatterns": "ignore"}},
		tools.Grep:   {Name: tools.Grep, Members: map[string]string{"glob_pattern": "glob"}},
		tools.Glob:   {Name: tools.Glob, Members: map[string]string{"folder": "path"}},
	},
	Tool: func(native string) string {
		if server, tool, ok := strings.Cut(native, "___"); ok && server != "" && tool != "" {
			return tools.MCP + server + "__" + tool
		}
		if native == codex.Patch { // by that name it has none
			return Name + ":" + native
		}
		return native
	},
}

// Agent is Droid.
type Agent struct{ dialect.Agent }

// New returns Droid.
func New() Agent {
	events := []string{hook.EventPermissionRequest}
	return Agent{dialect.Agent{ID: Name, Words: words, Is: agent.Facts{
		Title: "Droid", Version: "0.215.0", Package: "droid", Events: append(events, Events...),
		Can: hook.Can{Words: true, Edit: true}, Gates: Asks,
		Failed: agent.Failed{
			Terminal: "not measured: it wants an account; assent's hook denies",
			Headless: "`droid exec --auto` would run it, and assent's hook denies",
			Runs:     true,
		},
	}}}
}

// Decode reads a payload. A call that only reads asks for nothing, and is told of by the event's own name, unless
// it is named as a request.
func (a Agent) Decode(event string, raw []byte) (hook.Payload, error) {
	p, err := a.Agent.Decode(event, raw)
	if err == nil && p.Type == hook.EventPermissionRequest && event != hook.EventPermissionRequest && p.Uninspectable == "" && reads(a.Tool(p.ToolName).Kind) {
		p.Type, p.NativeType = Asks, ""
	}
	return p, err
}

func reads(k tool.Kind) bool {
	return k == tool.Read || k == tool.ListDir || k == tool.Find || k == tool.Search
}

// Check holds a decision against what the agent can take.
func (a Agent) Check(d hook.Decision, r *hook.Request) error {
	if err := a.Agent.Check(d, r); err != nil {
		return err
	}
	if len(d.UpdatedInput) == 0 {
		return nil
	}
	edited, _ := strictjson.Object(d.UpdatedInput) // Check had no error
	was, _ := strictjson.Object(r.ToolInput)
	for _, m := range was {
		if !slices.ContainsFunc(edited, func(e strictjson.Member) bool { return e.Key == m.Key }) {
			return hook.BadField("updatedInput", "without "+m.Key+", which Droid would keep as it was: give every member")
		}
	}
	for _, m := range edited { // another name of the same member would win over it
		if !slices.ContainsFunc(was, func(e strictjson.Member) bool { return e.Key == m.Key }) {
			return hook.BadField("updatedInput", m.Key+" is no member of the input that was asked about")
		}
	}
	return nil
}

// Encode writes a decision in the shape that a PreToolUse hook answers in, and an edited input in the agent's
// own names.
func (a Agent) Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	if err := a.Check(d, r); err != nil {
		return nil, err
	}
	type output struct {
		Event    string          `json:"hookEventName"`
		Decision hook.Behavior   `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
	}
	out := output{Event: Asks, Decision: d.Behavior, Reason: d.Message}
	if out.Reason == "" {
		out.Reason = map[hook.Behavior]string{hook.BehaviorAllow: "Allowed in assent", hook.BehaviorDeny: "Denied in assent"}[d.Behavior]
	}
	if len(d.UpdatedInput) > 0 {
		out.Input = json.RawMessage(a.Words.Native(r.ToolName, d.UpdatedInput))
	}
	return strictjson.Encode(struct {
		Specific output `json:"hookSpecificOutput"`
	}{out})
}

var _ agent.Agent = Agent{}
