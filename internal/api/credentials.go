package api

import (
	"time"

	"assent/internal/hook"
)

// NewToken is what is posted to make a token (schema NewToken).
type NewToken struct {
	Role string `json:"role"`
	Name string `json:"name"`
	TTL  string `json:"ttl,omitempty"` // a duration such as "720h"; empty: it never expires
	// PublicKey is what the token is bound to; nil: to none.
	PublicKey *hook.JWK `json:"publicKey,omitempty"`
}

// CreatedToken is the answer, and the only place where the secret stands.
type CreatedToken struct {
	Token
	Secret string `json:"token,omitempty"`
}

// NewPairing is what is posted to invite a device, or with its Code to let one in (schemas
// NewPairing, ConfirmPairing).
type NewPairing struct {
	Code string `json:"code,omitempty"`
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	// CodeOrigin wins over what the device says of its code; with Code only.
	CodeOrigin hook.CodeOrigin `json:"codeOrigin,omitempty"`
	// Signature is a device's, over the pairing text, where a device lets another one in; and Verification
	// the proof that its owner was verified.
	Signature    string             `json:"signature,omitempty"`
	Verification *hook.Verification `json:"verification,omitempty"`
}

// Join is what a machine sends that was invited; the answer is a CreatedToken (schema Join).
type Join struct {
	Code string `json:"code"`
}

// RenameDevice is what is sent to give a device another name (schema RenameDevice).
type RenameDevice struct {
	Name string `json:"name"`
}

// Challenge is what a device signs to open a session (schema Challenge).
type Challenge struct {
	Nonce     string    `json:"nonce"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Bearer is the credential of a device's session (schema Bearer).
type Bearer struct {
	Token        string            `json:"token"`
	ExpiresAt    time.Time         `json:"expiresAt"`
	Verification VerificationState `json:"verification"`
}

// VerificationState says whether a device verifies its owner before what is dangerous, and whether it
// could (schema VerificationState).
type VerificationState struct {
	// Require is what the broker wants of everybody: "danger", "always", or nothing.
	Require string `json:"require,omitempty"`
	// Credential is the id of the device's credential; empty: it has none.
	Credential string    `json:"credential,omitempty"`
	CreatedAt  time.Time `json:"createdAt,omitzero"`
	Synced     bool      `json:"synced,omitempty"` // the owner's other devices may have it too
	// Site is the name that the credential holds under, or would. Where it is empty, Why says why no
	// credential can be made on this page.
	Site string `json:"site,omitempty"`
	Why  string `json:"why,omitempty"`
}

// EndVerification is what is sent to have a device verify its owner no longer; an administrator sends the
// zero value (schema EndVerification).
type EndVerification struct {
	Signature    string             `json:"signature,omitempty"`
	Verification *hook.Verification `json:"verification,omitempty"`
}

// Ticket opens one WebSocket (schema Ticket).
type Ticket struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// PairingPoll is the answer to a device that was neither let in nor refused yet (schema PairingPoll).
type PairingPoll struct {
	ExpiresAt time.Time `json:"expiresAt"`
}

// PhoneAddress is where phones open the page (schema PhoneAddress). URL is https, without a path; empty where
// no further machine reaches it. QR is its QR code: rows of equal length, 1 for black and 0 for white, without
// the white edge.
type PhoneAddress struct {
	URL string   `json:"url,omitempty"`
	QR  []string `json:"qr,omitempty"`
}
