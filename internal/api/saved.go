package api

import (
	"time"

	"assent/internal/hook"
)

// Rules are the rules in force, what is wrong with their files, and which of them approvers had
// assent save (schema Rules).
type Rules struct {
	hook.InForce
	Saved []Saved `json:"saved"`
}

// Saved is a rule or a grant that an approver had assent save (schema Saved).
type Saved struct {
	ID        string        `json:"id"`
	Kind      string        `json:"kind"`  // hook.SavedRule, hook.SavedGrant
	State     string        `json:"state"` // hook.StateActive and its like
	Sentence  string        `json:"sentence"`
	Rule      string        `json:"rule"`
	RequestID string        `json:"requestId"`
	By        hook.Approver `json:"by"`
	CreatedAt time.Time     `json:"createdAt"`
	// ExpiresAt and Count bound a grant; zero: not by this.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	Count     int       `json:"count,omitempty"`
	Spent     int       `json:"spent,omitempty"` // of Count
	// Matches is how many requests it has allowed since the broker started.
	Matches     int            `json:"matches"`
	LastMatch   time.Time      `json:"lastMatch,omitzero"`
	RevokedAt   time.Time      `json:"revokedAt,omitzero"`
	RevokedBy   *hook.Approver `json:"revokedBy,omitempty"`
	InputSHA256 string         `json:"inputSha256"`
	Proposal    string         `json:"proposal"` // its digest
	Signature   string         `json:"signature,omitempty"`
	PublicKey   *hook.JWK      `json:"publicKey,omitempty"`
	Bounds      string         `json:"bounds,omitempty"` // what was signed for ExpiresAt
	// Verification is what its maker was verified with; nil where nobody asked for that.
	Verification *hook.Verification `json:"verification,omitempty"`
}

// NewSaved is what is posted to save a rule or a grant (schemas SaveRule, SaveGrant).
type NewSaved struct {
	RequestID   string `json:"requestId"`
	InputSHA256 string `json:"inputSha256"`
	Proposal    string `json:"proposal"` // the digest of one of the request's proposals
	// ExpiresAt (RFC 3339) and Count bound a grant, one of them at least. A rule has neither.
	ExpiresAt string `json:"expiresAt,omitempty"`
	Count     int    `json:"count,omitempty"`
	// Suggested: it is one of Suggestions, and not to be saved once it would allow what was denied.
	Suggested bool   `json:"suggested,omitempty"`
	Signature string `json:"signature,omitempty"` // of a device
	// Verification is a device's proof that its owner was verified for it.
	Verification *hook.Verification `json:"verification,omitempty"`
}
