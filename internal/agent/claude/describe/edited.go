package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/show"
)

func shown(name string, raw []byte) *show.Shown {
	verb, fields := Call(name, raw)
	return &show.Shown{Verb: verb, Fields: fields}
}

// Edited compares the input that was allowed with the one that was asked for. It returns nil
// where the allowed one is empty or says the same, however it is written.
//
// What an agent makes of an approved plan counts, not what is sent to it: members that are left out
// stay as they were.
func Edited(name string, asked, allowed []byte) *show.Allowed {
	if len(allowed) == 0 {
		return nil
	}
	if name == hook.EventElicitation {
		members, ok := object(allowed)
		if !ok {
			members = []member{{wholeInput, string(allowed)}}
		}
		a := &show.Allowed{}
		for _, m := range members {
			a.Answers = append(a.Answers, show.Answer{Question: show.Text(m.key), Answer: answerText(m.raw)})
		}
		return a
	}
	before, okBefore := object(asked)
	after, okAfter := object(allowed)
	if !okBefore || !okAfter {
		if string(asked) == string(allowed) {
			return nil
		}
		b, c := show.Text(string(asked)), show.Text(string(allowed))
		return &show.Allowed{Shown: shown(name, allowed), Changes: []show.Change{{Name: wholeInput, Before: &b, After: &c}}}
	}
	a := &show.Allowed{}
	kind := tools.Of(name).Kind
	question := kind == tool.Question
	for _, m := range before {
		i := slices.IndexFunc(after, func(x member) bool { return x.key == m.key })
		was := valueText(m.raw)
		switch {
		case i < 0 && (question || kind == tool.Plan):
		case i < 0:
			a.Changes = append(a.Changes, show.Change{Name: fieldName(m.key), Before: &was})
		case !sameValue(m.raw, after[i].raw):
			is := valueText(after[i].raw)
			a.Changes = append(a.Changes, show.Change{Name: fieldName(m.key), Before: &was, After: &is})
		}
	}
	for _, m := range after {
		switch {
		case question && m.key == "answers":
			a.Answers = answersOf(before, m.raw)
		case !slices.ContainsFunc(before, func(x member) bool { return x.key == m.key }):
			is := valueText(m.raw)
			a.Changes = append(a.Changes, show.Change{Name: fieldName(m.key), After: &is})
		}
	}
	if len(a.Changes) == 0 && len(a.Answers) == 0 {
		return nil
	}
	if len(a.Changes) > 0 && !question {
		ran := allowed
		if kind == tool.Plan {
			ran = withRest(after, before)
		}
		a.Shown = shown(name, ran)
	}
	return a
}

// Summary is what a person knows a call by, as it came: the command, the file, the address. It is the
// input itself where no one member can be named. The caller makes it safe to look at.
func Summary(name string, raw []byte) string {
	if first := known(name).Members; len(first) > 0 {
		if members, ok := object(raw); ok {
			if v := input(members).raw(first[0].Name); v != "" && v[0] == '"' {
				return unquote(v)
			}
		}
	}
	return string(raw)
}

// answersOf are the answers in the order of the questions, then those to no question that was asked.
func answersOf(asked []member, raw string) []show.Answer {
	given, ok := object([]byte(raw))
	if !ok {
		return []show.Answer{{Question: "answers", Answer: answerText(raw)}}
	}
	var out []show.Answer
	done := map[string]bool{}
	take := func(question string) {
		for _, m := range given {
			if m.key == question && !done[m.key] {
				done[m.key] = true
				out = append(out, show.Answer{Question: show.Text(m.key), Answer: answerText(m.raw)})
			}
		}
	}
	for _, m := range asked {
		if m.key != "questions" {
			continue
		}
		list, _ := elements(m.raw)
		for _, q := range list {
			if members, ok := object([]byte(q)); ok {
				if text := input(members).raw("question"); text != "" && text[0] == '"' {
					take(unquote(text))
				}
			}
		}
	}
	for _, m := range given {
		take(m.key)
	}
	return out
}

// withRest is the object of the members of some, and of those of all that are not in it.
func withRest(some, all []member) []byte {
	var b strings.Builder
	sep := "{"
	add := func(m member) {
		b.WriteString(sep + quote(m.key) + ":" + m.raw)
		sep = ","
	}
	for _, m := range all {
		if i := slices.IndexFunc(some, func(x member) bool { return x.key == m.key }); i >= 0 {
			m = some[i]
		}
		add(m)
	}
	for _, m := range some {
		if !slices.ContainsFunc(all, func(x member) bool { return x.key == m.key }) {
			add(m)
		}
	}
	return []byte(b.String() + "}")
}

// quote writes a member's key as a JSON string again, a lone surrogate as its escape.
func quote(key string) string {
	b := []byte{'"'}
	for i := 0; i < len(key); {
		r, n := utf8.DecodeRuneInString(key[i:])
		switch sr := show.Surrogate(key[i:]); {
		case sr != 0:
			b, n = fmt.Appendf(b, `\u%04x`, sr), 3
		case r < ' ' || r == '"' || r == '\\':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, key[i:i+n]...)
		}
		i += n
	}
	return string(append(b, '"'))
}

// valueText is a value as Call shows it: of a string what it says, of anything else its JSON.
func valueText(raw string) string { return field("", member{"", raw}, show.KindText).Text }

// answerText is the value of an answer, on one line where it is no string.
func answerText(raw string) string {
	if raw[0] == '"' {
		return show.Text(unquote(raw))
	}
	return show.Text(compact(raw))
}

// sameValue reports whether two JSON values say the same: a string however it is escaped, anything
// else however it is spaced and in whatever order members stand.
func sameValue(a, b string) bool {
	if a[0] == '"' && b[0] == '"' {
		return unquote(a) == unquote(b)
	}
	if a, b = compact(a), compact(b); a == b {
		return true
	}
	if strings.Contains(a+b, `\u`) { // encoding/json makes one character of all lone surrogates
		return false
	}
	sorted := func(s string) string {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return s
		}
		out, err := json.Marshal(v)
		if err != nil {
			return s
		}
		return string(out)
	}
	return sorted(a) == sorted(b)
}

// compact is valid JSON without white space between its tokens.
func compact(raw string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return raw
	}
	return b.String()
}
