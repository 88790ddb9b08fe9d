package hook

import (
	"strings"
	"time"
)

// MessageEntry is one step of a person's message to an agent as it stands in the record, under MessageRecord and with a
// step of its own, see RecordStep.
type MessageEntry struct {
	// N is the step's place among those of the message, from 0. Where several brokers share the record, each of them can say
	// by it which steps stand there.
	N int `json:"n"`
	// At is when it happened. All but the first may have been recorded later.
	At      time.Time `json:"at"`
	Way     string    `json:"way,omitempty"`     // as Message.Way
	Outcome string    `json:"outcome,omitempty"` // as Message.Outcome
	// Sent is what was sent, of MessageSent.
	Sent *SentMessage `json:"sent,omitempty"`
}

// SentMessage is a message as its sender sent and signed it, with the digest of its text in place of that. It is all
// that the signature covers but the id.
type SentMessage struct {
	Agent        string          `json:"agent"`
	SessionID    string          `json:"sessionId"`
	HostID       string          `json:"hostId,omitempty"`
	Kind         string          `json:"kind"`
	PromptSHA256 string          `json:"promptSha256,omitempty"` // lower-case hex; empty of one without a text
	Options      *MessageOptions `json:"options,omitempty"`
	ExpiresAt    string          `json:"expiresAt"`
	Signature    string          `json:"signature,omitempty"`
	PublicKey    *JWK            `json:"publicKey,omitempty"`
	Verification *Verification   `json:"verification,omitempty"`
}

const (
	messageRecordPrefix = "msg-"
	messageStepPrefix   = "message-"
)

// MessageRecord is what stands in place of a request's id where the record has an entry about the message of this id. The id
// of a request is a UUID, so no request is called that.
func MessageRecord(id string) string { return messageRecordPrefix + id }

// MessageOfRecord is the id of the message in a MessageRecord; false of every other id.
func MessageOfRecord(requestID string) (id string, ok bool) {
	id, ok = strings.CutPrefix(requestID, messageRecordPrefix)
	return id, ok && id != ""
}

// RecordStep is the step of the entry that says that a message came to this state. It is no step of a request: of an
// "ended" without more words, brokers of before would say that it settles one.
func (s MessageState) RecordStep() Step { return Step(messageStepPrefix + string(s)) }

// Message is the state of a message to which an entry with this step says that it came; false of steps of requests and keys.
func (s Step) Message() (state MessageState, ok bool) {
	text, ok := strings.CutPrefix(string(s), messageStepPrefix)
	return MessageState(text), ok
}

// RecordedMessage is a message to an agent of which the record has entries (schema RecordedMessage).
type RecordedMessage struct {
	ID        string    `json:"id"` // as the record calls it, see MessageRecord
	SessionID string    `json:"sessionId"`
	SentAt    time.Time `json:"sentAt"`
}

// MessageQuery says which recorded messages are meant. A zero field means all of them.
type MessageQuery struct {
	Session string
	Since   time.Time // by SentAt
	// After is the ID of the last one of the page before; Limit how many there are on a page.
	After string
	Limit int
}
