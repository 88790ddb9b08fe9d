package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// Bounds of a form that is held for a person, and drawn on a phone. MCP means forms to be short.
const (
	maxFormBytes   = 64 << 10
	maxFormFields  = 64
	maxFormOptions = 256 // of all its fields together
)

// Form reads an event of Claude Code in which an MCP server asks the person for something
// (Elicitation) as the input of a request: every member but those that all events have. The bytes
// of the members are those of raw.
//
// An error wraps agent.ErrNoForm: it is a web address to open, or a form of which anything is not known
// by name and meaning. The client does not hold an answer against the form (seen with 2.1.329), so
// assent must know all of the form.
func (Agent) Form(raw []byte) (hook.JSON, error) {
	if len(raw) > maxFormBytes {
		return nil, fmt.Errorf("%w: it has %d bytes", agent.ErrNoForm, len(raw))
	}
	members, err := strictjson.Object(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrNoForm, err)
	}
	if why := ambiguous(raw); why != "" || !utf8.Valid(raw) {
		return nil, fmt.Errorf("%w: not to be read in one way only", agent.ErrNoForm)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range members {
		switch m.Key {
		case "session_id", "transcript_path", "cwd", "prompt_id", "hook_event_name", "permission_mode", "effort", "agent_id", "agent_type":
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, err := quote(m.Key)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	if _, err := formOf(b.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrNoForm, err)
	}
	return b.Bytes(), nil
}

// form is what an MCP server wants to know (the restricted JSON Schema of MCP 2025-11-25).
type form struct {
	fields   []formField
	required []string
}

// formOf reads the input of a request that Form made.
func formOf(input []byte) (form, error) {
	var f form
	top, err := members(input)
	if err != nil {
		return f, err
	}
	if mode, ok := top["mode"]; ok && text(mode) != "form" {
		return f, errors.New("its mode is not form")
	}
	if !isText(top["message"]) || text(top["mcp_server_name"]) == "" {
		return f, errors.New("it names no server or has no message")
	}
	schema, err := members(top["requested_schema"])
	if err != nil {
		return f, fmt.Errorf("requested_schema: %w", err)
	}
	for key, v := range schema {
		switch key {
		case "type":
			err = expect(text(v) == "object", "type")
		case "$schema", "title", "description":
			err = expect(isText(v), key)
		case "additionalProperties":
			err = expect(string(v) == "true" || string(v) == "false", key)
		case "required":
			f.required, err = textList(v)
		case "properties":
			f.fields, err = formFields(v)
		default:
			err = fmt.Errorf("%q is not known", key)
		}
		if err != nil {
			return f, fmt.Errorf("requested_schema: %w", err)
		}
	}
	if schema["type"] == nil || schema["properties"] == nil {
		return f, errors.New("requested_schema: it has no type or no properties")
	}
	for _, name := range f.required {
		if !slices.ContainsFunc(f.fields, func(x formField) bool { return x.name == name }) {
			return f, errors.New("requested_schema: something is required that it does not ask for")
		}
	}
	return f, nil
}

// members are the values of an object by their exact names. Form has refused objects in which two
// names are equal or differ in case only.
func members(raw []byte) (map[string]json.RawMessage, error) {
	ms, err := strictjson.Object(raw)
	if err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(ms))
	for _, m := range ms {
		out[m.Key] = m.Value
	}
	return out, nil
}

func isText(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// textList reads a JSON array of strings. encoding/json would also take null for a string.
func textList(raw []byte) ([]string, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, errors.New("a list of texts is wanting")
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		if !isText(e) {
			return nil, errors.New("a list of texts holds something else")
		}
		out = append(out, text(e))
	}
	return out, nil
}

func expect(ok bool, key string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%q is not as it should be", key)
}
