package server

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/store/tree"
)

var errNoTree = errors.New("there is no tree over the record here: the record is damaged, or this broker keeps none; see the broker's log")

var errExports = errors.New("two exports are being written already; try again later")

// maxExports bounds the exports and proofs under way.
const maxExports = 2

// writeTime bounds one write to who reads an export.
const writeTime = 30 * time.Second

// linesType is that of an export and of proofs.
const linesType = "application/x-ndjson"

// needsTree is for routes that a broker without a tree cannot serve.
func (s *Server) needsTree(next http.Handler) http.Handler {
	if s.cfg.Tree != nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errNoTree) })
}

// getCheckpoint is GET /v1/audit/checkpoint: the newest checkpoint, and the proof that the tree of ?from=SIZE is
// its beginning.
func (s *Server) getCheckpoint(w http.ResponseWriter, r *http.Request) {
	from := int64(0)
	if text := r.URL.Query().Get("from"); text != "" {
		var err error
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 1 {
			writeProblem(w, badField("from", "want the size of a checkpoint, 1 or more"))
			return
		}
		if err := s.cfg.Tree.Reach(r.Context(), from); err != nil {
			s.treeFails(w, r, err)
			return
		}
	}
	c, err := s.cfg.Tree.Checkpoint(r.Context())
	if err != nil {
		s.treeFails(w, r, err)
		return
	}
	out := api.Checkpoint{Note: c.Note}
	if out.Key, err = s.cfg.Tree.Public(); err != nil {
		s.treeFails(w, r, err)
		return
	}
	if h := s.cfg.Tree.Health(); h.Stopped != nil {
		out.Stopped = h.Words()
	} else {
		out.Late = h.Words()
	}
	if from > 0 {
		proof, err := s.cfg.Tree.Consistency(r.Context(), c.Size, from)
		if err != nil {
			s.treeFails(w, r, err)
			return
		}
		for _, h := range proof {
			out.Proof = append(out.Proof, h.String())
		}
	}
	s.writeJSON(w, r, http.StatusOK, out)
}

// proveRequest is GET /v1/requests/{id}/proof: lines of JSON, see docs/audit.md.
func (s *Server) proveRequest(w http.ResponseWriter, r *http.Request) {
	s.writeLines(w, r, func(to *tree.LineWriter) error { return s.cfg.Tree.Prove(r.Context(), recordID(r), to) })
}

// exportTree is GET /v1/audit/export: lines of JSON, see docs/audit.md, of all or since ?since=TIME.
func (s *Server) exportTree(w http.ResponseWriter, r *http.Request) {
	var since time.Time
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			writeProblem(w, badField("since", "want a time such as 2026-11-20T14:10:00Z"))
			return
		}
	}
	s.writeLines(w, r, func(to *tree.LineWriter) error { return s.cfg.Tree.Export(r.Context(), since, to) })
}

// writeLines answers with lines as they are written. What cannot be finished has no end line.
func (s *Server) writeLines(w http.ResponseWriter, r *http.Request, write func(*tree.LineWriter) error) {
	select {
	case s.exports <- struct{}{}:
		defer func() { <-s.exports }()
	default:
		s.fail(w, r, errExports)
		return
	}
	out := tree.NewLineWriter(&patientWriter{w: w, control: http.NewResponseController(w)})
	err := write(out)
	switch {
	case err == nil:
	case !out.Begun():
		s.treeFails(w, r, err)
	default:
		s.log.Warn("an export was cut short", zap.String("error", line(err.Error())))
		panic(http.ErrAbortHandler) // the client hears that it is not whole
	}
}

// patientWriter gives each write its own time.
type patientWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (p *patientWriter) Write(b []byte) (int, error) {
	if !p.begun {
		p.w.Header().Set("Content-Type", linesType)
		p.begun = true
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTime)) // a test's recorder has none
	return p.w.Write(b)
}

// treeFails answers err of the tree; why it has stopped may be told.
func (s *Server) treeFails(w http.ResponseWriter, r *http.Request, err error) {
	if stopped := (*tree.StoppedError)(nil); errors.As(err, &stopped) {
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Reason: "tree", Detail: stopped.Error()})
		return
	}
	s.fail(w, r, err)
}
