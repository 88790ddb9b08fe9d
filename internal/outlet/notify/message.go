package notify

import (
	"strings"
	"time"
)

// Message is what the service worker of a device gets, encrypted for it alone (schema
// PushMessage). It holds codes; the words are the page's.
type Message struct {
	// Type is asked (one request waits), many (several, since it would be too many to list),
	// settled (nothing new, see Gone) or test.
	Type      string `json:"type"`
	RequestID string `json:"requestId,omitempty"` // of asked
	// Waits says what is waited for: permission, question or plan.
	Waits string `json:"waits,omitempty"`
	// Session is the session's short name, if the device wants it. Foreign text that went through
	// package show.
	Session string `json:"session,omitempty"`
	// Waiting is how many requests the device was told of that still wait, these included.
	Waiting int `json:"waiting"`
	// Gone are requests that it was told of and that wait no more.
	Gone []Gone `json:"gone,omitempty"`
}

// Gone is one of Message.Gone.
type Gone struct {
	// ID is the request's, or "many" when none of those waits that a many was about.
	ID      string `json:"id"`
	Outcome string `json:"outcome,omitempty"` // as in the API; empty when it is not known
}

// The types of a Message.
const (
	typeAsked   = "asked"
	typeMany    = "many"
	typeSettled = "settled"
	typeTest    = "test"
)

// goneMany is the Gone.ID of a many.
const goneMany = "many"

// letter is a Message on its way to one target, with what is done when it has arrived.
type letter struct {
	Message
	deadline time.Time // of asked
	made     time.Time
	items    []*item // that it tells of
	upTo     uint64  // the requests up to here are dealt with
}

// topic lets a push service replace a message that it has not delivered yet by a newer one about
// the same: at most 32 characters of base64url.
func (l *letter) topic() string {
	switch {
	case l.Type == typeAsked:
		return topicOf(l.RequestID)
	case l.Type == typeSettled && len(l.Gone) == 1 && l.Gone[0].ID != goneMany:
		return topicOf(l.Gone[0].ID)
	}
	return l.Type
}

func topicOf(id string) string { return strings.ReplaceAll(id, "-", "") }

// ttl is for how long it is worth delivering, in seconds.
func (l *letter) ttl() int {
	switch l.Type {
	case typeAsked:
		return int(min(24*time.Hour, max(time.Second, l.deadline.Sub(l.made))).Seconds())
	case typeTest:
		return 60
	}
	return 24 * 60 * 60
}
