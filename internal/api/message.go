package api

import (
	"encoding/json"

	"assent/internal/hook"
)

// The types of Message.
const (
	MessageSnapshot = "snapshot" // Epoch, Seq, Requests, Sessions
	MessageChanges  = "changes"  // Epoch, Seq, Changes
	MessageSessions = "sessions" // Sessions
	MessageRules    = "rules"    // Allowing, Problems
	MessageHalt     = "halt"     // Halt
	MessageMessages = "messages" // Messages
	MessageAgents   = "agents"   // Agents
	MessageFeed     = "feed"     // SessionID, Reset, Events
)

// Message is what a client reads from the WebSocket (schema ws/Message); Type says which members it
// has. The server writes snapshots, changes, sessions and feeds around objects that it has encoded
// once for all clients, and so by hand.
type Message struct {
	Type string `json:"type"`

	Epoch    string     `json:"epoch,omitempty"`
	Seq      uint64     `json:"seq,omitempty"`
	Requests []*Request `json:"requests,omitempty"`
	Changes  []Change   `json:"changes,omitempty"`
	Sessions []Session  `json:"sessions,omitempty"`

	Allowing bool               `json:"allowing,omitempty"`
	Problems []hook.RuleProblem `json:"problems,omitempty"`

	Halt *Halt `json:"halt,omitempty"`

	Messages []hook.Message `json:"messages,omitempty"` // to sessions, those that changed

	Agents []Agent `json:"agents,omitempty"` // of all hosts, as they are now

	SessionID string            `json:"sessionId,omitempty"`
	Reset     bool              `json:"reset,omitempty"`  // the feed begins again
	Events    []json.RawMessage `json:"events,omitempty"` // schema feed/Event
}

// Change is one change of a request.
type Change struct {
	Seq     uint64   `json:"seq"`
	Request *Request `json:"request"`
}

// MessagesMessage is a Message of type MessageMessages.
type MessagesMessage struct {
	Type     string         `json:"type"`
	Messages []hook.Message `json:"messages"`
}

// RulesMessage is a Message of type MessageRules as the server writes it: with members that a client
// may leave out.
type RulesMessage struct {
	Type     string             `json:"type"`
	Allowing bool               `json:"allowing"`
	Problems []hook.RuleProblem `json:"problems"`
}
