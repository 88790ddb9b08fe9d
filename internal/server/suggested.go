package server

import (
	"errors"
	"net/http"

	"assent/internal/api"
)

var errNoSuggestions = errors.New("this broker suggests no rules; try assent rules suggest")

// getSuggestions is GET /v1/suggestions. Who leaves ends the looking.
func (s *Server) getSuggestions(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Suggested == nil {
		s.fail(w, r, errNoSuggestions)
		return
	}
	found, err := s.cfg.Suggested.Suggest(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := api.Suggestions{At: found.At.UTC(), Examined: found.Examined, Allowed: found.Allowed, Already: found.Already, Answered: found.Answered, Suggestions: []api.Suggestion{}}
	for i := range found.Rules {
		c := &found.Rules[i]
		v.Suggestions = append(v.Suggestions, api.Suggestion{
			RequestID: c.RequestID, InputSHA256: c.InputSHA256, Proposal: c.Proposal,
			Sentence: c.Sentence, Warnings: c.Warnings, Rule: c.Shown, Answers: c.Answers, Newest: c.Newest,
		})
	}
	s.writeJSON(w, r, http.StatusOK, v)
}
