package server

import (
	"net/http"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

// sessionJSON is a session as the API shows it (schema SessionInfo).
type sessionJSON struct {
	SessionID   string `json:"sessionId"`
	CWD         string `json:"cwd,omitempty"`
	QueueCount  int    `json:"queueCount"`
	Agent       string `json:"agent,omitempty"`
	hook.Origin        // host, pid, agentLabel, projectDir, repo

	PermissionMode string    `json:"permissionMode,omitempty"`
	LastEvent      string    `json:"lastEvent,omitempty"`
	LastEventAt    time.Time `json:"lastEventAt,omitzero"`
	StartedAt      time.Time `json:"startedAt,omitzero"`
}

func newSessionJSON(v broker.SessionView) sessionJSON {
	return sessionJSON{
		SessionID:      v.SessionID,
		CWD:            v.CWD,
		QueueCount:     v.QueueCount,
		Agent:          v.Agent,
		Origin:         v.Origin,
		PermissionMode: v.PermissionMode,
		LastEvent:      v.LastEvent,
		LastEventAt:    v.LastEventAt,
		StartedAt:      v.StartedAt,
	}
}

// sessions are the known sessions, most recently active first.
func (s *Server) sessions() []sessionJSON {
	views := s.cfg.Broker.Sessions()
	list := make([]sessionJSON, len(views))
	for i, v := range views {
		list[i] = newSessionJSON(v)
	}
	return list
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.sessions())
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) {
	id := param(r, "id")
	for _, v := range s.cfg.Broker.Sessions() {
		if v.SessionID == id {
			s.writeJSON(w, r, http.StatusOK, newSessionJSON(v))
			return
		}
	}
	writeProblem(w, problem{Status: http.StatusNotFound, Detail: "no such session"})
}
