package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/text/strictjson"
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

// maxMembers is how many members an input may have.
const maxMembers = 100

// members reads a JSON object with exact keys. A key that stands there twice, or that some reader
// may take for another one, is a problem: readers differ in which one they take. The first one is
// kept then, so that rules that deny see something.
func members(raw json.RawMessage) ([]strictjson.Member, string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, "is missing"
	}
	all, err := strictjson.Object(raw)
	switch {
	case errors.Is(err, strictjson.ErrNotObject):
		return nil, "is no JSON object"
	case err != nil:
		return nil, "is not JSON"
	}
	problem := ""
	if key, twice := strictjson.Repeated(all); twice {
		problem = "has the member " + quote(key) + " twice"
		seen := map[string]bool{}
		all = slices.DeleteFunc(all, func(m strictjson.Member) bool {
			again := seen[m.Key]
			seen[m.Key] = true
			return again
		})
	}
	if len(all) > maxMembers {
		return all[:maxMembers], "has too many members"
	}
	return all, problem
}

// member returns the value of a member, nil when there is none.
func (e *scope) member(key string) json.RawMessage {
	for i := range e.input {
		if e.input[i].Key == key {
			return e.input[i].Value
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
	return strictjson.Text(raw), true
}
