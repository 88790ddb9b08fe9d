package executor

import (
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

// A broker that made room for other messages, and is sent one again that ran, is told again what became of it: else
// it would say of it that nobody took it in time.
func TestABrokerThatForgotAMessageIsToldAgain(t *testing.T) {
	order := Order{ID: one, Session: two, Kind: hook.MessagePrompt}
	m := &message{Order: order, state: ended, began: time.Now(), at: time.Now(), outcome: hook.OutcomeCompleted, acked: map[string]bool{}}
	h := &Host{cfg: Config{Logf: t.Logf}, wake: make(chan struct{}, 1), sessions: map[string]*session{}}
	s := &session{h: h, meta: meta{Session: two}, book: book{fresh: true, messages: []*message{m}}}
	h.sessions[two] = s
	first := h.Outbox()
	h.Offer(order)
	if again := h.Outbox(); len(first) == 0 || len(again) != len(first) {
		t.Fatalf("what waits to be acknowledged is said twice: %d, %d frames", len(first), len(again))
	}
	for _, f := range first {
		m.acked[f.ID] = true
	}
	if left := h.Outbox(); len(left) > 0 {
		t.Fatalf("left: %+v", left)
	}
	for range 2 { // it may be offered several times
		h.Offer(order)
	}
	var said []string
	for _, f := range h.Outbox() {
		if f.Message != one || f.Type == api.HostEnded && f.Outcome != hook.OutcomeCompleted {
			t.Errorf("%+v", f)
		}
		said = append(said, f.Type)
	}
	if len(said) != 3 || said[0] != api.HostTaken || said[1] != api.HostStarted || said[2] != api.HostEnded || len(h.offers) > 0 {
		t.Errorf("said %v, offers %d", said, len(h.offers))
	}
	for _, f := range h.Outbox() {
		h.Acked(f.ID, true)
	}
	if left := h.Outbox(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}
