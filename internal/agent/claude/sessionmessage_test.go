package claude_test

import (
	"encoding/json"
	"testing"

	"assent/internal/agent/claude"
	"assent/internal/hook"
)

// A message of another session is read out of its wrapper, if the wrapper is all there is.
func TestSessionMessage(t *testing.T) {
	for prompt, want := range map[string]hook.Notice{
		"<cross-session-message from=\"uds:/run/assent\" from-name=\"assent phone\" from-mode=\"prompting\">\nSIGNED-1 do it\n</cross-session-message>": {Kind: "session_message", From: "assent phone", Summary: "SIGNED-1 do it"},
		"<cross-session-message from=\"a &amp; b\">two\n\nlines </cross-session-message>\n":                                                             {Kind: "session_message", From: "a & b", Summary: "two\n\nlines "},
		"<cross-session-message>x</cross-session-message>":                                                                                              {Kind: "session_message", Summary: "x"},
		"look: <cross-session-message from=\"a\">x</cross-session-message>":                                                                             {},
		"<cross-session-message from=\"a\">x</cross-session-message> and more":                                                                          {},
		"<cross-session-message from=\"a\">x</cross-session-message>y</cross-session-message>":                                                          {},
		"<cross-session-message from=\"a>x</cross-session-message>":                                                                                     {},
		"<cross-session-message <b=\"a\">x</cross-session-message>":                                                                                     {},
		"<cross-session-message": {},
	} {
		raw, err := json.Marshal(map[string]string{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": prompt})
		if err != nil {
			t.Fatal(err)
		}
		if got := (claude.Agent{}).Detail("UserPromptSubmit", raw).Notice; got != want {
			t.Errorf("%q\n got %+v\nwant %+v", prompt, got, want)
		}
	}
}
