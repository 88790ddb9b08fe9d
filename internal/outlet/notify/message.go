package notify

import (
	"strings"
	"time"

	"assent/internal/hook"
)

// Message is what the service worker of a device gets, encrypted for it alone (schema
// PushMessage). It holds codes; the words are the page's.
type Message struct {
	// Type is asked (one request waits), many (several, since it would be too many to list),
	// settled (nothing new, see Gone), waits (one has waited for long), finished and failed (an agent's
	// turn ended), blocked (a session has to be allowed more), halted (see Halt) or test.
	Type      string `json:"type"`
	RequestID string `json:"requestId,omitempty"` // of asked and waits
	// Waits says what is waited for: permission, question or plan; of blocked, budget or time.
	Waits string `json:"waits,omitempty"`
	// Session is the session's short name, if the device wants it. Foreign text that went through
	// package show.
	Session string `json:"session,omitempty"`
	// Agent is what people call the agent, once another than Claude Code was heard of.
	Agent string `json:"agent,omitempty"`
	// Project, Risk and Effects say what the request is about, and Sentence says it in one, if the device
	// wants them. The project's name is foreign text that went through package show; the others are
	// assent's words about the request, scrubbed: no URL but its host, and no secret.
	Project  string    `json:"project,omitempty"`
	Risk     hook.Risk `json:"risk,omitempty"`
	Effects  []string  `json:"effects,omitempty"` // as in the schema Effect
	Sentence string    `json:"sentence,omitempty"`
	// SessionID, of finished, failed and blocked, is the session's id: what a tap opens.
	SessionID string `json:"sessionId,omitempty"`
	// Reply, of finished, is the id of the session, where the device may send a message to it now.
	Reply string `json:"reply,omitempty"`
	// Halt is an act on everything (hook.HaltStop and its like), By who did it, and Until when a pause
	// ends.
	Halt  string    `json:"halt,omitempty"`
	By    string    `json:"by,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// Waiting is how many requests still wait of which the device was notified, with these.
	Waiting int `json:"waiting"`
	// Gone are requests of which it was notified and that do not wait any more.
	Gone []Gone `json:"gone,omitempty"`
}

// Gone is one of Message.Gone.
type Gone struct {
	// ID is the request's, or "many" when none of the requests waits any more that a message of type
	// many was about.
	ID      string `json:"id"`
	Outcome string `json:"outcome,omitempty"` // as in the API; empty when it is not known
}

// The types of a Message.
const (
	typeAsked   = "asked"
	typeMany    = "many"
	typeSettled = "settled"
	typeTest    = "test"

	typeWaits    = "waits"
	typeFinished = "finished"
	typeFailed   = "failed"
	typeBlocked  = "blocked"
	typeHalted   = "halted"
)

// What a blocked session waits for.
const (
	waitsBudget = "budget"
	waitsTime   = "time"
)

// goneMany is the Gone.ID of a many.
const goneMany = "many"

// delivery is a Message on its way to one target, with what is done when it has arrived.
type delivery struct {
	Message
	deadline time.Time // of asked
	made     time.Time
	items    []*item // of which it notifies
	news     *news   // of finished, failed, blocked and halted
	waits    *item   // of waits
	aside    int     // asideWaits and its like, where it is of no items
	upTo     uint64  // the requests up to here are dealt with
}

// topic lets a push service replace a message that it has not delivered yet by a newer one about
// the same: at most 32 characters of base64url.
func (d *delivery) topic() string {
	switch {
	case d.Type == typeAsked, d.Type == typeWaits:
		return topicOf(d.RequestID)
	case d.Type == typeSettled && len(d.Gone) == 1 && d.Gone[0].ID != goneMany:
		return topicOf(d.Gone[0].ID)
	}
	return d.Type
}

func topicOf(id string) string { return strings.ReplaceAll(id, "-", "") }

// ttl is for how long it is worth delivering, in seconds.
func (d *delivery) ttl() int {
	switch d.Type {
	case typeAsked:
		return int(min(24*time.Hour, max(time.Second, d.deadline.Sub(d.made))).Seconds())
	case typeTest:
		return 60
	case typeFinished, typeFailed, typeWaits:
		return 60 * 60
	}
	return 24 * 60 * 60
}
