package server

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/agent/claude/describe"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// partialAbove is the size of an input, in bytes, above which lists and the WebSocket leave it
// out: the page fetches such a request by its id. The whole is always shown before it can be
// decided.
const partialAbove = 32 << 10

// maxFailure bounds the error text of a failed tool, in characters; the record has more.
const maxFailure = 400

// EncodeView returns what makes a request's JSON for lists and watchers: without its payload, and
// without its input where that is large. It is meant for broker.Config.Encode. read says how the
// rules read a shell command; nil: views have no reading.
func EncodeView(read func(*hook.Request) *hook.Reading) func(broker.View) []byte {
	return func(v broker.View) []byte { return encodePart(v, read) }
}

func encodePart(v broker.View, read func(*hook.Request) *hook.Reading) []byte {
	b, err := encodeView(v, false, read)
	if err != nil { // an input that cannot be written: the page fetches it, and sees why
		bare := newRequest(v)
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
	b, err := json.Marshal(requestOfView(v, whole, read))
	if err != nil {
		return nil, fmt.Errorf("encode request %s: %w", v.ID, err)
	}
	return b, nil
}

func requestOfView(v broker.View, whole bool, read func(*hook.Request) *hook.Reading) *api.Request {
	j := newRequest(v)
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
	verb, fields := describe.Call(v.ToolName, v.Request.ToolInput)
	if fields == nil {
		fields = []show.Field{}
	}
	j.Shown, j.Allowed = &show.Shown{Verb: verb, Fields: fields}, allowed(&v.Request, v.Decision)
	if read != nil {
		j.Reading = read(&v.Request)
	}
	return j
}

// newRequest has everything but what can be large.
func newRequest(v broker.View) *api.Request {
	return &api.Request{
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

// allowed is the part of d that differs from what was asked for.
func allowed(r *hook.Request, d *hook.Decision) *show.Allowed {
	if d == nil || d.Behavior != hook.BehaviorAllow {
		return nil
	}
	return describe.Edited(r.ToolName, r.ToolInput, d.UpdatedInput)
}

// jsonObject returns in where it is an object that may stand in a JSON text. What is not valid
// UTF-8 may not; it is in shown and in the payload.
func jsonObject(in hook.JSON) hook.JSON {
	if len(in) == 0 || in[0] != '{' || !utf8.Valid(in) {
		return nil
	}
	return in
}

func response(v broker.View) *api.Response {
	if v.Decision == nil {
		return nil
	}
	out, err := agents.Encode(*v.Decision, &v.Request)
	if err != nil {
		return nil // an agent that another version of us knew
	}
	r := &api.Response{SessionID: v.SessionID}
	if err := json.Unmarshal(out, r); err != nil {
		return nil
	}
	return r
}

// newRecord is the JSON of a step of the request that was asked.
func newRecord(r hook.Record, asked *hook.Request) api.Record {
	j := api.Record{Record: r}
	if r.Request != nil {
		j.Request = requestOfView(broker.View{Request: *r.Request}, true, nil)
	}
	if asked != nil {
		j.Allowed = allowed(asked, r.Decision)
	}
	if d := r.Decision; d != nil && d.Signature != "" && len(d.UpdatedInput)+len(d.UpdatedPermissions) > 0 {
		j.Signed = &api.Signed{UpdatedInput: string(d.UpdatedInput), UpdatedPermissions: string(d.UpdatedPermissions)}
	}
	return j
}
