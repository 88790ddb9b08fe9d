package server

import (
	"errors"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/codec"
	"assent/internal/hook"
)

// ask holds the hook until its request is over and answers it. Whatever goes wrong, the answer
// is nothing, which leaves the decision to the agent's own prompt.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, req hook.Request) {
	if s.waiting.Add(1) > int64(s.cfg.MaxWaiting) {
		s.waiting.Add(-1)
		s.log.Warn("too many hooks wait; one was sent away", zap.Int("limit", s.cfg.MaxWaiting))
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: "too many hooks wait"})
		return
	}
	defer s.waiting.Add(-1)

	answer, err := s.cfg.Broker.Ask(r.Context(), req)
	switch {
	case err == nil:
		s.answer(w, &req, answer)
	case r.Context().Err() != nil:
		s.metrics.answer("gone") // the hook went away; what that means the broker knows
	case errors.Is(err, broker.ErrStopping):
		// The hook sees a closed connection and comes back to the next broker.
		panic(http.ErrAbortHandler)
	default:
		s.metrics.answer("refused")
		s.fail(w, r, err)
	}
}

// answer writes what became of a request: the exact bytes that the hook prints, or 204.
func (s *Server) answer(w http.ResponseWriter, q *hook.Request, a broker.Answer) {
	s.metrics.answer(string(a.Outcome))
	var body []byte
	var err error
	switch {
	case a.Decision != nil && (a.Outcome == hook.Allowed || a.Outcome == hook.Denied):
		body, err = codec.Encode(q.Agent, *a.Decision, q)
	case a.Outcome == hook.Expired && a.Fallback == hook.Deny:
		body, err = codec.EncodeDeny(q.Agent, expiredWords)
	}
	if err != nil {
		s.log.Error("an answer could not be written for the agent, so its own prompt decides",
			zap.String("id", q.ID), zap.String("agent", line(q.Agent)), zap.String("error", line(err.Error())))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err := send(w, body); err != nil {
		s.log.Warn("the hook went away before its answer", zap.String("id", q.ID), zap.String("error", line(err.Error())))
		return
	}
	if a.Decision != nil {
		s.cfg.Broker.Delivered(q.ID)
	}
}

// expiredWords reach the model. They must not read as if a person had refused.
const expiredWords = "Nobody answered this permission request in time, and assent was told to deny in that case. No person has seen and refused it."

// send writes the answer and makes sure that it left.
func send(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write(body); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
