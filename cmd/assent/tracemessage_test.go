package main

import (
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

// Who sent a message stands before its steps, each with its time, the time since the last one, and why.
func TestMessageLines(t *testing.T) {
	at := time.Date(2026, 11, 28, 8, 0, 0, 0, time.Local)
	m := hook.Message{
		ID: "25e5a0e9", Agent: "terminal@here", Kind: hook.MessagePrompt, Prompt: "run\nit\x1b[2J", Way: hook.WayInbox, Signature: "x",
		By: hook.Approver{Kind: "device", ID: "d", Name: "Anna's phone"},
		Steps: []hook.MessageStep{
			{State: hook.MessageSent, At: at}, {State: hook.MessageTaken, At: at.Add(5 * time.Millisecond)},
			{State: hook.MessageTaken, At: at.Add(5 * time.Second), Why: "the session had not taken it"}, {State: hook.MessageStarted, At: at.Add(6 * time.Second)},
		},
	}
	got := strings.Join(messageLines(&m), "\n")
	for _, want := range []string{"prompt to terminal@here, signed by", "Anna's phone", "08:00:00.005  taken     +5ms  by inbox", "+4.995s  by inbox  (the session had not taken it)", "started   +1s"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("a control character reaches the terminal: %q", got)
	}
	m.Prompt, m.Signature = "", ""
	if got := messageLines(&m)[0]; !strings.Contains(got, "not signed") || !strings.Contains(got, "(forgotten)") {
		t.Error(got)
	}
}
