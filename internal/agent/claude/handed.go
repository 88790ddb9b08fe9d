package claude

import (
	"bytes"
	"time"
)

// Handed is what a line of a transcript says of a text that the session's inbox was handed.
type Handed struct {
	// Queued: the client has it in the queue of what the agent is to read.
	Queued bool
	// Removed: it was taken out of the queue again, by a person in the terminal or on its way to the agent.
	Removed bool
	// Read: it is in the agent's context.
	Read bool
	// At is when, by the client's clock; zero where the line does not say.
	At time.Time
}

// HandedBy reads one line of a session's transcript for what it says of a text, as InboxText makes it. The zero
// value says that it is about something else.
//
// The format is that of Claude Code 2.1.329: each text that the inbox took is a queue-operation of its own,
// before anything else becomes of it; one that the client drops is in no line.
func HandedBy(line []byte, content string) (h Handed) {
	m, ok := once(line)
	if !ok || isTrue(m["isSidechain"]) {
		return h
	}
	at := func() time.Time {
		t, err := time.Parse(time.RFC3339, text(m["timestamp"]))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	switch text(m["type"]) {
	case "queue-operation":
		if text(m["content"]) != content {
			return h
		}
		return Handed{Queued: text(m["operation"]) == "enqueue", Removed: text(m["operation"]) != "enqueue", At: at()}
	case "user":
		if body, ok := once(m["message"]); ok && holdsText(body["content"], content) {
			return Handed{Read: true, At: at()}
		}
	case "attachment":
		// What comes while a turn runs is attached to it at its next tool boundary.
		if a, ok := once(m["attachment"]); ok && text(a["type"]) == "queued_command" && holdsText(a["prompt"], content) {
			return Handed{Read: true, At: at()}
		}
	}
	return h
}

// holdsText says whether a content, a text or blocks of it, holds the text whole. Results of tools and what hooks
// added do not count: they may quote it.
func holdsText(content []byte, whole string) bool {
	joined, ok := blocks(content, "text")
	return ok && bytes.Contains([]byte(joined), bytes.TrimSpace([]byte(whole)))
}
