package server

import (
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// hookRefused is POST /v1/hooks/refused: the hook of a request says that it did not print the allow, and why.
// Its secret shows that it is that hook.
func (s *Server) hookRefused(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(hook.HeaderRequestID)
	if u, err := uuid.Parse(id); err != nil || u.String() != id {
		writeProblem(w, badField(hook.HeaderRequestID, "want a UUID"))
		return
	}
	why := strings.ToValidUTF8(hook.UnescapeHeader(r.Header.Get(hook.HeaderRefused)), "\uFFFD")
	if why == "" || len(why) > hook.MaxFailure {
		writeProblem(w, badField(hook.HeaderRefused, "want a reason of at most 2048 bytes"))
		return
	}
	if err := s.cfg.Broker.Refused(r.Context(), id, secretHash(r.Header), why); err != nil {
		s.fail(w, r, err)
		return
	}
	s.log.Warn("a hook did not print an allow; the agent's own prompt decides", zap.String("id", id), zap.String("why", show.Logged(why)))
	w.WriteHeader(http.StatusNoContent)
}
