package install

import (
	"encoding/json"
	"strings"
)

// Format is a file of hooks of another agent than Claude Code, in the same shape: an object hooks, with a
// list of groups for each event.
type Format struct {
	Agent  string   // its name for people
	Path   string   // absolute
	Events []string // a hook is written for each
	// Handler is the hook of an event, as JSON on one line.
	Handler func(event string) string
	// Matcher says which tools the hook of an event is for, in the agent's own pattern; "" for all. nil: all,
	// of every event.
	Matcher func(event string) string
	// Comments says that the agent reads a file with comments, BOM that it reads one that begins with a byte order
	// mark. What it does not read, it ignores as a whole.
	Comments, BOM bool
	// Whole is the text of a file that is assent's alone, in the place of Handler.
	Whole []byte
	// Notes are what a person should know besides.
	Notes []Note
}

// line is the hook of an event, on one line.
func (o Options) line(event string) string {
	if o.Format != nil {
		return o.Format.Handler(event)
	}
	return o.handler(event).line()
}

// matcher is the pattern of the tools that the hook of an event is for, "" for all.
func (o Options) matcher(event string) string {
	if o.Format == nil || o.Format.Matcher == nil {
		return ""
	}
	return o.Format.Matcher(event)
}

// agent is the name of the agent, for people.
func (o Options) agent() string {
	if o.Format != nil {
		return o.Format.Agent
	}
	return "Claude Code"
}

// events are those that hooks are written for.
func (o Options) events() ([]string, error) {
	if o.Format != nil {
		return o.Format.Events, nil
	}
	return Events(o.Versions)
}

// CommandHook is the hook that runs these words by a shell, as JSON on one line. The unit of timeout is the agent's.
func CommandHook(words []string, timeout int) string { return ShellHook(CommandLine(words), timeout) }

// ShellHook is the hook that gives a shell this line, as JSON on one line.
func ShellHook(line string, timeout int) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	_ = e.Encode(struct {  // texts and a number
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}{"command", line, timeout})
	return strings.TrimSuffix(b.String(), "\n")
}

// CommandLine are these words for a POSIX shell.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote makes a text one word of a POSIX shell, for agents that run their hooks by one.
func Quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
