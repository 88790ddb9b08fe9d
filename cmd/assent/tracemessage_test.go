package main

import (
	"strings"
	"testing"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/devicekey"
	"assent/internal/hook"
)

// Who sent a message stands before its steps, each with its time, the time since the last one, and why.
func TestMessageLines(t *testing.T) {
	at := time.Date(2026, 11, 28, 8, 0, 0, 0, time.Local)
	m := hook.Message{
		ID: "25e5a0e9", Agent: "terminal@here", Kind: hook.MessagePrompt, Prompt: "run\nit\x1b[2J", Way: hook.WayInbox,
		By: hook.Approver{Kind: "device", ID: "d", Name: "Anna's phone"},
		Steps: []hook.MessageStep{
			{State: hook.MessageSent, At: at}, {State: hook.MessageTaken, At: at.Add(5 * time.Millisecond)},
			{State: hook.MessageTaken, At: at.Add(5 * time.Second), Why: "the session had not taken it"}, {State: hook.MessageStarted, At: at.Add(6 * time.Second)},
		},
	}
	key, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	jwk := key.JWK()
	m.PublicKey = &jwk
	if m.Signature, err = key.Sign(auth.MessageText(m)); err != nil {
		t.Fatal(err)
	}
	print := "device:" + auth.Thumbprint(jwk)
	got := strings.Join(messageLines(&m), "\n")
	for _, want := range []string{"prompt to terminal@here, signed with " + print + ", signature verified, by", "Anna's phone", "08:00:00.005  taken     +5ms  by inbox", "+4.995s  by inbox  (the session had not taken it)", "started   +1s"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("a control character reaches the terminal: %q", got)
	}
	for name, change := range map[string]func(*hook.Message){
		"another text":     func(m *hook.Message) { m.Prompt += "!" },
		"another agent":    func(m *hook.Message) { m.Agent = "coder" },
		"another host":     func(m *hook.Message) { m.HostID = "box#0123456789abcdef" },
		"without its key":  func(m *hook.Message) { m.PublicKey = nil },
		"without anything": func(m *hook.Message) { m.PublicKey, m.Signature = nil, "" },
	} {
		other := m
		change(&other)
		if words, fits := messageSigned(&other); fits {
			t.Errorf("%s: %s", name, words)
		}
	}
	m.Prompt, m.Signature, m.Forgotten = "", "", &hook.Forgotten{At: at}
	if got := messageLines(&m)[0]; !strings.Contains(got, "signed (its signature was forgotten") || !strings.Contains(got, "(forgotten)") {
		t.Error(got)
	}
	m.PublicKey, m.By = nil, hook.Approver{Kind: hook.KindOwner, Name: "owner"}
	if got := messageLines(&m)[0]; !strings.Contains(got, "not signed") {
		t.Error(got)
	}
}
