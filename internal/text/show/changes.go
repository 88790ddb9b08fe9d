package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Allowed is the input that an approver allowed where it is not the one that was asked for: an
// edited command, a question with its answers, the content of a form.
type Allowed struct {
	// Shown is the call that was allowed; nil of a question or a form.
	Shown *Shown `json:"shown,omitempty"`
	// Changes are the members that differ from what was asked for.
	Changes []Change `json:"changes,omitempty"`
	// Answers are what was answered, in the order of the questions or of the form.
	Answers []Answer `json:"answers,omitempty"`
}

// Shown is a tool call as Request describes it.
type Shown struct {
	Verb   string  `json:"verb"`
	Fields []Field `json:"fields"`
}

func describe(tool string, raw []byte) *Shown {
	verb, fields := Request(tool, raw)
	return &Shown{verb, fields}
}

// Change is a member of a tool's input that was changed, added or left out. Name and texts went
// through Text.
type Change struct {
	Name string `json:"name"`
	// Before is nil for a member that was added, After for one that was left out.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
}

// Answer is the answer to one question of an agent, or the value of one field of a form. Both
// went through Text.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Edited compares the input that was allowed with the one that was asked for. It returns nil
// where the allowed one is empty or says the same, however it is written.
//
// What an agent makes of an approved plan counts, not what is sent to it: members that are left out
// stay as they were.
func Edited(tool string, asked, allowed []byte) *Allowed {
	if len(allowed) == 0 {
		return nil
	}
	if tool == "Elicitation" {
		members, ok := object(allowed)
		if !ok {
			members = []member{{wholeInput, string(allowed)}}
		}
		a := &Allowed{}
		for _, m := range members {
			a.Answers = append(a.Answers, Answer{Text(m.key), answerText(m.raw)})
		}
		return a
	}
	before, okBefore := object(asked)
	after, okAfter := object(allowed)
	if !okBefore || !okAfter {
		if string(asked) == string(allowed) {
			return nil
		}
		b, c := Text(string(asked)), Text(string(allowed))
		return &Allowed{Shown: describe(tool, allowed), Changes: []Change{{wholeInput, &b, &c}}}
	}
	a := &Allowed{}
	question := tool == "AskUserQuestion"
	for _, m := range before {
		i := slices.IndexFunc(after, func(x member) bool { return x.key == m.key })
		was := valueText(m.raw)
		switch {
		case i < 0 && (question || tool == "ExitPlanMode"):
		case i < 0:
			a.Changes = append(a.Changes, Change{Name: fieldName(m.key), Before: &was})
		case !sameValue(m.raw, after[i].raw):
			is := valueText(after[i].raw)
			a.Changes = append(a.Changes, Change{fieldName(m.key), &was, &is})
		}
	}
	for _, m := range after {
		switch {
		case question && m.key == "answers":
			a.Answers = answersOf(before, m.raw)
		case !slices.ContainsFunc(before, func(x member) bool { return x.key == m.key }):
			is := valueText(m.raw)
			a.Changes = append(a.Changes, Change{Name: fieldName(m.key), After: &is})
		}
	}
	if len(a.Changes) == 0 && len(a.Answers) == 0 {
		return nil
	}
	if len(a.Changes) > 0 && !question {
		ran := allowed
		if tool == "ExitPlanMode" {
			ran = withRest(after, before)
		}
		a.Shown = describe(tool, ran)
	}
	return a
}

// Summary is what a person knows a call by, as it came: the command, the file, the address. It is the
// input itself where no one member can be named. The caller makes it safe to look at.
func Summary(tool string, raw []byte) string {
	if first := tools[tool].first; len(first) > 0 {
		if members, ok := object(raw); ok {
			if v := input(members).raw(first[0].key); v != "" && v[0] == '"' {
				return unquote(v)
			}
		}
	}
	return string(raw)
}

// answersOf are the answers in the order of the questions, then those to no question that was asked.
func answersOf(asked []member, raw string) []Answer {
	given, ok := object([]byte(raw))
	if !ok {
		return []Answer{{"answers", answerText(raw)}}
	}
	var out []Answer
	done := map[string]bool{}
	take := func(question string) {
		for _, m := range given {
			if m.key == question && !done[m.key] {
				done[m.key] = true
				out = append(out, Answer{Text(m.key), answerText(m.raw)})
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
		switch sr := surrogate(key[i:]); {
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

// valueText is a value as Request shows it: of a string what it says, of anything else its JSON.
func valueText(raw string) string { return field("", member{"", raw}, KindText).Text }

// answerText is the value of an answer, on one line where it is no string.
func answerText(raw string) string {
	if raw[0] == '"' {
		return Text(unquote(raw))
	}
	return Text(compact(raw))
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

// Lines is the change as lines for a terminal or the body of a message: those that go begin with
// "- ", those that come with "+ ", and around them are some that stay.
func (c Change) Lines() []string {
	switch {
	case c.Before == nil:
		return signed("+ ", *c.After)
	case c.After == nil:
		return signed("- ", *c.Before)
	case !strings.Contains(*c.Before+*c.After, "\n"):
		return append(signed("- ", *c.Before), signed("+ ", *c.After)...)
	}
	before, after := strings.Split(*c.Before, "\n"), strings.Split(*c.After, "\n")
	same := 0 // at the beginning
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	rest := 0 // at the end
	for rest < len(before)-same && rest < len(after)-same && before[len(before)-1-rest] == after[len(after)-1-rest] {
		rest++
	}
	var out []string
	put := func(sign string, lines []string) {
		for _, l := range lines {
			out = append(out, sign+l)
		}
	}
	put("  ", before[max(0, same-around):same])
	put("- ", before[same:len(before)-rest])
	put("+ ", after[same:len(after)-rest])
	put("  ", after[len(after)-rest:min(len(after), len(after)-rest+around)])
	return out
}

// around is how many lines that stay are shown on either side of those that changed.
const around = 3

func signed(sign, text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = sign + lines[i]
	}
	return lines
}

// Summary is all that was changed and answered, as lines: a member's name, then its Lines.
func (a *Allowed) Summary() []string {
	if a == nil {
		return nil
	}
	var out []string
	for _, c := range a.Changes {
		how := " (changed)"
		switch {
		case c.Before == nil:
			how = " (added)"
		case c.After == nil:
			how = " (left out)"
		}
		out = append(out, c.Name+how)
		out = append(out, c.Lines()...)
	}
	for _, x := range a.Answers {
		out = append(out, Join(x))
	}
	return out
}

// Join is a question with its answer on one line.
func Join(x Answer) string {
	return strings.ReplaceAll(x.Question+" → "+x.Answer, "\n", "⏎")
}
