package intake

import (
	"time"

	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

// A Request is never changed once it was handed to anybody. What a later step finds out about it
// goes into a copy: see withEvent, judge, look and handBack.

// newRequest makes a request of an event that asks for permission.
func newRequest(a *Arrival, e *hook.Event, p *hook.Payload, call identity) *hook.Request {
	now := time.Now()
	return &hook.Request{
		ID:             e.ID,
		SessionID:      p.SessionID,
		CWD:            p.CWD,
		ToolName:       p.ToolName,
		NativeTool:     p.NativeTool,
		ToolInput:      p.ToolInput,
		InputSHA256:    p.InputSHA256,
		Agent:          e.Agent,
		AgentID:        call.agentID,
		AgentType:      call.agentType,
		Origin:         e.Origin,
		CreatedAt:      now.UTC(),
		Deadline:       onClock(now, deadline(a.At, a.Timeout)),
		OnTimeout:      a.OnTimeout,
		PermissionMode: p.PermissionMode,
		Suggestions:    p.Suggestions,
		Uninspectable:  p.Uninspectable,
		Raw:            e.Raw,
		PayloadSHA256:  digest.Of(e.Raw),
		EventSeq:       e.Seq,
		EventTime:      e.Time.UTC(),
		CallKey:        p.CallKey,
		Channel:        a.Channel,
		ToolUseID:      call.toolUseID,
		Source:         e.Source,
		NoDedup:        call.ambiguous || e.Signed, // what is signed is signed for one request
		Signed:         e.Signed,
		RulesKeys:      e.RulesKeys,
		Submitter:      e.Submitter,
		Machine:        a.Machine,
		Contain:        e.Contain >= hook.MinContain && e.Source == "" && agents.Rewrites(e.Agent),
		ReattachSHA256: a.ReattachSHA256,
	}
}

// newForm makes a request of an MCP server's form, which is no call of a tool. A form that nobody
// answered is still the agent's to show, and its hook does not come back.
func newForm(a *Arrival, e *hook.Event, p payload) *hook.Request {
	req := newRequest(a, e, &p.Payload, identity{toolUseID: p.ToolUseID, agentID: p.AgentID, agentType: p.AgentType})
	req.Event, req.ToolName, req.ToolInput, req.CallKey = hook.EventElicitation, hook.EventElicitation, p.form, ""
	req.InputSHA256 = req.PayloadSHA256 // of all that asks, whatever else the event is about
	req.OnTimeout, req.ReattachSHA256 = hook.Abstain, ""
	if end := onClock(time.Now(), a.At.Add(hook.ElicitationWait)); end.Before(req.Deadline) {
		req.Deadline = end
	}
	return req
}

// withEvent is req with the sequence of its event.
func withEvent(req *hook.Request, seq uint64) *hook.Request {
	published := *req
	published.EventSeq = seq
	return &published
}

// maxMargin is how much earlier than the hook's own time is up it is answered, at most, so that the
// answer still arrives.
const maxMargin = 2 * time.Second

// deadline is when to answer a hook that came at a time and waits so long.
func deadline(at time.Time, timeout time.Duration) time.Time {
	return at.Add(timeout - min(maxMargin, timeout/10))
}

// onClock is t, which is by the monotonic clock, as a time of day by the clock that says now: another than t's own
// says where the clock was set in between. (UTC leaves the monotonic reading out.)
func onClock(now, t time.Time) time.Time { return now.Add(t.Sub(now)).UTC() }

// timeoutOf is the timeout of a hook whose deadline lies so far ahead.
func timeoutOf(ahead time.Duration) time.Duration {
	return min(ahead+maxMargin, ahead*10/9)
}
