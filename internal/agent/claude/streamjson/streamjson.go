// Package streamjson is how Claude Code is spoken to without a terminal (--input-format stream-json,
// --output-format stream-json): the lines that it is written, and those that it writes. Where they come
// from and go to is handed in.
package streamjson

import "encoding/json"

// Prompt is the line that gives a session a prompt, with its line feed. uuid tells prompts apart: the
// client runs no second one of the same uuid, also not after a resume.
func Prompt(uuid, session, text string) []byte {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	return line(struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
		UUID    string  `json:"uuid"`
		Parent  *string `json:"parent_tool_use_id"`
		Session string  `json:"session_id"`
	}{"user", message{"user", text}, uuid, nil, session})
}

// Usage is the line that asks what was spent so far. It is answered at once, also within a turn.
func Usage(requestID string) []byte {
	type request struct {
		Subtype string `json:"subtype"`
	}
	return line(struct {
		Type    string  `json:"type"`
		ID      string  `json:"request_id"`
		Request request `json:"request"`
	}{"control_request", requestID, request{"get_usage"}})
}

// Interrupt is the line that ends the turn that runs, and what is queued behind it.
func Interrupt(requestID string) []byte {
	type request struct {
		Subtype string `json:"subtype"`
		Queued  bool   `json:"cancel_queued"`
	}
	return line(struct {
		Type    string  `json:"type"`
		ID      string  `json:"request_id"`
		Request request `json:"request"`
	}{"control_request", requestID, request{"interrupt", true}})
}

func line(v any) []byte {
	b, _ := json.Marshal(v) // of strings and truth values only
	return append(b, '\n')
}
