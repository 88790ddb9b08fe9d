package server

import (
	"net/http"
	"time"

	"go.uber.org/zap"

	"assent/internal/agent/claude"
	"assent/internal/hook"
)

// takeForm is take for an event in which an MCP server asks the person for something. The agent
// shows its own form only when this hook is over, so it is held for no longer than
// hook.ElicitationWait, and only where somebody can answer it: all of the form is known, and the
// page of a device that may decide is open. No rule answers it.
func (s *Server) takeForm(w http.ResponseWriter, r *http.Request, e hook.Event, p hook.Payload, channel hook.Channel, arrived time.Time) *hook.Request {
	if e.Via != "" { // no hook sent it, so it is no event, and nobody can answer it
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	input, err := claude.Form(e.Raw)
	asks := err == nil && !e.Spooled && !e.Emitted && p.SessionID != "" && p.Uninspectable == "" && claude.Known(e.Agent) &&
		len(e.Raw) <= hook.MaxRequest && s.pages.Load() > 0
	if err != nil {
		s.log.Info("an MCP server's form is left to the agent", zap.String("id", e.ID), zap.String("why", line(err.Error())))
	}
	if e.Seq, err = s.publish(r, &e, asks); err != nil {
		s.publishFailed(w, r, err)
		return nil
	}
	if !asks {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	until := s.waitOf(r.Header, e.ID, arrived)
	until.onTimeout = hook.Abstain // a form that nobody answered is still the agent's to show
	if end := arrived.Add(hook.ElicitationWait); end.Before(until.deadline) {
		until.deadline = end
	}
	req := requestOf(e, p, channel, until)
	req.Event, req.ToolName, req.ToolInput, req.CallKey = hook.EventElicitation, hook.EventElicitation, input, ""
	req.InputSHA256 = req.PayloadSHA256 // of all that asks, whatever else the event is about
	return req
}
