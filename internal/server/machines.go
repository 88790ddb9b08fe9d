package server

import (
	"net/http"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/machines"
)

// observed is what the intake tells of each event.
func (s *Server) observed(e *hook.Event, p *hook.Payload) {
	s.machines.Observed(e, p, time.Now())
	if s.cfg.Observed != nil {
		s.cfg.Observed(e, p)
	}
}

// listMachines is GET /v1/machines: those whose hooks came since the broker started, and those whose tokens
// could.
func (s *Server) listMachines(w http.ResponseWriter, r *http.Request) {
	var tokens []machines.Token
	now := time.Now()
	for _, t := range s.cfg.Auth.Tokens() {
		if t.Role == auth.RoleSubmit && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt)) {
			tokens = append(tokens, machines.Token{Submitter: "token:" + t.ID, Name: t.Name, Used: t.LastUsed})
		}
	}
	s.writeJSON(w, r, http.StatusOK, s.machines.List(tokens, now))
}
