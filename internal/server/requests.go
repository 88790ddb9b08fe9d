package server

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/api"
	"assent/internal/hook"
)

const (
	defaultPage = 100
	longestPage = 1000
)

// listRequests is GET /v1/requests: pending ones oldest first within a session and all of
// them, unless limit says otherwise; ended ones newest first, 100 a page. after is the id of
// the last request of the page before. With number it lists the one that has it.
func (s *Server) listRequests(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, ok := 0, true
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		limit, ok = n, err == nil && n > 0
	}
	if !ok {
		writeProblem(w, badField("limit", "want a number above 0"))
		return
	}
	if q.Has("number") {
		s.listNumbered(w, r, q.Get("number"))
		return
	}
	switch q.Get("state") {
	case "", broker.Pending:
		s.listPending(w, q.Get("after"), limit)
	case broker.Ended:
		s.listEnded(w, r, q.Get("after"), limit)
	default:
		writeProblem(w, badField("state", "want pending or ended"))
	}
}

// listNumbered lists the one request with a number, in whatever state it is, or none.
func (s *Server) listNumbered(w http.ResponseWriter, r *http.Request, text string) {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil || number == 0 {
		writeProblem(w, badField("number", "want a number above 0"))
		return
	}
	v, err := s.cfg.Broker.Numbered(r.Context(), number)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		s.writeViews(w, nil)
	case err != nil:
		s.fail(w, r, err)
	default:
		s.writeViews(w, []broker.View{v})
	}
}

func (s *Server) listPending(w http.ResponseWriter, after string, limit int) {
	views := s.cfg.Broker.Pending()
	if after != "" {
		i := 0
		for i < len(views) && views[i].ID != after {
			i++
		}
		if i == len(views) {
			writeProblem(w, badField("after", "that request no longer waits; begin again without it"))
			return
		}
		views = views[i+1:]
	}
	if limit > 0 {
		views = views[:min(limit, len(views))]
	}
	s.writeViews(w, views)
}

func (s *Server) listEnded(w http.ResponseWriter, r *http.Request, after string, limit int) {
	var before uint64
	if after != "" {
		records, err := s.cfg.Broker.Trace(r.Context(), after)
		if err != nil && !errors.Is(err, broker.ErrNotFound) {
			s.fail(w, r, err)
			return
		}
		for _, rec := range records {
			if rec.Step == hook.StepDecided || rec.Step == hook.StepEnded {
				before = rec.Seq
			}
		}
		if before == 0 {
			writeProblem(w, badField("after", "no such ended request"))
			return
		}
	}
	if limit == 0 {
		limit = defaultPage
	}
	views, err := s.cfg.Broker.Ended(r.Context(), before, min(limit, longestPage))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeViews(w, views)
}

// writeViews writes the list as it goes, for it can be long.
func (s *Server) writeViews(w http.ResponseWriter, views []broker.View) {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 32<<10)
	_ = b.WriteByte('[') // bufio keeps the first error; the client is gone then
	for i, v := range views {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		if _, err := b.Write(s.cfg.Views.encodeListed(&v)); err != nil {
			return
		}
	}
	_, _ = b.WriteString("]\n")
	_ = b.Flush()
}

// getRequest is GET /v1/requests/{id}: the whole request, payload included.
func (s *Server) getRequest(w http.ResponseWriter, r *http.Request) {
	v, err := s.cfg.Broker.Get(r.Context(), requestID(r))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, requestOfView(v, true, s.cfg.Views))
}

// traceRequest is GET /v1/requests/{id}/trace: the records, oldest first.
func (s *Server) traceRequest(w http.ResponseWriter, r *http.Request) {
	list, err := s.records(r.Context(), recordID(r))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, list)
}

// records are the records of a request, oldest first, of which there is one at least, and with them who had it on the screen.
func (s *Server) records(ctx context.Context, id string) ([]api.Record, error) {
	records, err := s.cfg.Broker.Trace(ctx, id)
	if err == nil && len(records) == 0 {
		err = broker.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	asked := records[0].Request // which is the first, or not there any more
	seen, err := s.cfg.Broker.Trace(ctx, hook.ShownEntry(id))
	if err != nil && !errors.Is(err, broker.ErrNotFound) {
		return nil, err
	}
	records = slices.Concat(records, seen)
	slices.SortStableFunc(records, func(a, b hook.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	list := make([]api.Record, len(records))
	for i, rec := range records {
		list[i] = newRecord(rec, asked)
	}
	return list, nil
}

// requestID is the id in the path in its one spelling; what is no UUID is nobody's id.
func requestID(r *http.Request) string { return knownID(param(r, "id")) }

// recordID is requestID, also of a message as the record calls it.
func recordID(r *http.Request) string {
	if message, ok := hook.MessageOfRecord(param(r, "id")); ok {
		return hook.MessageRecord(knownID(message))
	}
	return requestID(r)
}

func knownID(id string) string {
	if u, err := uuid.Parse(id); err == nil && len(id) == 36 {
		return u.String()
	}
	return uuid.Nil.String()
}

// param is a part of the path, without percent-encoding.
func param(r *http.Request, name string) string {
	text := chi.URLParam(r, name)
	if r.URL.RawPath == "" || !strings.Contains(text, "%") {
		return text
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return plain
}
