package terminal

// How rows are named: tools, inputs and who settled a request.

import (
	"encoding/json"
	"regexp"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// titleOf is what a call is known by: its tool, and one line of its input, as the feed's title has them.
func titleOf(e *feed.Event, name string, input hook.JSON) (label, what string) {
	label = show.Line(name)
	switch kind := tools.Of(name).Kind; {
	case name == hook.EventElicitation:
		label = "Form"
	case kind == tool.Question:
		label = "Question"
	case kind == tool.Plan:
		label = "Plan"
	}
	switch e.Data.(type) {
	case *feed.ToolPostData, *feed.ToolFailureData:
		return label, gist(input)
	}
	title := titleStart.ReplaceAllString(e.Title, "")
	if m := argument.FindStringSubmatch(title); m != nil {
		return label, m[1]
	}
	if title == show.Line(name) {
		title = ""
	}
	return label, title
}

// longGist bounds a gist, in characters.
const longGist = 240

// gist is one line of an input, where no title says it.
func gist(input hook.JSON) string {
	var members map[string]any
	if json.Unmarshal(input, &members) != nil || members == nil {
		return ""
	}
	for _, name := range []string{"command", "file_path", "notebook_path", "url", "pattern", "query", "plan", "description", "prompt"} {
		text, ok := members[name].(string)
		if !ok {
			continue
		}
		if name == "plan" {
			text = strings.TrimLeft(text, "# \t\r\n")
		}
		first, _, more := strings.Cut(text, "\n")
		if r := []rune(first); len(r) > longGist {
			first, more = string(r[:longGist]), true
		}
		if more {
			return show.Line(first) + " …"
		}
		return show.Line(first)
	}
	return show.Short(compact(input), longGist)
}

// settledBy says who did what word says: "Denied on “desk”", "Allowed from the terminal".
func settledBy(word string, by *hook.Approver) string {
	switch by.Kind {
	case hook.KindOwner:
		return word + " from the terminal"
	case "device":
		name := show.Line(by.Name)
		if name == "" {
			name = show.Line(by.ID)
		}
		return word + " on “" + name + "”"
	}
	return word + " by " + approver(by)
}

// approver is who answered, in words.
func approver(by *hook.Approver) string {
	name := show.Line(by.Name)
	if name == "" {
		name = show.Line(by.ID)
	}
	switch {
	case by.Kind == hook.KindRule && by.File != "":
		return "the rule " + name + " in " + show.Line(by.File)
	case by.Kind == hook.KindRule:
		return "the rule " + name
	case name == "":
		return show.Line(by.Kind)
	case others.MatchString(name):
		return "the " + show.Line(by.Kind) + " “" + name + "”"
	}
	return name
}

// others are words for those who are no device: one may call itself that.
var others = regexp.MustCompile(`(?i)rule|terminal|somebody|owner-cli`)
