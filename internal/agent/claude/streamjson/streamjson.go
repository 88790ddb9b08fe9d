// Package streamjson is how Claude Code is spoken to without a terminal (--input-format stream-json,
// --output-format stream-json): the lines that it is written, and those that it writes. Where they come
// from and go to is handed in.
package streamjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// MaxLine is the longest line that is read, in bytes. A longer one is stepped over.
const MaxLine = 16 << 20

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

// Next returns the line that begins at offset, and where the next one begins. It is io.EOF where no whole
// line stands there yet: the agent may be about to write the rest. skipped says that the line was longer than
// MaxLine.
func Next(r io.ReaderAt, offset int64) (text []byte, next int64, skipped bool, err error) {
	buf := make([]byte, 64<<10)
	for at := offset; ; {
		n, err := r.ReadAt(buf, at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			if skipped = skipped || len(text)+i > MaxLine; skipped {
				return nil, at + int64(i) + 1, true, nil
			}
			return append(text, buf[:i]...), at + int64(i) + 1, false, nil
		}
		at += int64(n)
		if skipped = skipped || len(text)+n > MaxLine; skipped {
			text = nil
		} else {
			text = append(text, buf[:n]...)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.EOF
			}
			return nil, offset, false, err
		}
	}
}
