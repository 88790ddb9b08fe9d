package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/store/history"
)

// listDecisions is GET /v1/decisions: settled requests, the last one first, with
// filters. after is the id of the last one of the page before.
func (s *Server) listDecisions(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	after := v.Get("after")
	v.Del("after") // an id, where other lists have a number
	r.URL.RawQuery = v.Encode()
	_, limit, ok := pageQuery(w, r)
	if !ok {
		return
	}
	q := hook.SettledQuery{
		Session: v.Get("session"), Kind: v.Get("kind"), By: v.Get("by"), Repo: v.Get("repo"), Tool: v.Get("tool"),
		Outcome: hook.Outcome(v.Get("outcome")), Words: v.Get("q"), After: after, Limit: limit,
	}
	switch q.Outcome {
	case "", hook.Allowed, hook.Denied, hook.Expired, hook.Withdrawn, hook.HandedBack:
	default:
		writeProblem(w, badField("outcome", "want allowed, denied, expired, withdrawn or handed_back"))
		return
	}
	for name, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if !timeQuery(w, v.Get(name), name, to) {
			return
		}
	}
	for name, text := range map[string]string{"q": q.Words, "by": q.By, "repo": q.Repo, "tool": q.Tool, "session": q.Session} {
		if len(text) > maxWords {
			writeProblem(w, badField(name, "too long"))
			return
		}
	}
	list, err := s.cfg.History.Settled(r.Context(), q)
	if after != "" && errors.Is(err, history.ErrNotFound) {
		writeProblem(w, badField("after", "no such request; begin again without it"))
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	for i := range list {
		list[i].AgentTitle = agents.Title(list[i].Agent)
	}
	s.writeJSON(w, r, http.StatusOK, listOf(list))
}

// catchUpTime bounds how long a list of messages waits until history has read what was recorded.
const catchUpTime = 10 * time.Second

// listRecorded is GET /v1/audit/messages: the messages to agents that the record has, the one sent last first. after is the id of the
// last one of the page before.
func (s *Server) listRecorded(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q := hook.MessageQuery{Session: v.Get("session"), After: v.Get("after")}
	v.Del("after") // an id, where other lists have a number
	r.URL.RawQuery = v.Encode()
	var ok bool
	if _, q.Limit, ok = pageQuery(w, r); !ok || !timeQuery(w, v.Get("since"), "since", &q.Since) {
		return
	}
	if len(q.Session) > maxWords {
		writeProblem(w, badField("session", "too long"))
		return
	}
	var err error
	if q.After == "" { // what was sent before the call is there, or the call fails
		ctx, cancel := context.WithTimeout(r.Context(), catchUpTime)
		if err = s.cfg.History.CaughtUp(ctx); err != nil {
			err = fmt.Errorf("%w (%w)", history.ErrNotReady, err)
		}
		cancel()
	}
	var list []hook.RecordedMessage
	if err == nil {
		list, err = s.cfg.History.Messages(r.Context(), q)
	}
	switch {
	case q.After != "" && errors.Is(err, history.ErrNotFound):
		writeProblem(w, badField("after", "no such message; begin again without it"))
	case err != nil:
		s.fail(w, r, err)
	default:
		s.writeJSON(w, r, http.StatusOK, listOf(list))
	}
}

// stats is GET /v1/stats: who and what decided, by hours or days since a time.
func (s *Server) stats(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	step := v.Get("step")
	since := time.Now().AddDate(0, 0, -30)
	switch step {
	case "", "day":
		step = "day"
	case "hour":
		since = time.Now().Add(-24 * time.Hour)
	default:
		writeProblem(w, badField("step", "want hour or day"))
		return
	}
	if !timeQuery(w, v.Get("since"), "since", &since) {
		return
	}
	zone, err := time.LoadLocation(v.Get("zone"))
	if err != nil || len(v.Get("zone")) > 64 {
		writeProblem(w, badField("zone", "want the name of a time zone, such as Europe/Berlin"))
		return
	}
	stats, err := s.cfg.History.Stats(r.Context(), since, step, zone)
	if errors.Is(err, history.ErrQuery) {
		writeProblem(w, badField("since", "want a time in the past, not more than 400 steps ago"))
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	stats.Buckets, stats.By = listOf(stats.Buckets), listOf(stats.By)
	s.writeJSON(w, r, http.StatusOK, stats)
}

// timeQuery reads a time if there is one. It answers an error itself.
func timeQuery(w http.ResponseWriter, text, name string, to *time.Time) bool {
	if text == "" {
		return true
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		writeProblem(w, badField(name, "want a time such as 2026-11-21T15:04:05Z"))
		return false
	}
	*to = t
	return true
}
