package api

import (
	"time"

	"assent/internal/hook"
)

// Checkpoint is a checkpoint of the tree over the record (schema AuditCheckpoint).
type Checkpoint struct {
	// Note is the signed note.
	Note string `json:"note"`
	// Key is the public key of the broker that answers, as it verifies notes. Whoever verifies should have it
	// from its owner, not from here.
	Key string `json:"key"`
	// Proof are the hashes, in base64, that the tree of the size that was asked for is the beginning of this one.
	Proof []string `json:"proof,omitempty"`
	// Stopped is why the tree takes nothing more.
	Stopped string `json:"stopped,omitempty"`
	// Late is what is wrong where it still should: entries wait too long for their checkpoint.
	Late string `json:"late,omitempty"`
}

// AuditTrace is what the record has of one request, step by step, with what verifying it came to (schema AuditTrace).
type AuditTrace struct {
	RequestID string      `json:"requestId"`
	Steps     []AuditStep `json:"steps"` // oldest first
	Tree      AuditTree   `json:"tree"`
}

// AuditStep is one step of an AuditTrace.
type AuditStep struct {
	Step hook.Step `json:"step"`
	// Time is by the broker's clock, and where Shown is set by the device's: when it had been shown, and was signed.
	Time    time.Time      `json:"time"`
	Seq     uint64         `json:"seq,omitempty"` // in the record
	By      *hook.Approver `json:"by,omitempty"`
	Outcome hook.Outcome   `json:"outcome,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Failure string         `json:"failure,omitempty"`
	// EventSeq is the event that proved the step, as in a record.
	EventSeq uint64 `json:"eventSeq,omitempty"`
	// Shown is what the device said that it showed, a JSON text of its own, of a hook.StepShown that stands with the decision. One
	// without it is an entry of the record: the word of a page, which nobody signed.
	Shown     string `json:"shown,omitempty"`
	Edited    bool   `json:"edited,omitempty"`
	Contained bool   `json:"contained,omitempty"`
	// Signature is a value of audit.Signature, and Key the thumbprint of the key that made it, or of the rules'; without a
	// signature that of a device that had the request on its screen.
	Signature string `json:"signature,omitempty"`
	Key       string `json:"key,omitempty"`
	SignedAt  string `json:"signedAt,omitempty"` // as the device wrote it
	// Place is one of InTree and the like. Leaf is the entry's number in the tree; nil where it is not there.
	Place string `json:"place"`
	Leaf  *int64 `json:"leaf,omitempty"`
}

// Where an entry of the record is in the tree over it.
const (
	InTree     = "tree"    // proved: a checkpoint has it
	PlaceLater = "waits"   // no checkpoint has it yet
	PlaceNever = "before"  // it was recorded before the tree began
	PlaceLost  = "missing" // the tree has been there, and has nothing of it
	PlaceNone  = "none"    // nothing can be said: there is no tree, or it cannot prove this
)

// AuditTree is the tree as it was asked for an AuditTrace.
type AuditTree struct {
	Origin string    `json:"origin,omitempty"`
	Size   int64     `json:"size,omitempty"` // of the newest checkpoint, in leaves
	Time   time.Time `json:"time,omitzero"`  // of it
	Key    string    `json:"key,omitempty"`  // that was verified with: the one that the broker names
	// Wrong is what the tree does not prove, and what to do about it; Stopped and Late are as in Checkpoint.
	Wrong   string `json:"wrong,omitempty"`
	Stopped string `json:"stopped,omitempty"`
	Late    string `json:"late,omitempty"`
}

// OnScreen says that requests are on the screen of whoever sends it (schema OnScreen).
type OnScreen struct {
	Requests []string `json:"requests"`
}
