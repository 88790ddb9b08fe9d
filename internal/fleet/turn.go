package fleet

import (
	"slices"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// maxWho bounds the name of who stopped a turn, in characters.
const maxWho = 60

// stopper is who sent the message with which a host says that a turn was cancelled, for people and safe to show; empty
// unless it is one of kind cancel to this session of this host.
func (s *Store) stopper(id, session, host string) string {
	if id == "" {
		return ""
	}
	m, err := s.Message(id)
	if err != nil || m.Kind != hook.MessageCancel || m.SessionID != session || m.Submitter != hostPrefix+host {
		return ""
	}
	return show.Short(m.By.Who(), maxWho)
}

// codeWords say how a turn ended that is not completed.
var codeWords = map[string]string{ // read-only
	"CANCELLED":   "Stopped",
	"INTERRUPTED": "Interrupted",
	"BUDGET":      "Its budget is spent",
	"TIMEOUT":     "Its time is used up",
	"MAX_TURNS":   "It reached its limit of turns",
	"REFUSED":     "Stopped by its host",
	"EXIT":        "Its program ended",
	"LOST":        "It may not have got the message",
	"LOGIN":       "It is not logged in on its host",
	"API":         "The model could not be reached, or refused",
}

// says is how a turn ended, for people; empty if it is completed.
func says(t *api.AgentTurn) string {
	switch {
	case t.Outcome == hook.OutcomeCompleted:
		return ""
	case t.Outcome == hook.OutcomeCancelled && t.StoppedBy != "":
		return "Stopped on “" + t.StoppedBy + "”"
	case t.Outcome == hook.OutcomeCancelled:
		return codeWords["CANCELLED"]
	}
	if words := codeWords[t.Code]; words != "" {
		return words
	}
	return "Failed"
}

// sessionsLocked are the sessions of an agent of h, with what the broker knows of their last turns.
func (r *Registry) sessionsLocked(h *hostEntry, of []api.AgentSession) []api.AgentSession {
	all := slices.Clone(of)
	for i := range all {
		if all[i].Turn != nil {
			t := *all[i].Turn
			t.StoppedBy = r.cfg.Messages.stopper(t.By, all[i].SessionID, h.ID)
			t.Says = says(&t)
			all[i].Turn = &t
		}
	}
	return all
}

// quietTime is how long after the end of a turn its agent's hooks may still say something of it.
const quietTime = 15 * time.Second

// Rests reports whether a host says of a session of its agents that no turn of it runs, and how the last one ended, for
// people; said is empty where it is completed. heard is when the session was last heard of otherwise: where that is
// later than the turn's end, somebody else goes on with it, and what its host says is no more than the past.
func (r *Registry) Rests(session string, heard time.Time) (rests bool, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.speakForLocked(session) {
		for _, a := range h.Agents {
			i := slices.IndexFunc(a.Sessions, func(s api.AgentSession) bool { return s.SessionID == session })
			if i < 0 {
				continue
			}
			s := r.sessionsLocked(h, a.Sessions[i:i+1])[0]
			if s.Status == api.AgentBusy || s.Turn != nil && heard.After(s.Turn.At.Add(quietTime)) {
				return false, ""
			}
			if s.Turn != nil {
				said = s.Turn.Says
			}
			return true, said
		}
	}
	return false, ""
}
