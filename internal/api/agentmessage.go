package api

import "assent/internal/hook"

// NewMessage is what is posted to send text to the agent of a session (schema NewMessage).
type NewMessage struct {
	// ID is a UUID that the sender chooses: the same one again is the same message.
	ID        string `json:"id"`
	Agent     string `json:"agent,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Prompt    string `json:"prompt"`
	ExpiresAt string `json:"expiresAt,omitempty"` // RFC 3339; empty: in ten minutes
	// Signature is the device's; a device must send one, and Agent, Kind and ExpiresAt with it.
	Signature    string             `json:"signature,omitempty"`
	Verification *hook.Verification `json:"verification,omitempty"`
}
