package show

import "strings"

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
