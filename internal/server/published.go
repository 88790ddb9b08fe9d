package server

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

var errNoPublished = errors.New("this broker keeps no published rules")

// getPublished is GET /v1/published-rules?version=N: the rules in force for all brokers, of a version or now,
// and which broker follows which.
func (s *Server) getPublished(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Published == nil {
		s.fail(w, r, errNoPublished)
		return
	}
	v := s.cfg.Published.Now()
	if text := r.URL.Query().Get("version"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			writeProblem(w, badFields(hook.BadField("version", "want a number from 1 on")))
			return
		}
		if v, err = s.cfg.Published.At(r.Context(), n); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.writeJSON(w, r, http.StatusOK, api.PublishedRules{RulesVersion: v, Brokers: listOf(s.cfg.Published.Brokers())})
}

// publishRules is PUT /v1/published-rules {text, after, signed}: the next version. A device, whose bearer may be
// stolen, cannot.
func (s *Server) publishRules(w http.ResponseWriter, r *http.Request) {
	var text string
	var after int64
	var given hook.JSON
	if !s.readObject(w, r, "PublishRules", map[string]any{"text": &text, "after": &after, "signed": &given}, nil) {
		return
	}
	by := principal(r).Approver
	switch {
	case s.cfg.Published == nil:
		s.fail(w, r, errNoPublished)
		return
	case by.Kind == "device":
		writeProblem(w, problem{Status: http.StatusForbidden,
			Detail: "rules for all brokers are published on a broker's machine, or with a token of role admin: assent rules publish"})
		return
	}
	if text != "" && s.cfg.CheckRules != nil {
		if wrong := s.cfg.CheckRules(text); len(wrong) > 0 {
			var errs []*hook.FieldError
			for _, p := range wrong {
				at := ""
				if p.Line > 0 {
					at = "line " + strconv.Itoa(p.Line) + ": "
				}
				errs = append(errs, hook.BadField("text", at+line(p.Message)))
			}
			writeProblem(w, badMembers(errs...))
			return
		}
	}
	var signature *hook.RulesSignature
	if len(given) > 0 {
		signature = &hook.RulesSignature{}
		err := json.Unmarshal(given, signature)
		if err == nil {
			err = signed.RulesFit(text, signature)
		}
		if err != nil {
			writeProblem(w, badMembers(hook.BadField("signed", err.Error())))
			return
		}
	}
	v, err := s.cfg.Published.Publish(r.Context(), text, signature, by, int(min(after, math.MaxInt32)))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.log.Info("rules were published", zap.Int("version", v.Version), zap.Int("bytes", len(text)), zap.String("kind", by.Kind), zap.String("by", line(by.Name)),
		zap.String("from", s.clientAddr(r).String()))
	s.writeJSON(w, r, http.StatusOK, api.PublishedRules{RulesVersion: v, Brokers: listOf(s.cfg.Published.Brokers())})
}
