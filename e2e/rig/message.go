package rig

import (
	"time"

	"github.com/google/uuid"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// Message is a message to a session, signed by the device.
func (b *BareDevice) Message(session, text string) api.NewMessage {
	return b.MessageAs(uuid.NewString(), session, text)
}

// MessageAs is a message with this id, signed.
func (b *BareDevice) MessageAs(id, session, text string) api.NewMessage {
	m := hook.Message{
		ID: id, Agent: hook.TerminalAgent("here"), SessionID: session, Kind: hook.MessagePrompt, Prompt: text,
		ExpiresAt: time.Now().UTC().Add(time.Hour).Format(time.RFC3339),
	}
	return api.NewMessage{ID: m.ID, Agent: m.Agent, Kind: m.Kind, Prompt: m.Prompt, ExpiresAt: m.ExpiresAt, Signature: b.key.Sign(auth.MessageText(m))}
}
