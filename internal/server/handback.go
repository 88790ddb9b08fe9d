package server

import (
	"errors"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"assent/internal/hook"
)

// errNoPrompt says that nobody could be asked instead.
var errNoPrompt = errors.New("this request comes from the agent's permission prompt tool: behind that there is no other prompt")

// handBack is POST /v1/requests/{id}/handback: the agent's own prompt decides.
//
// The body must name the input it is about, and a device must have signed it: what an agent does where
// nobody answers at its prompt is its own affair, and may be to go on.
func (s *Server) handBack(w http.ResponseWriter, r *http.Request) {
	var h hook.HandBack
	if !s.readObject(w, r, "HandBack", map[string]any{"inputSha256": &h.InputSHA256, "signature": &h.Signature}, func() (errs []*hook.FieldError) {
		if !isDigest(h.InputSHA256) {
			errs = append(errs, errNoDigest)
		}
		return errs
	}) {
		return
	}
	id, by := requestID(r), principal(r)
	end, ok := s.begin(w, r)
	if !ok {
		return
	}
	defer end()
	h, err := by.VouchHandBack(id, h)
	if err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused to hand a request back: its device did not sign that", zap.String("id", id),
			zap.String("device", by.Approver.ID), zap.String("name", line(by.Approver.Name)), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return
	}
	view, err := s.cfg.Broker.Get(r.Context(), id)
	if err == nil && view.Source == hook.SourceMCP {
		err = errNoPrompt
	}
	if err == nil {
		view, err = s.cfg.Broker.HandBackWaiting(id, h, by.Approver)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.log.Info("handed back", zap.String("id", id), zap.String("outcome", string(view.Outcome)),
		zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
	w.WriteHeader(http.StatusNoContent)
}

// isDigest reports whether s is a SHA-256 as the API writes it.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

var errNoDigest = hook.BadField("inputSha256", "want the request's inputSha256: 64 lower-case hex digits")
