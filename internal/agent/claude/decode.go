package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/internal/text/digest"
	"assent/internal/text/strictjson"
)

// maxDepth is how deep a PermissionRequest may nest; readers differ in where they give up.
const maxDepth = 200

// maxID is how long the name of a session or a subagent may be, in bytes: they are kept long
// after their events. Claude Code's have 36 and 17.
const maxID = 1 << 10

const tooDeep = "nested too deep"

// known are the members Decode reads.
var known = []string{
	"hook_event_name", "session_id", "agent_id", "agent_type", "cwd", "permission_mode",
	"tool_name", "tool_input", "permission_suggestions",
}

// Decode reads the members of a payload that assent acts on. event, when not empty, is the
// type the hook was registered for and wins over the payload's own.
//
// An error wraps agent.ErrUnreadable: the text is no JSON object, or a member has the wrong type.
// The Payload then holds what could be read, for the stream takes every event; a
// PermissionRequest with an error must not be asked.
func (Agent) Decode(event string, raw []byte) (hook.Payload, error) {
	var p hook.Payload
	p.Type = event
	p.InputSHA256 = digest.Of(raw)
	members, err := strictjson.Object(raw)
	if err != nil {
		p.SessionID = sessionOf(members)
		return p, fmt.Errorf("%w: %w", agent.ErrUnreadable, err)
	}
	var problem error
	text := func(dst *string, m strictjson.Member) {
		if string(m.Value) == "null" {
			return
		}
		if err := json.Unmarshal(m.Value, dst); err != nil && problem == nil {
			problem = fmt.Errorf("%w: %s is not a text", agent.ErrUnreadable, m.Key)
		}
	}
	exact := map[string]int{}
	for _, m := range members {
		exact[m.Key]++
		switch m.Key {
		case "hook_event_name":
			if event == "" {
				text(&p.Type, m)
			}
		case "session_id":
			text(&p.SessionID, m)
		case "agent_id":
			text(&p.AgentID, m)
		case "agent_type":
			text(&p.AgentType, m)
		case "cwd":
			text(&p.CWD, m)
		case "permission_mode":
			text(&p.PermissionMode, m)
		case "tool_name":
			text(&p.ToolName, m)
		case "tool_use_id":
			_ = json.Unmarshal(m.Value, &p.ToolUseID) // of another type: not known
		case "error":
			_ = json.Unmarshal(m.Value, &p.Failure) // of another type: not known
		case "tool_input":
			p.ToolInput = hook.JSON(m.Value)
		case "permission_suggestions":
			p.Suggestions = hook.JSON(m.Value)
		}
	}
	if p.Type != hook.EventPostToolUseFailure {
		p.Failure = ""
	} else if len(p.Failure) > hook.MaxFailure {
		p.Failure = ends(p.Failure)
	}
	if len(p.ToolUseID) > maxID {
		p.ToolUseID = ""
	}
	if len(p.SessionID) > maxID || len(p.AgentID) > maxID {
		p.SessionID, p.AgentID = "", "" // both: the event is not the main thread's
		if problem == nil {
			problem = fmt.Errorf("%w: a session or agent id of more than %d bytes", agent.ErrUnreadable, maxID)
		}
	}
	twice := ""
	for _, k := range known {
		if exact[k] > 1 {
			twice = k
		}
	}
	if _, varied := strictjson.Variant(members, "tool_input"); exact["tool_input"] == 1 && !varied {
		p.InputSHA256 = digest.Of(p.ToolInput)
	}
	if p.ToolInput != nil && p.ToolInput[0] != '{' && problem == nil {
		problem = fmt.Errorf("%w: tool_input is not an object", agent.ErrUnreadable)
	}
	name, varied := strictjson.Variant(members, known...)
	switch {
	case !utf8.Valid(raw):
		p.Uninspectable = "invalid UTF-8"
	case twice != "":
		p.Uninspectable = "repeated member " + twice
	case varied:
		p.Uninspectable = "another spelling of member " + name
	case p.Type == hook.EventPermissionRequest, p.Type == hook.EventElicitation:
		p.Uninspectable = ambiguous(raw)
	}
	if p.Uninspectable == tooDeep && problem == nil {
		problem = fmt.Errorf("%w: %s", agent.ErrUnreadable, tooDeep)
	}
	if p.ToolName != "" && p.ToolInput != nil {
		p.CallKey = CallKey(p.ToolName, p.ToolInput)
	}
	return p, problem
}

// ends are the beginning and the end of what a failed tool said: what went wrong mostly stands in
// one of the two.
func ends(s string) string {
	const cut = "\n…\n"
	half := (hook.MaxFailure - len(cut)) / 2
	return strings.ToValidUTF8(s[:half], "") + cut + strings.ToValidUTF8(s[len(s)-half:], "")
}

// sessionOf is the session that a text names before it breaks: what cannot be read is filed, found
// and forgotten with its session all the same.
func sessionOf(members []strictjson.Member) string {
	var id string
	for _, m := range members {
		if m.Key == "session_id" && json.Unmarshal(m.Value, &id) != nil {
			return ""
		}
	}
	if len(id) > maxID {
		return ""
	}
	return id
}

// ambiguous says why two readers could take a JSON text for two things, at any depth; empty: they
// cannot.
func ambiguous(raw []byte) string {
	switch a := strictjson.Ambiguous(raw, maxDepth); {
	case a == nil:
		return ""
	case a.TooDeep:
		return tooDeep
	default:
		return "repeated or case-varied member " + a.Key
	}
}
