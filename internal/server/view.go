package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/agent/claude/describe"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/reqcontext"
	"assent/internal/text/show"
)

// partialAbove is the size of an input, in bytes, above which lists and the WebSocket leave it
// out: the page fetches such a request by its id. The whole is always shown before it can be
// decided.
const partialAbove = 32 << 10

// maxFailure bounds the error text of a failed tool, in characters; the record has more.
const maxFailure = 400

// Views says what is worked out of a request whenever it is shown. Its functions must not block; a
// nil one leaves its part out.
type Views struct {
	Reading func(*hook.Request) *hook.Reading // how the rules read a shell command, nil where there is none
	Effects func(*hook.Request) *hook.Effects // what the request would do
	// Contexts is what people are told beside requests that wait; nil: nothing.
	Contexts *reqcontext.Store
	// Allowed is how often a person has allowed the very same call before. It is shown of a request that
	// waits, and only where its risk is normal at most: a habit is no reason to allow what is dangerous.
	Allowed func(*hook.Request) int
}

// Encode makes a request's JSON for watchers: without its payload, and without its input where that is
// large. It is meant for broker.Config.Encode, and so has no context: what the broker keeps of it may
// outlive the request. See besides.
func (l Views) Encode(v broker.View) []byte { return encodePart(v, l) }

// encodeListed is Encode with the context, for lists.
func (l Views) encodeListed(v *broker.View) []byte {
	return bytes.Join(l.besides(v, encodePart(*v, l)), nil)
}

// besides returns the parts of doc, the JSON of v, with the context that there is now.
func (l Views) besides(v *broker.View, doc []byte) [][]byte {
	about := l.Contexts.JSON(v)
	body, object := bytes.CutSuffix(doc, []byte{'}'})
	if about == nil || !object {
		return [][]byte{doc}
	}
	return [][]byte{body, []byte(`,"context":`), about, {'}'}}
}

func encodePart(v broker.View, l Views) []byte {
	b, err := encodeView(v, false, l)
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
func encodeView(v broker.View, whole bool, l Views) ([]byte, error) {
	b, err := json.Marshal(requestOfView(v, whole, l))
	if err != nil {
		return nil, fmt.Errorf("encode request %s: %w", v.ID, err)
	}
	return b, nil
}

func requestOfView(v broker.View, whole bool, l Views) *api.Request {
	j := newRequest(v)
	edited := allowed(&v.Request, v.Decision)
	ranEdited := edited != nil && edited.Shown != nil && v.Delivery != broker.Overruled
	if l.Effects != nil {
		j.Effects = effectsOf(&v, ranEdited, l.Effects)
		if l.Allowed != nil && v.State == broker.Pending && j.Effects.Risk.Level() <= hook.Normal.Level() {
			j.AllowedHere = l.Allowed(&v.Request)
		}
	}
	if whole {
		j.Context = l.Contexts.Whole(&v)
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
	verb, fields := agents.Describe(v.Agent, v.ToolName, v.Request.ToolInput)
	if fields == nil {
		fields = []show.Field{}
	}
	j.Shown, j.Allowed = &show.Shown{Verb: verb, Fields: fields}, edited
	if l.Reading != nil && !ranEdited { // what was edited away is not read
		j.Reading = l.Reading(&v.Request)
	}
	return j
}

// effectsOf are the effects of what was asked for, and of what was allowed in its place once it was: what
// did not run did nothing. Their marks would be those of another text than the one that shown has.
func effectsOf(v *broker.View, edited bool, of func(*hook.Request) *hook.Effects) *hook.Effects {
	if !edited {
		return of(&v.Request)
	}
	ran := v.Request
	ran.ToolInput = v.Decision.UpdatedInput
	e := of(&ran)
	if e == nil || len(e.Marks) == 0 {
		return e
	}
	plain := *e
	plain.Marks = nil
	return &plain
}

// newRequest has everything but what can be large.
func newRequest(v broker.View) *api.Request {
	contain := ""
	if v.Decision != nil {
		contain = v.Decision.Contain
	}
	return &api.Request{
		Contained: contain,
		Request:   v.Request,
		Number:    v.AskedSeq,
		State:     v.State,
		Detached:  v.Detached,
		Outcome:   v.Outcome,
		Reason:    v.Reason,
		DecidedBy: v.DecidedBy,
		SettledAt: v.SettledAt,
		Delivery:  v.Delivery,
		Failure:   show.Short(v.Failure, maxFailure),

		AgentTitle: agents.Title(v.Agent),
		Can:        agents.Can(v.Agent),
		Race:       agents.Races(v.Agent),
	}
}

// allowed is the part of d that differs from what was asked for.
func allowed(r *hook.Request, d *hook.Decision) *show.Allowed {
	if d == nil || d.Behavior != hook.BehaviorAllow || d.Contain != "" {
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
	out, err := agents.Shown(*v.Decision, &v.Request)
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
		j.Request = requestOfView(broker.View{Request: *r.Request, AskedSeq: r.Seq}, true, Views{})
	}
	if asked != nil {
		j.Allowed = allowed(asked, r.Decision)
	}
	if d := r.Decision; d != nil && d.Signature != "" && len(d.UpdatedInput)+len(d.UpdatedPermissions) > 0 {
		j.Signed = &api.Signed{UpdatedInput: string(d.UpdatedInput), UpdatedPermissions: string(d.UpdatedPermissions)}
	}
	return j
}
