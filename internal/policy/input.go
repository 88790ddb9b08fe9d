package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoded is all text of a JSON value, with its escapes resolved.
func decoded(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(utf8.RuneError)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(utf8.RuneError)
	}
	return strings.ReplaceAll(string(b), `\ufffd`, string(utf8.RuneError))
}

// member is one member of a tool's input.
type member struct {
	key   string
	value json.RawMessage
}

// maxMembers is how many members an input may have.
const maxMembers = 100

// members reads a JSON object with exact keys. A key that stands there twice, or with a
// difference of case only, is a problem: readers differ in which one they take. The first one
// is kept then, so that rules that deny see something.
func members(raw json.RawMessage) ([]member, string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, "is missing"
	case !json.Valid(raw):
		return nil, "is not JSON"
	case raw[0] != '{':
		return nil, "is no JSON object"
	}
	// From here on the text is known to be JSON: strings end, and brackets are in pairs.
	var all []member
	problem := ""
	for i := 1; ; {
		i += space(raw[i:])
		if raw[i] == '}' {
			return all, problem
		}
		if raw[i] == ',' {
			i++
			i += space(raw[i:])
		}
		n := valueLength(raw[i:])
		key := text(raw[i : i+n])
		i += n
		i += space(raw[i:]) + 1 // the colon
		i += space(raw[i:])
		n = valueLength(raw[i:])
		twice := slices.ContainsFunc(all, func(m member) bool { return strings.EqualFold(m.key, key) })
		if twice {
			problem = "has the member " + quote(key) + " twice"
		}
		if len(all) == maxMembers {
			return all, "has too many members"
		}
		if !twice || !slices.ContainsFunc(all, func(m member) bool { return m.key == key }) {
			all = append(all, member{key, raw[i : i+n]})
		}
		i += n
	}
}

func space(raw []byte) int {
	i := 0
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r' {
		i++
	}
	return i
}

// valueLength is the length of the value at the start of a text that is known to be JSON.
func valueLength(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// text decodes a JSON string that is known to be one.
func text(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	if s, ok := unescaped(raw[1 : len(raw)-1]); ok {
		return s
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(utf8.RuneError)
	}
	return s
}

// unescaped resolves the escapes that commands have: \" \\ \n \t. It spares them package json,
// whose way to the same text takes as long as half of the parsing.
func unescaped(raw []byte) (string, bool) {
	var b strings.Builder
	b.Grow(len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			b.Write(raw)
			return b.String(), utf8.ValidString(b.String())
		}
		b.Write(raw[:i])
		c, rest := raw[i+1], raw[i+2:] // it is JSON: something follows
		switch c {
		case '"', '\\':
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'u': // some write \u0026 for &
			code, err := strconv.ParseUint(string(rest[:4]), 16, 16)
			if err != nil || code >= utf8.RuneSelf {
				return "", false
			}
			c, rest = byte(code), rest[4:]
		default:
			return "", false
		}
		b.WriteByte(c)
		raw = rest
	}
}

// member returns the value of a member, nil when there is none.
func (e *scope) member(key string) json.RawMessage {
	for i := range e.input {
		if e.input[i].key == key {
			return e.input[i].value
		}
	}
	return nil
}

// text returns a member that is a text.
func (e *scope) text(key string) (string, bool) {
	raw := e.member(key)
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return text(raw), true
}
