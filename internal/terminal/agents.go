package terminal

import (
	"cmp"
	"fmt"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Standing is how a session of an agent is, and how its last turn ended if it was not completed. Of a host that is away
// nobody knows more than what it said last.
func Standing(x *api.Agent, s *api.AgentSession) string {
	t := s.Turn
	if x.Status == api.AgentOffline && s.Status == api.AgentBusy {
		return "busy when its host was last heard of"
	}
	if t == nil || s.Status == api.AgentBusy || t.Outcome == hook.OutcomeCompleted {
		return s.Status
	}
	words := s.Status + "; last turn: " + cmp.Or(t.Says, t.Outcome)
	if t.Why != "" && t.Why != t.Outcome {
		words += " (" + t.Why + ")"
	}
	return words
}

// MessageOutcome says how far a message to an agent of a host is.
func MessageOutcome(m hook.Message) string {
	why := ""
	if n := len(m.Steps); n > 0 && m.Steps[n-1].Why != "" {
		why = " (" + show.Line(m.Steps[n-1].Why) + ")"
	}
	switch m.State {
	case hook.MessageSent:
		return "sent; its host has not taken it yet"
	case hook.MessageTaken:
		return "its host has taken it"
	case hook.MessageStarted:
		return "in the agent's context"
	case hook.MessageEnded:
		if m.StoppedBy != "" {
			return fmt.Sprintf("%s on %q", m.Outcome, show.Line(m.StoppedBy)) + why
		}
		return m.Outcome + why
	case hook.MessageExpired:
		return "expired: its host did not take it in time"
	case hook.MessageLost:
		return "lost: whether the agent has it is not known" + why
	}
	return "refused" + why
}
