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
	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
)

// ask lets the hook wait until its request is over, and answers it. Whatever goes wrong, the
// answer is nothing, which leaves the decision to the agent's own prompt. done is called when
// the wait is over. waiting is req's place beside another request; nil if it has none.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, req *hook.Request, waiting *broker.Waiting, done func()) {
	leave, ok := s.enter(req.Channel)
	if !ok {
		done()
		if waiting != nil {
			gone, cancel := context.WithCancel(r.Context())
			cancel()
			_, _ = waiting.Wait(gone)
		}
		s.log.Warn("too many hooks wait; one was sent away", zap.Int64("waiting", s.waiting.Load()))
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: "too many hooks wait"})
		return
	}
	var err error
	if waiting == nil {
		waiting, err = s.cfg.Broker.Enter(*req)
	}
	s.calls.entered(req)
	if err != nil {
		leave()
		done()
		s.answerHere(w, req.ID, s.unasked(err))
		return
	}
	p := principal(r) // nobody, on the unix socket
	ruled := waiting.ID() == req.ID && req.Verdict.Decides() && s.rule(req, waiting)
	if !ruled && s.hold(w, req, waiting, p, func() { leave(); done() }) {
		return
	}
	defer done()
	defer leave()
	// A connection without deadlines (a test's recorder) has none to lift.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer p.OnRevoke(cancel)()
	s.answerHere(w, waiting.ID(), s.await(ctx, req, waiting))
}

// enter counts one more hook that waits, unless too many do. leave counts it off.
func (s *Server) enter(channel hook.Channel) (leave func(), ok bool) {
	n := int64(0)
	if channel != hook.ChannelSocket {
		n = 1
	}
	leave = func() { s.waiting.Add(-1); s.remote.Add(-n) }
	waiting, remote := s.waiting.Add(1), s.remote.Add(n)
	if waiting > int64(s.cfg.MaxWaiting) || n > 0 && remote > int64(s.cfg.MaxRemote) {
		leave()
		return nil, false
	}
	return leave, true
}

// answerHere answers on a connection that is still net/http's.
func (s *Server) answerHere(w http.ResponseWriter, id string, a answer) {
	if a.silent {
		panic(http.ErrAbortHandler)
	}
	a.setHeader(w.Header())
	if a.body != nil {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, err := w.Write(a.body)
	s.answered(id, a, errors.Join(err, http.NewResponseController(w).Flush()))
}

// answer is what a hook that waited gets.
type answer struct {
	// silent says that the connection is to be closed without an answer.
	silent      bool
	status      int
	contentType string
	body        []byte // nil with 204
	// decides says that it carries a person's or a rule's decision, of settledAt.
	decides   bool
	settledAt time.Time
	// outcome and by say how the request ended, for whoever keeps a report; empty if it did not.
	outcome hook.Outcome
	by      *hook.Approver
}

// setHeader writes the headers but the length.
func (a *answer) setHeader(h http.Header) {
	if a.body != nil {
		h.Set("Content-Type", a.contentType)
	}
	if a.outcome == "" {
		return
	}
	h.Set(hook.HeaderOutcome, hook.EscapeHeader(string(a.outcome)))
	if a.by == nil {
		return
	}
	for _, f := range []struct{ name, value string }{{hook.HeaderByKind, a.by.Kind}, {hook.HeaderByName, cmp.Or(a.by.Name, a.by.ID)}, {hook.HeaderByFile, a.by.File}} {
		if f.value != "" && len(f.value) <= maxByHeader {
			h.Set(f.name, hook.EscapeHeader(f.value))
		}
	}
}

// maxByHeader bounds what is said about who decided: hook clients read 16 KiB of headers.
const maxByHeader = 1 << 10

// await blocks until the request is over. ctx is the hook's connection.
func (s *Server) await(ctx context.Context, req *hook.Request, waiting *broker.Waiting) answer {
	a, err := waiting.Wait(ctx)
	switch {
	case err == nil:
		return s.settle(req, a)
	case ctx.Err() != nil:
		s.metrics.answer("gone") // what that means the broker knows
		return answer{silent: true}
	}
	return s.unasked(err)
}

// unasked is the answer where the broker has none.
func (s *Server) unasked(err error) answer {
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
		return answer{status: p.Status}
	}
	return answer{status: p.Status, contentType: api.ProblemType, body: body}
}

// settle writes what became of a request: the exact bytes that the hook prints, or nothing.
func (s *Server) settle(req *hook.Request, a broker.Answer) answer {
	s.metrics.answer(string(a.Outcome))
	var body []byte
	var err error
	decides := a.Decision != nil && (a.Outcome == hook.Allowed || a.Outcome == hook.Denied)
	switch {
	case decides:
		body, err = claude.Encode(req.Agent, *a.Decision, req)
	case a.Outcome == hook.Expired && (a.Fallback == hook.Deny || req.OnTimeout == hook.Deny): // of twins each as it was told
		body, err = claude.EncodeDeny(req.Agent, hook.TimeoutWords(s.patienceOf(req)))
	}
	if err != nil {
		s.log.Error("an answer could not be written for the agent, so its own prompt decides",
			zap.String("id", req.ID), zap.String("agent", line(req.Agent)), zap.String("error", line(err.Error())))
		body, decides = nil, false
	}
	if body == nil {
		return answer{status: http.StatusNoContent, outcome: a.Outcome, by: a.By}
	}
	return answer{status: http.StatusOK, contentType: "application/json", body: body, decides: decides, settledAt: a.SettledAt, outcome: a.Outcome, by: a.By}
}

// patienceOf is how long a request that expired was waited for. The one at hand may be what came
// back after a restart; how long it has waited in all stands in the record.
func (s *Server) patienceOf(req *hook.Request) time.Duration {
	ctx, cancel := context.WithTimeout(s.ctx, useTime)
	defer cancel()
	waited := req.Deadline.Sub(req.CreatedAt)
	if v, err := s.cfg.Broker.Get(ctx, req.ID); err == nil {
		waited = v.Deadline.Sub(v.CreatedAt)
	}
	if v := req.Verdict; v != nil && v.Timeout == waited {
		return waited // a rule's own
	}
	return patience(waited)
}

// answered hears how the writing went.
func (s *Server) answered(id string, a answer, err error) {
	if err != nil {
		s.log.Warn("the hook went away before its answer", zap.String("id", id), zap.String("error", line(err.Error())))
	} else if a.decides {
		s.metrics.answerTime.Observe(max(0, time.Since(a.settledAt).Seconds()))
		s.cfg.Broker.Delivered(id)
	}
}
