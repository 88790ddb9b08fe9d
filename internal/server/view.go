package server

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// partialAbove is the size of an input, in bytes, above which lists and the WebSocket leave it
// out: the page fetches such a request by its id. The whole is always shown before it can be
// decided.
const partialAbove = 32 << 10

// maxFailure is how much of what a failed tool said is told, in characters; the record has more.
const maxFailure = 400

// requestJSON is a request as the API shows it (schema PermissionRequest).
type requestJSON struct {
	hook.Request
	// These two stand in for the fields of Request: absent where they cannot be JSON, or are
	// too large.
	ToolInput   hook.JSON `json:"toolInput,omitempty"`
	Suggestions hook.JSON `json:"permissionSuggestions,omitempty"`

	// A secret's hash is for the broker only.
	ReattachSHA256 string `json:"reattachSha256,omitempty"`

	State     string         `json:"state,omitempty"`
	Detached  bool           `json:"detached,omitempty"`
	Outcome   hook.Outcome   `json:"outcome,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	DecidedBy *hook.Approver `json:"decidedBy,omitempty"`
	SettledAt time.Time      `json:"settledAt,omitzero"`
	Delivery  string         `json:"delivery,omitempty"`
	Response  *responseJSON  `json:"response,omitempty"`
	Failure   string         `json:"failure,omitempty"`
	Shown     *show.Shown    `json:"shown,omitempty"`
	Allowed   *show.Allowed  `json:"allowed,omitempty"`
	*hook.Reading
	Partial   bool   `json:"partial,omitempty"`
	Raw       string `json:"raw,omitempty"`
	RawBase64 []byte `json:"rawBase64,omitempty"`
}

// responseJSON is the decision in the form of the seed (schema PermissionResponse).
type responseJSON struct {
	SessionID          string          `json:"sessionId"`
	HookSpecificOutput json.RawMessage `json:"hookSpecificOutput"`
}

// EncodeView returns what makes a request's JSON for lists and watchers: without its payload, and
// without its input where that is large. It is meant for broker.Config.Encode. read says how the
// rules read a shell command; nil: nobody reads it.
func EncodeView(read func(*hook.Request) *hook.Reading) func(broker.View) []byte {
	return func(v broker.View) []byte { return encodePart(v, read) }
}

func encodePart(v broker.View, read func(*hook.Request) *hook.Reading) []byte {
	b, err := encodeView(v, false, read)
	if err != nil { // an input that cannot be written: the page fetches it, and sees why
		bare := newRequestJSON(v)
		bare.Partial = true
		b, err = json.Marshal(bare)
	}
	if err != nil { // texts and numbers only
		return []byte("null")
	}
	return b
}

// encodeView is the JSON of a request; whole adds the payload and leaves nothing out.
func encodeView(v broker.View, whole bool, read func(*hook.Request) *hook.Reading) ([]byte, error) {
	b, err := json.Marshal(viewJSON(v, whole, read))
	if err != nil {
		return nil, fmt.Errorf("encode request %s: %w", v.ID, err)
	}
	return b, nil
}

func viewJSON(v broker.View, whole bool, read func(*hook.Request) *hook.Reading) *requestJSON {
	j := newRequestJSON(v)
	if whole {
		if utf8.Valid(v.Request.Raw) {
			j.Raw = string(v.Request.Raw)
		} else {
			j.RawBase64 = v.Request.Raw
		}
	}
	size := len(v.Request.ToolInput) + len(v.Request.Suggestions)
	if v.Decision != nil {
		size += len(v.Decision.UpdatedInput) + len(v.Decision.UpdatedPermissions)
	}
	if size > partialAbove && !whole {
		j.Partial = true
		return j
	}
	j.ToolInput = jsonObject(v.Request.ToolInput)
	if utf8.Valid(v.Request.Suggestions) {
		j.Suggestions = v.Request.Suggestions
	}
	j.Response = response(v)
	verb, fields := show.Request(v.ToolName, v.Request.ToolInput)
	if fields == nil {
		fields = []show.Field{}
	}
	j.Shown, j.Allowed = &show.Shown{Verb: verb, Fields: fields}, allowed(&v.Request, v.Decision)
	if read != nil {
		j.Reading = read(&v.Request)
	}
	return j
}

// newRequestJSON has everything but what can be large.
func newRequestJSON(v broker.View) *requestJSON {
	return &requestJSON{
		Request:   v.Request,
		State:     v.State,
		Detached:  v.Detached,
		Outcome:   v.Outcome,
		Reason:    v.Reason,
		DecidedBy: v.DecidedBy,
		SettledAt: v.SettledAt,
		Delivery:  v.Delivery,
		Failure:   show.Short(v.Failure, maxFailure),
	}
}

// allowed is what d allows of a request where it is not what was asked for.
func allowed(r *hook.Request, d *hook.Decision) *show.Allowed {
	if d == nil || d.Behavior != hook.BehaviorAllow {
		return nil
	}
	return show.Edited(r.ToolName, r.ToolInput, d.UpdatedInput)
}

// jsonObject returns in where it is an object that may stand in a JSON text. What is not valid
// UTF-8 may not; it is in shown and in the payload.
func jsonObject(in hook.JSON) hook.JSON {
	if len(in) == 0 || in[0] != '{' || !utf8.Valid(in) {
		return nil
	}
	return in
}

func response(v broker.View) *responseJSON {
	if v.Decision == nil {
		return nil
	}
	out, err := agents.Encode(*v.Decision, &v.Request)
	if err != nil {
		return nil // an agent that another version of us knew
	}
	r := &responseJSON{SessionID: v.SessionID}
	if err := json.Unmarshal(out, r); err != nil {
		return nil
	}
	return r
}

// recordJSON is a record whose request is the API's (schema Record).
type recordJSON struct {
	hook.Record
	Request *requestJSON `json:"request,omitempty"`
	// Allowed goes with a decided record.
	Allowed *show.Allowed `json:"allowed,omitempty"`
	Signed  *signedJSON   `json:"signed,omitempty"`
}

// signedJSON is what was signed of a decision, byte for byte. As JSON inside of JSON it would
// lose its white space.
type signedJSON struct {
	UpdatedInput       string `json:"updatedInput,omitempty"`
	UpdatedPermissions string `json:"updatedPermissions,omitempty"`
}

// newRecordJSON is the JSON of a step of the request that was asked.
func newRecordJSON(r hook.Record, asked *hook.Request) recordJSON {
	j := recordJSON{Record: r}
	if r.Request != nil {
		j.Request = viewJSON(broker.View{Request: *r.Request}, true, nil)
	}
	if asked != nil {
		j.Allowed = allowed(asked, r.Decision)
	}
	if d := r.Decision; d != nil && d.Signature != "" && len(d.UpdatedInput)+len(d.UpdatedPermissions) > 0 {
		j.Signed = &signedJSON{string(d.UpdatedInput), string(d.UpdatedPermissions)}
	}
	return j
}
