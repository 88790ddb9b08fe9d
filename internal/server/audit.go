package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/store/tree"
)

// auditRequest is GET /v1/requests/{id}/audit, also of a message as the record calls it: each step with its signature verified and its place in the tree. It is this
// broker's word; audit verify is for whoever does not want to take that.
func (s *Server) auditRequest(w http.ResponseWriter, r *http.Request) {
	id := recordID(r)
	records, err := s.records(r.Context(), id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	place := audit.Place{}
	if s.cfg.Tree != nil {
		select { // a proof is in memory as a whole
		case s.traces <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		place, err = s.place(r.Context(), id)
		<-s.traces
	}
	out := audit.TraceOf(id, records, &place)
	switch {
	case s.cfg.Tree == nil:
		out.Tree.Wrong = errNoTree.Error()
	case err != nil:
		s.log.Warn("a request was not proved", zap.String("request", id), zap.String("error", line(err.Error())))
		out.Tree.Wrong = "the tree over the record cannot be read now; see the broker's log"
	}
	if s.cfg.Tree != nil {
		if h := s.cfg.Tree.Health(); h.Stopped != nil {
			out.Tree.Stopped = h.Words()
		} else {
			out.Tree.Late = h.Words()
		}
	}
	s.writeJSON(w, r, http.StatusOK, out)
}

// place verifies the proof of a request as whoever asks for one would.
func (s *Server) place(ctx context.Context, id string) (audit.Place, error) {
	var proof bytes.Buffer
	err := s.cfg.Tree.Prove(ctx, id, tree.NewLineWriter(&proof))
	stopped := (*tree.StoppedError)(nil)
	switch {
	case errors.Is(err, tree.ErrBehind):
		return audit.Place{Rest: api.PlaceLater}, nil
	case errors.Is(err, tree.ErrNotInTree):
		return audit.Place{Rest: api.PlaceNever}, nil
	case errors.As(err, &stopped):
		return audit.Place{}, nil // which is said beside
	case err != nil:
		return audit.Place{}, err
	}
	key, err := s.cfg.Tree.Public()
	if err != nil {
		return audit.Place{}, err
	}
	return audit.PlaceOf(&proof, key, s.cfg.Tree.Decode)
}
