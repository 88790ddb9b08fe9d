package claude

import (
	"bytes"
	"encoding/json"
	"strings"

	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// maxTranscriptLines bounds how far Said looks back; a line of a transcript is seldom below 200 bytes.
const maxTranscriptLines = 1024

// Said reads the end of a transcript, whole lines of JSON, for what the agent said last since the newest
// prompt. Where there is nothing, why is hook.SaidNothing or hook.SaidBeyond. A line that cannot be read,
// or holds a key twice, says nothing.
//
// The format is that of Claude Code 2.1.329. Each content block of a message is a line of its own, with
// the message's id; a subagent has a file of its own, in which all lines are marked as a sidechain.
func (Agent) Said(tail []byte, subagent bool) (said, why string) {
	var parts []string // the last first
	message := ""
	for range maxTranscriptLines {
		tail = bytes.TrimRight(tail, "\n")
		if len(tail) == 0 {
			break
		}
		from := bytes.LastIndexByte(tail, '\n') + 1
		line := readLine(tail[from:], subagent)
		tail = tail[:from]
		switch {
		case line.prompt || len(parts) > 0 && line.message != "" && line.message != message:
			return joined(parts, hook.SaidNothing)
		case line.text != "":
			parts, message = append(parts, line.text), line.message
		}
	}
	return joined(parts, hook.SaidBeyond)
}

// joined puts parts in order; without any, why says why.
func joined(parts []string, why string) (string, string) {
	if len(parts) == 0 {
		return "", why
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
		if i > 0 {
			b.WriteString("\n\n")
		}
	}
	return b.String(), ""
}

// transcriptLine is what a line means to Said; the zero value means nothing.
type transcriptLine struct {
	prompt  bool   // a prompt, of a person or in the place of one
	message string // the agent's message that it is part of
	text    string // what it says
}

func readLine(raw []byte, subagent bool) (line transcriptLine) {
	// Most of a transcript are results of tools. In a text the quotes would be escaped.
	if !bytes.Contains(raw, []byte(`"assistant"`)) && (!bytes.Contains(raw, []byte(`"user"`)) || bytes.Contains(raw, []byte(`"tool_result"`))) {
		return line
	}
	m, ok := once(raw)
	if !ok || isTrue(m["isSidechain"]) != subagent || isTrue(m["isMeta"]) || isTrue(m["isApiErrorMessage"]) {
		return line
	}
	body, ok := once(m["message"])
	if !ok {
		return line
	}
	switch text(m["type"]) {
	case "user":
		_, isResult := blocks(body["content"], "tool_result")
		line.prompt = !isResult
	case "assistant":
		if text(body["model"]) == "<synthetic>" { // the agent's program says it
			return line
		}
		line.message = text(body["id"])
		line.text, _ = blocks(body["content"], "text")
	}
	return line
}

// blocks are the texts of all blocks of a kind in a message's content, and whether there is one. A
// content that is a text is one block of text.
func blocks(content []byte, kind string) (joined string, found bool) {
	if len(content) > 0 && content[0] == '"' {
		return strings.TrimSpace(text(content)), kind == "text"
	}
	var all []json.RawMessage
	if json.Unmarshal(content, &all) != nil {
		return "", false
	}
	var parts []string
	for _, raw := range all {
		b, ok := once(raw)
		if !ok || text(b["type"]) != kind {
			continue
		}
		found = true
		if t := strings.TrimSpace(text(b["text"])); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n\n"), found
}

// once takes an object apart whose keys stand in it once.
func once(raw []byte) (map[string][]byte, bool) {
	members, err := strictjson.Object(raw)
	if err != nil {
		return nil, false
	}
	m := make(map[string][]byte, len(members))
	for _, x := range members {
		if _, twice := m[x.Key]; twice {
			return nil, false
		}
		m[x.Key] = x.Value
	}
	return m, true
}

func isTrue(raw []byte) bool { return string(raw) == "true" }
