package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/intake"
)

// wait blocks until a hook's request is answered and writes the answer. Until then its payload
// counts size bytes of the budget.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, pending *intake.Pending, size int64) {
	p := principal(r) // nobody, on the unix socket
	if !pending.Answered() && r.Header.Get(hook.HeaderInterim) == "1" {
		w.WriteHeader(http.StatusProcessing)
	}
	if !pending.Answered() && s.hold(w, pending, size, p) {
		return
	}
	defer s.release(pending, size)
	// A connection without deadlines (a test's recorder) has none to lift.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer p.OnRevoke(cancel)()
	a := s.await(ctx, pending)
	s.written(pending, a, answerHere(w, a))
}

// release ends the count of a hook that waited, and of its bytes.
func (s *Server) release(pending *intake.Pending, size int64) {
	pending.Close()
	s.bytes.Add(-size)
}

// answer is the HTTP answer to a hook: the outcome of its request, or why nobody was asked.
type answer struct {
	intake.Answer
	// silent says that the connection is to be closed without an answer.
	silent bool
	// problem is the status of the problem that Body holds; 0 if that is the agent's.
	problem int
}

func (a *answer) status() int {
	switch {
	case a.problem != 0:
		return a.problem
	case a.Body == nil:
		return http.StatusNoContent
	}
	return http.StatusOK
}

// setHeader writes the headers but the length.
func (a *answer) setHeader(h http.Header) {
	switch {
	case a.Body == nil:
	case a.problem != 0:
		h.Set("Content-Type", api.ProblemType)
	default:
		h.Set("Content-Type", "application/json")
	}
	if a.Outcome == "" {
		return
	}
	h.Set(hook.HeaderOutcome, hook.EscapeHeader(string(a.Outcome)))
	if a.By == nil {
		return
	}
	for _, f := range []struct{ name, value string }{{hook.HeaderByKind, a.By.Kind}, {hook.HeaderByName, cmp.Or(a.By.Name, a.By.ID)}, {hook.HeaderByFile, a.By.File}} {
		if f.value != "" && len(f.value) <= maxByHeader {
			h.Set(f.name, hook.EscapeHeader(f.value))
		}
	}
}

// maxByHeader bounds the header that names who decided: hook clients read 16 KiB of headers.
const maxByHeader = 1 << 10

// answerHere answers on a connection that is still net/http's. An error means that the client did not
// take the answer.
func answerHere(w http.ResponseWriter, a answer) error {
	if a.silent {
		panic(http.ErrAbortHandler)
	}
	a.setHeader(w.Header())
	if a.Body != nil {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.status())
	_, err := w.Write(a.Body)
	return errors.Join(err, http.NewResponseController(w).Flush())
}

// await blocks until the request is over. ctx is the hook's connection.
func (s *Server) await(ctx context.Context, pending *intake.Pending) answer {
	a, err := pending.Wait(ctx)
	switch {
	case err == nil:
		s.metrics.answer(string(a.Outcome))
		return answer{Answer: a}
	case ctx.Err() != nil:
		s.metrics.answer("gone") // the broker decides what that means for the request
		return answer{silent: true}
	}
	return s.unanswered(err)
}

// unanswered is the answer where the broker has none.
func (s *Server) unanswered(err error) answer {
	if errors.Is(err, broker.ErrStopping) {
		return answer{silent: true} // the hook comes back to the next broker
	}
	return s.refused(err)
}

// refused is the answer to a request that could not be taken. It stands apart to keep the
// frame of the wait small, as there may be thousands.
func (s *Server) refused(err error) answer {
	s.metrics.answer("refused")
	p := s.problem("/v1/hooks", err)
	complete(&p)
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers only
		return answer{problem: p.Status}
	}
	return answer{problem: p.Status, Answer: intake.Answer{Body: body}}
}

// written reports to the broker whether an answer was written.
func (s *Server) written(pending *intake.Pending, a answer, err error) {
	if err != nil {
		s.wentAway(pending.ID(), err)
	} else if a.Decides {
		s.metrics.answerTime.Observe(max(0, time.Since(a.SettledAt).Seconds()))
		pending.Delivered()
	}
}

func (s *Server) wentAway(id string, err error) {
	s.log.Warn("the hook went away before its answer", zap.String("id", id), zap.String("error", line(err.Error())))
}
