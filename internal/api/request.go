package api

import (
	"encoding/json"
	"time"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// Request is a request for permission, waiting or over (schema PermissionRequest).
type Request struct {
	hook.Request
	// These two stand in for the fields of hook.Request, which are empty in a decoded Request: they
	// are absent where they cannot be JSON, or are too large for a list.
	ToolInput   hook.JSON `json:"toolInput,omitempty"`
	Suggestions hook.JSON `json:"permissionSuggestions,omitempty"`

	// ReattachSHA256 is always empty: the hash of a secret is for the broker only.
	ReattachSHA256 string `json:"reattachSha256,omitempty"`

	// AgentTitle is what people call the agent.
	AgentTitle string `json:"agentTitle,omitempty"`
	// Can is what the agent takes in an answer. Race says that its own prompt is up meanwhile: without,
	// nobody at its terminal is asked as long as this one waits.
	Can  *hook.Can `json:"can,omitempty"`
	Race bool      `json:"race,omitempty"`

	// Number is what people call the request by: the sequence of its first record.
	Number    uint64         `json:"number,omitempty"`
	State     string         `json:"state,omitempty"` // pending or ended
	Detached  bool           `json:"detached,omitempty"`
	Outcome   hook.Outcome   `json:"outcome,omitempty"`
	Reason    string         `json:"reason,omitempty"` // of some outcomes
	DecidedBy *hook.Approver `json:"decidedBy,omitempty"`
	SettledAt time.Time      `json:"settledAt,omitzero"`
	Delivery  string         `json:"delivery,omitempty"`
	Response  *Response      `json:"response,omitempty"`
	Failure   string         `json:"failure,omitempty"`
	// Contained says how the request was allowed: its command ran contained, hook.ContainRead. The
	// response has the input by which it did; nobody edited it.
	Contained string        `json:"contained,omitempty"`
	Shown     *show.Shown   `json:"shown,omitempty"`
	Allowed   *show.Allowed `json:"allowed,omitempty"`
	*hook.Reading
	*hook.Effects
	// AllowedHere is how often a person has allowed this very call before, in the same project. It is
	// absent where the risk is more than normal, and may be behind.
	AllowedHere int `json:"allowedHere,omitempty"`
	// Context is there while the request waits.
	Context *hook.Context `json:"context,omitempty"`
	// Partial says that what is large was left out: a GET of the request by its id has all of it.
	Partial bool `json:"partial,omitempty"`
	// Raw is the payload; RawBase64 takes its place where the payload is not UTF-8. Lists have neither.
	Raw       string `json:"raw,omitempty"`
	RawBase64 []byte `json:"rawBase64,omitempty"`
}

// Fields are those of Shown; none where it was left out.
func (r *Request) Fields() []show.Field {
	if r.Shown == nil {
		return nil
	}
	return r.Shown.Fields
}

// Verb says in words what the tool would do; empty where Shown was left out.
func (r *Request) Verb() string {
	if r.Shown == nil {
		return ""
	}
	return r.Shown.Verb
}

// Response is a decision in the form in which the agent gets it (schema PermissionResponse).
type Response struct {
	SessionID          string          `json:"sessionId"`
	HookSpecificOutput json.RawMessage `json:"hookSpecificOutput"`
}

// DecisionResult is the answer to a decision (schema DecisionResult).
type DecisionResult struct {
	Delivery string `json:"delivery"` // delivered, or recorded: the hook has not fetched it yet
}

// Record is one step in the life of a request (schema Record).
type Record struct {
	hook.Record
	Request *Request `json:"request,omitempty"` // of asked
	// Allowed is what a decided record allowed, where that is not what was asked for.
	Allowed *show.Allowed `json:"allowed,omitempty"`
	Signed  *Signed       `json:"signed,omitempty"`
}

// Signed is what a device signed of a decision, byte for byte: as JSON inside of JSON it would lose
// its white space.
type Signed struct {
	UpdatedInput       string `json:"updatedInput,omitempty"`
	UpdatedPermissions string `json:"updatedPermissions,omitempty"`
}

// UpdatedInput is the input that was allowed in the place of the one that was asked for; nil where
// none was.
func (r *Response) UpdatedInput() hook.JSON {
	var out struct {
		Decision struct {
			UpdatedInput hook.JSON `json:"updatedInput"`
		} `json:"decision"`
	}
	if r == nil || json.Unmarshal(r.HookSpecificOutput, &out) != nil {
		return nil
	}
	return out.Decision.UpdatedInput
}
