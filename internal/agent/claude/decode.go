package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"assent/internal/agent"
	"assent/internal/hook"
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
	p.InputSHA256 = digest(raw)
	members, err := object(raw)
	if err != nil {
		p.SessionID = sessionOf(members)
		return p, fmt.Errorf("%w: %w", agent.ErrUnreadable, err)
	}
	var problem error
	text := func(dst *string, m member) {
		if string(m.value) == "null" {
			return
		}
		if err := json.Unmarshal(m.value, dst); err != nil && problem == nil {
			problem = fmt.Errorf("%w: %s is not a text", agent.ErrUnreadable, m.key)
		}
	}
	exact := map[string]int{}
	varied := ""
	for _, m := range members {
		exact[m.key]++
		switch m.key {
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
			_ = json.Unmarshal(m.value, &p.ToolUseID) // of another type: not known
		case "error":
			_ = json.Unmarshal(m.value, &p.Failure) // of another type: not known
		case "tool_input":
			p.ToolInput = hook.JSON(m.value)
		case "permission_suggestions":
			p.Suggestions = hook.JSON(m.value)
		default:
			for _, k := range known {
				if strings.EqualFold(k, m.key) {
					varied = k
				}
			}
		}
	}
	if p.Type != "PostToolUseFailure" {
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
	if exact["tool_input"] == 1 && !hasVariant(members, "tool_input") {
		p.InputSHA256 = digest(p.ToolInput)
	}
	if p.ToolInput != nil && p.ToolInput[0] != '{' && problem == nil {
		problem = fmt.Errorf("%w: tool_input is not an object", agent.ErrUnreadable)
	}
	switch {
	case !utf8.Valid(raw):
		p.Uninspectable = "invalid UTF-8"
	case twice != "":
		p.Uninspectable = "repeated member " + twice
	case varied != "":
		p.Uninspectable = "another spelling of member " + varied
	case p.Type == "PermissionRequest", p.Type == hook.EventElicitation:
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
func sessionOf(members []member) string {
	var id string
	for _, m := range members {
		if m.key == "session_id" && json.Unmarshal(m.value, &id) != nil {
			return ""
		}
	}
	if len(id) > maxID {
		return ""
	}
	return id
}

// member is one top-level member; value is a part of the payload, without white space around.
type member struct {
	key   string
	value []byte
}

// object splits a JSON object into its members, in order, repeated ones included.
func object(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	t, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if t != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object")
	}
	var ms []member
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return ms, fmt.Errorf("not JSON: %w", err)
		}
		key, ok := k.(string)
		if !ok {
			return ms, fmt.Errorf("not JSON: a member without a name")
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return ms, fmt.Errorf("not JSON at member %q: %w", key, err)
		}
		ms = append(ms, member{key, v})
	}
	if _, err := dec.Token(); err != nil {
		return ms, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return ms, fmt.Errorf("not JSON: text after the object")
	}
	return ms, nil
}

func hasVariant(ms []member, key string) bool {
	for _, m := range ms {
		if m.key != key && strings.EqualFold(m.key, key) {
			return true
		}
	}
	return false
}

// ambiguous says why two readers could take a JSON text for two things: a member repeated, or
// spelled twice with a difference of case only, in one object at any depth; or nesting so
// deep that readers differ in giving up. Empty: they cannot.
func ambiguous(raw []byte) string {
	type level struct {
		keys  map[string]struct{} // nil in an array
		isKey bool                // the next string is a member's name
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil {
			return "" // the end; the text was found to be JSON before
		}
		var top *level
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		if d, ok := t.(json.Delim); ok {
			switch d {
			case '{', '[':
				if len(stack) == maxDepth {
					return tooDeep
				}
				if top != nil && top.keys != nil {
					top.isKey = true
				}
				l := level{}
				if d == '{' {
					l = level{keys: map[string]struct{}{}, isKey: true}
				}
				stack = append(stack, l)
			default:
				stack = stack[:len(stack)-1]
			}
			continue
		}
		if top == nil || top.keys == nil {
			continue
		}
		if !top.isKey {
			top.isKey = true
			continue
		}
		key := fold(t.(string))
		if _, ok := top.keys[key]; ok {
			return "repeated or case-varied member " + t.(string)
		}
		top.keys[key] = struct{}{}
		top.isKey = false
	}
}

// fold maps names that differ in case only to one; ToUpper first, for the long s and the
// Kelvin sign, which encoding/json folds too.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Digest is lower-case hex SHA-256, the form in which digests are written everywhere.
func Digest(b []byte) string { return digest(b) }
