package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assent/internal/hook"
)

// Bounds of a form that is held for a person, and drawn on a phone. MCP means forms to be short.
const (
	maxFormBytes   = 64 << 10
	maxFormFields  = 64
	maxFormOptions = 256 // of all its fields together
)

// ErrNoForm is wrapped by Form's errors.
var ErrNoForm = errors.New("no form that can be answered here")

// Form reads an event of Claude Code in which an MCP server asks the person for something
// (Elicitation) as the input of a request: every member but those that all events have. The bytes
// of the members are those of raw.
//
// An error wraps ErrNoForm: it is a web address to open, or a form of which anything is not known
// by name and meaning. The client does not hold an answer against the form (seen with 2.1.329), so
// whoever answers must know all of it.
func Form(raw []byte) (hook.JSON, error) {
	if len(raw) > maxFormBytes {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrNoForm, len(raw))
	}
	members, err := object(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoForm, err)
	}
	if why := ambiguous(raw); why != "" || !utf8.Valid(raw) {
		return nil, fmt.Errorf("%w: not to be read in one way only", ErrNoForm)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range members {
		switch m.key {
		case "session_id", "transcript_path", "cwd", "prompt_id", "hook_event_name", "permission_mode", "effort", "agent_id", "agent_type":
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, err := quote(m.key)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	if _, err := formOf(b.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoForm, err)
	}
	return b.Bytes(), nil
}

// form is what an MCP server wants to know (the restricted JSON Schema of MCP 2025-11-25).
type form struct {
	fields   []formField
	required []string
}

// formField is one thing it wants to know.
type formField struct {
	name string
	kind string // string, number, integer, boolean, array
	// options are what can be chosen, of a string or of an array's elements; nil: free text.
	options []string
	format  string
	// least and most bound a number, the characters of a text, or how many options are chosen.
	least, most *float64
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

func formFields(raw []byte) ([]formField, error) {
	ms, err := object(raw)
	if err != nil {
		return nil, err
	}
	if len(ms) > maxFormFields {
		return nil, fmt.Errorf("it asks for %d things", len(ms))
	}
	fields, offered := []formField{}, 0
	for _, m := range ms {
		x, err := formFieldOf(m.value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", m.key, err)
		}
		if offered += len(x.options); offered > maxFormOptions {
			return nil, fmt.Errorf("it offers more than %d options", maxFormOptions)
		}
		x.name = m.key
		fields = append(fields, x)
	}
	return fields, nil
}

// formFieldOf reads one property. What a keyword bounds depends on the type, so one that does not
// belong to the type is an error as much as an unknown one.
func formFieldOf(raw []byte) (x formField, err error) {
	p, err := members(raw)
	if err != nil {
		return x, err
	}
	x.kind = text(p["type"])
	var titles []string
	for key, v := range p {
		switch key {
		case "type", "default": // which is looked at below
		case "title", "description":
			err = expect(isText(v), key)
		case "format":
			x.format = text(v)
			err = expect(x.kind == "string" && slices.Contains([]string{"email", "uri", "date", "date-time"}, x.format), key)
		case "minLength", "maxLength":
			err = x.bound(key == "minLength", v, x.kind == "string", true)
		case "minimum", "maximum":
			err = x.bound(key == "minimum", v, x.kind == "number" || x.kind == "integer", false)
		case "minItems", "maxItems":
			err = x.bound(key == "minItems", v, x.kind == "array", true)
		case "enum", "oneOf":
			if err = expect(x.kind == "string" && x.options == nil, key); err == nil {
				x.options, err = options(key, v)
			}
		case "enumNames":
			if titles, err = textList(v); err == nil {
				err = expect(x.kind == "string" && p["enum"] != nil, key)
			}
		case "items":
			if err = expect(x.kind == "array", key); err == nil {
				x.options, err = itemOptions(v)
			}
		default:
			err = fmt.Errorf("%q is not known", key)
		}
		if err != nil {
			return x, err
		}
	}
	switch {
	case !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, x.kind):
		return x, errors.New("its type is not known")
	case x.kind == "array" && x.options == nil:
		return x, errors.New("it is a list of anything")
	case titles != nil && len(titles) != len(x.options):
		return x, errors.New("enumNames are not those of enum")
	case x.options != nil && x.kind == "string" && (x.format != "" || x.least != nil || x.most != nil):
		return x, errors.New("a choice has bounds of a text")
	}
	if d := p["default"]; d != nil {
		// A default that breaks the form's own rules is nothing that a person should be offered.
		if why := x.check(d); why != "" {
			return x, fmt.Errorf("its default %s", why)
		}
	}
	return x, nil
}

func (x *formField) bound(least bool, v []byte, fits, count bool) error {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !fits || count && (n < 0 || n != float64(int64(n))) {
		return errors.New("a bound that does not fit its type")
	}
	if least {
		x.least = &n
	} else {
		x.most = &n
	}
	return nil
}

// itemOptions are what can be chosen of {"enum":[…]} or {"anyOf":[{"const","title"}]}.
func itemOptions(raw []byte) (out []string, err error) {
	p, err := members(raw)
	if err != nil {
		return nil, err
	}
	for key, v := range p {
		switch key {
		case "type":
			err = expect(text(v) == "string", key)
		case "enum", "anyOf":
			if err = expect(out == nil, key); err == nil {
				out, err = options(key, v)
			}
		default:
			err = fmt.Errorf("%q is not known", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func options(key string, raw []byte) (out []string, err error) {
	if key == "enum" {
		out, err = textList(raw)
	} else {
		var entries []json.RawMessage
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, err
		}
		out = []string{}
		for _, e := range entries {
			o, err := members(e)
			if err != nil || len(o) != 2 || !isText(o["const"]) || !isText(o["title"]) {
				return nil, errors.New("an option that is not one const with a title")
			}
			out = append(out, text(o["const"]))
		}
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, o := range out {
		if seen[o] {
			return nil, errors.New("an option that stands there twice")
		}
		seen[o] = true
	}
	if len(out) == 0 {
		return nil, errors.New("no options")
	}
	return out, nil
}

// checkForm holds an answer against the form: an accepted one brings what was asked for and nothing
// else, and no answer can bring words.
func checkForm(d hook.Decision, r *hook.Request) error {
	switch {
	case d.Message != "":
		return &FieldError{"message", "an MCP server takes no words; answer its form, or decline"}
	case len(d.UpdatedPermissions) > 0:
		return &FieldError{"updatedPermissions", "goes with a tool call only"}
	case d.Behavior == hook.BehaviorDeny && len(d.UpdatedInput) > 0:
		return &FieldError{"updatedInput", "goes with allow only"}
	case d.Behavior == hook.BehaviorDeny:
		return nil
	case d.Interrupt:
		return &FieldError{"interrupt", "goes with deny only"}
	case len(d.UpdatedInput) == 0:
		return &FieldError{"updatedInput", "a form is answered with {name: value} for what it asks"}
	}
	f, err := formOf(r.ToolInput)
	if err != nil {
		return &FieldError{"updatedInput", "the form cannot be read: " + err.Error()}
	}
	given, err := object(d.UpdatedInput)
	if err != nil {
		return &FieldError{"updatedInput", "want a JSON object"}
	}
	if why := ambiguous(d.UpdatedInput); why != "" {
		return &FieldError{"updatedInput", why}
	}
	for _, m := range given {
		i := slices.IndexFunc(f.fields, func(x formField) bool { return x.name == m.key })
		if i < 0 {
			return &FieldError{"updatedInput", m.key + " is not asked for"}
		}
		if why := f.fields[i].check(m.value); why != "" {
			return &FieldError{"updatedInput", m.key + " " + why}
		}
	}
	for _, name := range f.required {
		if !slices.ContainsFunc(given, func(m member) bool { return m.key == name }) {
			return &FieldError{"updatedInput", name + " is missing"}
		}
	}
	return nil
}

// check says what is wrong with a value, "" if nothing is.
func (x *formField) check(raw []byte) string {
	within := func(n float64, what string) string {
		if x.least != nil && n < *x.least {
			return "is less than " + number(*x.least) + what
		}
		if x.most != nil && n > *x.most {
			return "is more than " + number(*x.most) + what
		}
		return ""
	}
	switch x.kind {
	case "boolean":
		if string(raw) != "true" && string(raw) != "false" {
			return "is neither true nor false"
		}
	case "integer", "number":
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || !strings.ContainsRune("-0123456789", rune(raw[0])) {
			return "is no number"
		}
		const exact = 1 << 53
		if x.kind == "integer" && (n != float64(int64(n)) || n > exact || n < -exact || strings.ContainsAny(string(raw), ".eE")) {
			return "is no whole number"
		}
		return within(n, "")
	case "string":
		if !isText(raw) {
			return "is no text"
		}
		s := text(raw)
		if x.options != nil {
			if !slices.Contains(x.options, s) {
				return "is none of its options"
			}
			return ""
		}
		if !ofFormat(s, x.format) {
			return "is not of the format " + x.format
		}
		return within(float64(utf8.RuneCountInString(s)), " characters")
	case "array":
		chosen, err := textList(raw)
		if err != nil {
			return "is no list of texts"
		}
		for i, c := range chosen {
			if !slices.Contains(x.options, c) || slices.Contains(chosen[:i], c) {
				return "has what is none of its options, or one of them twice"
			}
		}
		return within(float64(len(chosen)), " chosen")
	}
	return ""
}

func ofFormat(s, format string) bool {
	var err error
	switch format {
	case "email":
		var a *mail.Address
		a, err = mail.ParseAddress(s)
		return err == nil && a.Address == s
	case "uri":
		var u *url.URL
		u, err = url.Parse(s)
		return err == nil && u.IsAbs()
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "date-time":
		_, err = time.Parse(time.RFC3339, s)
	}
	return err == nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// members are those of an object by their exact names, which were found to be different before.
func members(raw []byte) (map[string]json.RawMessage, error) {
	ms, err := object(raw)
	if err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(ms))
	for _, m := range ms {
		out[m.key] = m.value
	}
	return out, nil
}

func isText(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// texts reads a list in which every element is a text: encoding/json takes null for one.
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

// encodeForm writes an answer as Claude Code takes it: accept with content, decline, or cancel.
func encodeForm(d hook.Decision) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"`)
	switch {
	case d.Behavior == hook.BehaviorAllow:
		b.WriteString(`accept","content":`)
		if err := json.Compact(&b, d.UpdatedInput); err != nil {
			return nil, &FieldError{"updatedInput", "not JSON"}
		}
	case d.Interrupt:
		b.WriteString(`cancel"`)
	default:
		b.WriteString(`decline"`)
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}
