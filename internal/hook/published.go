package hook

import "time"

// RulesVersion is a version of the rules that are in force for all brokers.
type RulesVersion struct {
	// Version counts up; 0: nothing was ever published.
	Version int `json:"version"`
	// Text is the file; empty: none is published.
	Text string    `json:"text"`
	By   Approver  `json:"by,omitzero"`
	At   time.Time `json:"at,omitzero"`
	// Signed is who answers for Text beside By, whom the broker names; nil: nobody does.
	Signed *RulesSignature `json:"signed,omitempty"`
}

// RulesSignature says that the holder of a key wants a file of rules to be in force.
type RulesSignature struct {
	// SHA256 is the digest of the file, lower-case hex.
	SHA256 string `json:"sha256"`
	// SignedAt is when it was signed, by the clock of who signed, and Until when it counts no more; empty: always.
	// Both are RFC 3339.
	SignedAt string `json:"signedAt"`
	Until    string `json:"until,omitempty"`
	// Signature is ECDSA P-256 over all of that, see package signed, and PublicKey what it is verified with.
	Signature string `json:"signature"`
	PublicKey JWK    `json:"publicKey"`
}

// SignedRules are a file of rules in force that somebody signed, by its name.
type SignedRules struct {
	Name, Text string
	Signature  RulesSignature
}

// What a broker follows.
const (
	FollowsPublished = "published"
	FollowsOwn       = "own"  // a file of its own
	FollowsNone      = "none" // nothing is published, and it has no file
)

// RulesFollowing is which rules a broker follows.
type RulesFollowing struct {
	// Broker is its id, Host the name of its machine.
	Broker string `json:"broker"`
	Host   string `json:"host,omitempty"`
	// Follows is FollowsPublished and its like; File is the broker's own file, where it follows that.
	Follows string `json:"follows"`
	File    string `json:"file,omitempty"`
	// SignedBy is the thumbprint of the key that signed File; empty: nobody did. SignedUntil is when that counts no more, RFC
	// 3339; empty: always.
	SignedBy    string `json:"signedBy,omitempty"`
	SignedUntil string `json:"signedUntil,omitempty"`
	// Version is the version that is in force there; 0: none.
	Version int `json:"version,omitempty"`
	// Problem says why a newer version is not in force there, or none.
	Problem string    `json:"problem,omitempty"`
	At      time.Time `json:"at"` // when it said so
}
