package api

import (
	"encoding/json"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
)

// Session is a session of an agent (schema SessionInfo). Who waits in it is the broker's to say;
// most of the rest comes from history, and is absent without one.
type Session struct {
	SessionID   string `json:"sessionId"`
	CWD         string `json:"cwd,omitempty"`
	QueueCount  int    `json:"queueCount"`
	Agent       string `json:"agent,omitempty"`
	AgentTitle  string `json:"agentTitle,omitempty"` // what people call it
	hook.Origin        // host, pid, agentLabel, projectDir, repo

	PermissionMode string    `json:"permissionMode,omitempty"`
	LastEvent      string    `json:"lastEvent,omitempty"`
	LastEventAt    time.Time `json:"lastEventAt,omitzero"`
	StartedAt      time.Time `json:"startedAt,omitzero"`

	// QueueCount in its two parts: questions and plans are no permissions.
	PermissionQueueCount int `json:"permissionQueueCount"`
	QuestionQueueCount   int `json:"questionQueueCount"`

	// AgentProcess is AgentRuns or AgentGone where that can be told.
	AgentProcess string `json:"agentProcess,omitempty"`

	// Only history knows the rest.
	Title      string          `json:"title,omitempty"` // one line, safe to show
	State      feed.AgentState `json:"state,omitempty"`
	StateSince time.Time       `json:"stateSince,omitzero"`
	TurnOver   bool            `json:"turnOver,omitempty"` // people are told so; State says working for a minute more
	// LastTurn is how the session's last turn ended, where a host says that it was not completed and nothing was
	// heard of the session since: a few words for people, in place of State's.
	LastTurn   string       `json:"lastTurn,omitempty"`
	EndedAt    time.Time    `json:"endedAt,omitzero"`
	Model      string       `json:"model,omitempty"`
	CurrentRun *feed.Run    `json:"currentRun,omitempty"`
	Actors     []feed.Actor `json:"actors,omitempty"`
	Tasks      []feed.Task  `json:"tasks,omitempty"`
	LastPos    uint64       `json:"lastPos,omitempty"` // of its newest event
}

// The values of Session.AgentProcess.
const (
	AgentRuns = "running"
	AgentGone = "gone"
)

// Found is one event that a search found (schema Found).
type Found struct {
	// ID is what a search goes on behind. It is new when history is made anew.
	ID    uint64 `json:"id"`
	Title string `json:"sessionTitle,omitempty"`
	// Agent is the session's, AgentTitle what people call it.
	Agent      string          `json:"agent,omitempty"`
	AgentTitle string          `json:"agentTitle,omitempty"`
	Event      json.RawMessage `json:"event"` // schema feed/Event
}
