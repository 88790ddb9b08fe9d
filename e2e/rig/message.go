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

// AgentMessage is a message to an agent of a host, signed by the device for that host.
func (b *BareDevice) AgentMessage(agent api.Agent, session, kind, prompt string, options *hook.MessageOptions) api.NewAgentMessage {
	m := hook.Message{
		ID: uuid.NewString(), Agent: agent.Name, HostID: agent.HostID, SessionID: session, Kind: kind, Prompt: prompt, Options: options,
		ExpiresAt: time.Now().UTC().Add(time.Hour).Format(time.RFC3339),
	}
	return api.NewAgentMessage{
		ID: m.ID, Agent: m.Agent, SessionID: m.SessionID, HostID: m.HostID, Kind: m.Kind, Prompt: m.Prompt, Options: m.Options, ExpiresAt: m.ExpiresAt,
		Signature: b.key.Sign(auth.MessageText(m)),
	}
}
