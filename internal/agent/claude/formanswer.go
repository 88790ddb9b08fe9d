package claude

import (
	"bytes"
	"encoding/json"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// checkForm holds an answer against the form: an accepted one brings what was asked for and nothing
// else, and no answer can bring words.
func checkForm(d hook.Decision, r *hook.Request) error {
	switch {
	case d.Message != "":
		return refuse("message", "an MCP server takes no words; answer its form, or decline")
	case len(d.UpdatedPermissions) > 0:
		return refuse("updatedPermissions", "goes with a tool call only")
	case d.Behavior == hook.BehaviorDeny && len(d.UpdatedInput) > 0:
		return refuse("updatedInput", "goes with allow only")
	case d.Behavior == hook.BehaviorDeny:
		return nil
	case d.Interrupt:
		return refuse("interrupt", "goes with deny only")
	case len(d.UpdatedInput) == 0:
		return refuse("updatedInput", "a form is answered with {name: value} for what it asks")
	}
	f, err := formOf(r.ToolInput)
	if err != nil {
		return refuse("updatedInput", "the form cannot be read: "+err.Error())
	}
	given, err := strictjson.Object(d.UpdatedInput)
	if err != nil {
		return refuse("updatedInput", "want a JSON object")
	}
	if why := ambiguous(d.UpdatedInput); why != "" {
		return refuse("updatedInput", why)
	}
	for _, m := range given {
		i := slices.IndexFunc(f.fields, func(x formField) bool { return x.name == m.Key })
		if i < 0 {
			return refuse("updatedInput", m.Key+" is not asked for")
		}
		if why := f.fields[i].check(m.Value); why != "" {
			return refuse("updatedInput", m.Key+" "+why)
		}
	}
	for _, name := range f.required {
		if !slices.ContainsFunc(given, func(m strictjson.Member) bool { return m.Key == name }) {
			return refuse("updatedInput", name+" is missing")
		}
	}
	return nil
}

// check says what is wrong with a value for the field, "" if nothing is.
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

// encodeForm writes an answer as Claude Code takes it: accept with content, decline, or cancel.
func encodeForm(d hook.Decision) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"`)
	switch {
	case d.Behavior == hook.BehaviorAllow:
		b.WriteString(`accept","content":`)
		if err := json.Compact(&b, d.UpdatedInput); err != nil {
			return nil, refuse("updatedInput", "not JSON")
		}
	case d.Interrupt:
		b.WriteString(`cancel"`)
	default:
		b.WriteString(`decline"`)
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}
