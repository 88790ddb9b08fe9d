package claude

import (
	"encoding/json"

	"assent/internal/hook"
)

// InboxTag is the tag in which Claude Code hands over what other sessions say.
const InboxTag = "cross-session-message"

// InboxText is a message as a session's inbox takes it, in the tags in which Claude Code hands over what
// other sessions say. from is who sent it, without quotes and angle brackets. The prompt of the session's
// UserPromptSubmit event is this text, unchanged.
func InboxText(from, text string) string {
	return "<" + InboxTag + ` from="assent" from-name="` + from + `" from-mode="prompting">` + "\n" + text + "\n</" + InboxTag + ">"
}

// PromptContext is what a UserPromptSubmit hook prints to have the model told something about the prompt:
// at most 10,000 characters.
func PromptContext(text string) []byte {
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	return marshal(struct {
		Output output `json:"hookSpecificOutput"`
	}{output{hook.EventUserPromptSubmit, text}})
}

// GoOn is what a Stop hook prints to have the agent go on with a text. The client lets seven such answers in
// a row pass.
func GoOn(text string) []byte {
	return marshal(struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}{"block", text})
}

// marshal encodes a struct of strings, which cannot fail.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
