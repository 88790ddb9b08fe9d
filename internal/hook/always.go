package hook

import "time"

// Proposals are the rules that a request could become, so that the next one like it needs
// nobody (schema Proposals).
type Proposals struct {
	RequestID string `json:"requestId"`
	// Reason says in one sentence why there is none; empty when there is one.
	Reason    string     `json:"reason,omitempty"`
	Proposals []Proposal `json:"proposals"` // the narrowest first
}

// Proposal is a rule that nobody has saved yet.
type Proposal struct {
	// Digest names the rule and the request that it is made from: who saves it repeats it.
	Digest string `json:"digest"`
	// Sentence says what it allows, Warnings what that may mean. Both are safe to look at.
	Sentence string   `json:"sentence"`
	Warnings []string `json:"warnings,omitempty"`
	// Rule is what would stand in a rules file, without the id.
	Rule string `json:"rule"`
	Past Past   `json:"past"`
}

// Past is what a proposal would have answered without a person.
type Past struct {
	// Since is how far back was looked, and Looked at how many requests. Complete is false when
	// there were more than are looked at.
	Since    time.Time `json:"since"`
	Examined int       `json:"examined"`
	Complete bool      `json:"complete"`
	// Matched is how many it would have allowed, and Denied how many of those a person or a
	// rule denied.
	Matched  int           `json:"matched"`
	Denied   int           `json:"denied"`
	Requests []PastRequest `json:"requests"` // the newest of them first, denied ones before all
}

// PastRequest is a request that is over, in short.
type PastRequest struct {
	ID        string    `json:"id"`
	SessionID string    `json:"sessionId"`
	CreatedAt time.Time `json:"createdAt"`
	ToolName  string    `json:"toolName"`
	Text      string    `json:"text"` // one line, safe to look at
	Outcome   Outcome   `json:"outcome"`
}

// Kinds of Saved.
const (
	SavedRule  = "rule"  // until it is revoked
	SavedGrant = "grant" // until its time or its count is over, too
)

// Saved is a rule that an approver had assent remember. The JSON is what the record keeps.
type Saved struct {
	ID       string `json:"id"` // of the rule
	Kind     string `json:"kind"`
	Sentence string `json:"sentence"`
	// Rule is what stands in the rules file, Tests what stands there among the tests.
	Rule  string `json:"rule"`
	Tests string `json:"tests"`
	// RequestID is the request it was made from, Digest the proposal's.
	RequestID   string    `json:"requestId"`
	InputSHA256 string    `json:"inputSha256"`
	Digest      string    `json:"digest"`
	By          Approver  `json:"by"`
	CreatedAt   time.Time `json:"createdAt"`

	// ExpiresAt and Count bound a grant; zero: not by this.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	Count     int       `json:"count,omitempty"`
	// Spent are the requests that a counted grant has allowed, by id, and LastUsed is when it
	// allowed the last of them.
	Spent    []string  `json:"spent,omitempty"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// Used is how many requests it has allowed, counted or not: since the broker started, and of
	// what was revoked before that, until then.
	Used int `json:"used,omitempty"`

	RevokedAt time.Time `json:"revokedAt,omitzero"`
	RevokedBy *Approver `json:"revokedBy,omitempty"`

	// Signature is the device's that saved it, and PublicKey what it was verified with. Bounds
	// are the words that it signed for ExpiresAt.
	Signature string `json:"signature,omitempty"`
	PublicKey *JWK   `json:"publicKey,omitempty"`
	Bounds    string `json:"bounds,omitempty"`
	// Verification is what its maker was verified with, over the same as Signature.
	Verification *Verification `json:"verification,omitempty"`
}

// The states of a Saved.
const (
	StateActive  = "active"
	StateExpired = "expired"
	StateSpent   = "spent"
	StateRevoked = "revoked"
)

// State is how it stands at a time.
func (s *Saved) State(now time.Time) string {
	switch {
	case !s.RevokedAt.IsZero():
		return StateRevoked
	case !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt):
		return StateExpired
	case s.Count > 0 && len(s.Spent) >= s.Count:
		return StateSpent
	}
	return StateActive
}

// Over is when it ended; zero while it is active.
func (s *Saved) Over(now time.Time) time.Time {
	switch s.State(now) {
	case StateRevoked:
		return s.RevokedAt
	case StateExpired:
		return s.ExpiresAt
	case StateSpent:
		return s.LastUsed
	}
	return time.Time{}
}
