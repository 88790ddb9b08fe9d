package feed_test

import (
	"strings"
	"testing"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
)

// The wrapper of a message from another session is not shown.
func TestSessionMessage(t *testing.T) {
	s := feed.New("s")
	raw := `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"<cross-session-message from=\"uds:/x\" from-name=\"assent phone\" from-mode=\"prompting\">\ndo \u202eit\n</cross-session-message>"}`
	shown := ""
	for _, e := range event(hook.Event{ID: "m", Agent: "claude", Type: "UserPromptSubmit", Raw: []byte(raw), Time: time.Unix(1795183200, 0)}).fold(s) {
		shown += e.Title + "\n" + e.Body + "\n"
	}
	if !strings.Contains(shown, "✉ From assent phone: do ⟦U+202E⟧it") || strings.Contains(shown, "cross-session") {
		t.Errorf("%s", shown)
	}
}

// Nobody sits at the terminal of a run that has none, and nobody answered there.
func TestWithdrawnWords(t *testing.T) {
	for _, attended := range []string{"", hook.AttendedYes, hook.AttendedNo} {
		for _, reason := range []string{hook.ReasonToolRan, hook.ReasonHangup, hook.ReasonTurnEnded} {
			s := feed.New("s")
			raw := `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`
			event(hook.Event{ID: "q", Agent: "claude", Type: "PermissionRequest", Raw: []byte(raw), Time: time.Unix(1795183200, 0), Origin: hook.Origin{Attended: attended}}).fold(s)
			out := s.Record(hook.Record{RequestID: "q", Step: hook.StepEnded, Outcome: hook.Withdrawn, Reason: reason})
			if len(out) != 1 || strings.Contains(out[0].Title, "in the terminal") != (attended != hook.AttendedNo) {
				t.Errorf("attended %q, %s: %+v", attended, reason, out)
			}
		}
	}
}
