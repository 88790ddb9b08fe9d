package server

import (
	"net/http"

	"go.uber.org/zap"
)

// healthz says only that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}

// readyz says whether hooks can be served now. The reason is in the log only, for anybody may ask.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := s.cfg.Ready(); err != nil {
		s.log.Warn("not ready", zap.String("why", line(err.Error())))
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
