package intake

import (
	"errors"

	"assent/internal/agent"
	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// payload is what a payload says.
type payload struct {
	hook.Payload
	asks   bool      // it asks for permission, and can be answered
	isForm bool      // an MCP server wants a form filled in; asks says whether that is held
	form   hook.JSON // what the agent's Form made of it
}

var errNoSession = errors.New("a PermissionRequest without a session or a tool")

// read decodes a's payload and says in a.Event what kind of event it is. What cannot be read changes
// nothing for the agent: it asks for nothing, and is published as it came.
func (in *Intake) read(a *Arrival) payload {
	e := &a.Event
	decoded, unreadable := agents.Reader(e.Agent).Decode(e.Type, e.Raw)
	p := payload{Payload: decoded}
	e.Type, e.NativeType = p.Type, p.NativeType
	in.cfg.Count.Event(e.Type)
	if e.Type == hook.EventElicitation && unreadable == nil && e.Source == "" {
		in.readForm(e, &p)
		return p
	}
	asks := e.Type == hook.EventPermissionRequest && !e.Spooled
	if unreadable == nil && asks {
		_, unknown := agents.Named(e.Agent)
		switch {
		case p.SessionID == "" || p.ToolName == "":
			unreadable = errNoSession
		case unknown != nil: // nobody could answer it
			unreadable = agent.ErrUnknown
		}
	}
	p.asks = asks && unreadable == nil
	if unreadable != nil {
		in.cfg.Count.Unreadable()
		in.cfg.Log.Warnw("a hook's payload is unreadable; it is streamed as it came, and the agent goes on without us",
			"id", e.ID, "type", show.Logged(e.Type), "bytes", len(e.Raw), "why", show.Logged(unreadable.Error()))
	}
	return p
}

// readForm is read for an event in which an MCP server asks the person for something. The agent
// shows its own form only when this hook is over, so it is held for no longer than
// hook.ElicitationWait, and only where somebody can answer it: all of the form is known, and the
// page of a device that may decide is open; while everything is paused it is not held.
func (in *Intake) readForm(e *hook.Event, p *payload) {
	var err error
	p.isForm = true
	if p.form, err = agents.Reader(e.Agent).Form(e.Raw); err != nil {
		in.cfg.Log.Infow("an MCP server's form is left to the agent", "id", e.ID, "why", show.Logged(err.Error()))
	}
	_, unknown := agents.Named(e.Agent)
	p.asks = err == nil && !e.Spooled && !e.Emitted && !e.Signed && p.SessionID != "" && p.Uninspectable == "" && unknown == nil &&
		len(e.Raw) <= hook.MaxRequest && in.cfg.FormsSeen() && !in.cfg.Paused()
}
