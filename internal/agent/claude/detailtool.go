package claude

import (
	"encoding/json"
	"html"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// toolArg returns what a person knows a call by: one member, the questions of a question, and
// for everything else the input itself. So it does where the member is repeated, is spelled a
// second way or is no text: a title must not name another file than the one that is meant.
func toolArg(name string, input []byte) string {
	if len(input) == 0 {
		return ""
	}
	ms, err := strictjson.Object(input)
	if err != nil || len(ms) == 0 {
		return "" // {}
	}
	t := tools.Of(name)
	if t.Kind == tool.Question {
		if q := questions(input); q != "" {
			return q
		}
	}
	key := t.Title
	if key == "" {
		return string(input)
	}
	var value []byte
	for _, m := range ms {
		if strictjson.Fold(m.Key) == strictjson.Fold(key) {
			if value != nil || m.Key != key {
				return string(input)
			}
			value = m.Value
		}
	}
	if len(value) == 0 || value[0] != '"' {
		return string(input)
	}
	return text(value)
}

// questions are the texts of all questions of an AskUserQuestion.
func questions(input []byte) string {
	if ambiguous(input) != "" {
		return ""
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(fields(input)["questions"], &list) != nil {
		return ""
	}
	var all []string
	for _, q := range list {
		if t := text(q["question"]); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, " ")
}

// resultText is the readable part of a tool's result: of a text the text, of a command what it
// printed, of content blocks their texts, of a question the answers, and of everything else
// its JSON.
func resultText(response []byte) string {
	switch response[0] {
	case '"':
		return text(response)
	case '[':
		var blocks []map[string]json.RawMessage
		if json.Unmarshal(response, &blocks) != nil {
			break
		}
		var all []string
		for _, b := range blocks {
			if t := text(b["text"]); t != "" {
				all = append(all, t)
			}
		}
		if len(all) > 0 {
			return strings.Join(all, "\n")
		}
	case '{':
		f := fields(response)
		if _, ok := f["stdout"]; ok {
			out := strings.TrimRight(text(f["stdout"]), "\n")
			if e := strings.TrimRight(text(f["stderr"]), "\n"); e != "" {
				if out != "" {
					out += "\n"
				}
				out += e
			}
			return out
		}
		if a, ok := f["answers"]; ok {
			if s := answers(a); s != "" {
				return s
			}
		}
		for _, key := range []string{"result", "content", "text", "message", "error"} {
			if t := text(f[key]); t != "" {
				return t
			}
		}
	case 'n': // null
		return ""
	}
	return string(response)
}

// answers are the answers to questions, in the order in which they were written.
func answers(v []byte) string {
	ms, err := strictjson.Object(v)
	if err != nil {
		return ""
	}
	var lines []string
	for _, m := range ms {
		a := text(m.Value)
		if a == "" {
			a = string(m.Value)
		}
		lines = append(lines, m.Key+" "+a)
	}
	return strings.Join(lines, "\n")
}

// sessionMessage reads a message that another program, or another session, put into this one:
// Claude Code wraps it in <cross-session-message from="…" from-name="…" from-mode="…">. Only a
// wrapper that is all of the prompt is one.
func sessionMessage(prompt string) (hook.Notice, bool) {
	const open, end = "<cross-session-message", "</cross-session-message>"
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), open)
	if !ok {
		return hook.Notice{}, false
	}
	n := hook.Notice{Kind: "session_message"}
	sender := ""
	for {
		rest = strings.TrimLeft(rest, " \t\n")
		if after, ok := strings.CutPrefix(rest, ">"); ok {
			rest = after
			break
		}
		name, after, ok := strings.Cut(rest, `="`)
		value, tail, closed := strings.Cut(after, `"`)
		if !ok || !closed || name == "" || strings.ContainsAny(name, "<> \t\n\"") {
			return hook.Notice{}, false
		}
		switch name {
		case "from":
			sender = value
		case "from-name":
			n.From = value
		}
		rest = tail
	}
	text, ok := strings.CutSuffix(rest, end)
	if !ok || strings.Contains(text, end) {
		return hook.Notice{}, false
	}
	if n.From == "" {
		n.From = sender
	}
	n.From, n.Summary = html.UnescapeString(n.From), strings.Trim(text, "\n")
	return n, true
}

// taskNotice reads the notice that Claude Code writes in place of a prompt when a background
// task ended. It is no XML: only its own few tags are looked for, each once, in order.
func taskNotice(prompt string) hook.Notice {
	const open = "<task-notification>"
	if n, ok := sessionMessage(prompt); ok {
		return n
	}
	if !strings.HasPrefix(prompt, open) {
		return hook.Notice{}
	}
	// What follows the result is the subagent's own words, and may hold the same tags.
	head, _, _ := strings.Cut(prompt[len(open):], "<result>")
	tag := func(name string) string {
		_, rest, ok := strings.Cut(head, "<"+name+">")
		if !ok {
			return ""
		}
		value, _, ok := strings.Cut(rest, "</"+name+">")
		if !ok {
			return ""
		}
		return strings.TrimSpace(value)
	}
	return hook.Notice{
		Kind:   "task_notification",
		TaskID: tag("task-id"), ToolUseID: tag("tool-use-id"), Status: tag("status"), Summary: tag("summary"),
	}
}
