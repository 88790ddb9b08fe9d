package server

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/intake"
	"assent/internal/text/show"
)

// hooks is POST /v1/hooks. Every payload is published as it came; a request that can be read then
// waits for its answer. What cannot be read changes nothing for the agent: 204.
//
// came is how hooks with an id of their own reach this listener. withTail is for POST /v1/hooks/context,
// where the end of the agent's transcript follows the payload: a route of its own, because a broker that
// does not know of it must refuse it.
func (s *Server) hooks(came hook.Channel, withTail bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := &countedBody{ReadCloser: r.Body, held: &s.bytes, max: s.cfg.MaxHeld}
		r.Body = body
		// What take used of the stack is free again while the hook waits.
		if pending := s.take(w, r, came, body, withTail); pending != nil {
			s.wait(w, r, pending, body.mine) // not body: it would keep net/http's buffers in memory
		}
	}
}

// take hands an event to the intake. It writes the answer itself, unless a request has to be waited for.
func (s *Server) take(w http.ResponseWriter, r *http.Request, came hook.Channel, body *countedBody, withTail bool) (pending *intake.Pending) {
	defer func() {
		if pending == nil {
			s.bytes.Add(-body.mine)
		}
	}()
	arrived := time.Now() // the hook's timeout runs from here, however long reading and publishing take
	raw, err := s.readBody(w, r)
	if err != nil {
		s.hookBodyFailed(w, r, err)
		return nil
	}
	uses(r, servesHook)
	a, bad := s.arrivalOf(r, came, arrived)
	if bad != nil {
		writeProblem(w, *bad)
		return nil
	}
	if withTail {
		if raw, a.Transcript, bad = splitTail(r.Header, raw); bad != nil {
			writeProblem(w, *bad)
			return nil
		}
		body.giveBack(len(a.Transcript)) // it is read at once, and does not wait
	}
	a.Event.Raw = raw
	var print []byte
	a.Print = func(out []byte) { print = out }
	pending, err = s.intake.Handle(r.Context(), a)
	var unpublished *intake.PublishError
	switch { // 503 follows
	case s.cfg.Shared && errors.Is(err, broker.ErrUnavailable):
		w.Header().Set(hook.HeaderRetry, hook.RetryUntilDeadline)
	case errors.Is(err, broker.ErrPassing):
		w.Header().Set(hook.HeaderRetry, hook.RetrySoon)
	}
	switch {
	case pending != nil:
		s.machines.Heard(&a.Event, hook.UnescapeHeader(r.Header.Get(hook.HeaderVersion)), arrived)
	case err == nil && print != nil:
		s.machines.Heard(&a.Event, hook.UnescapeHeader(r.Header.Get(hook.HeaderVersion)), arrived)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(print) // where the hook is gone no receipt comes
	case err == nil:
		s.machines.Heard(&a.Event, hook.UnescapeHeader(r.Header.Get(hook.HeaderVersion)), arrived)
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &unpublished):
		s.publishFailed(w, r, unpublished.Err)
	case errors.Is(err, intake.ErrTooMany):
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: intake.ErrTooMany.Error()})
	default:
		if err := answerHere(w, s.unanswered(err)); err != nil {
			s.wentAway(a.Event.ID, err)
		}
	}
	return pending
}

// arrivalOf reads the headers of a hook that came at a time. The only thing it refuses is an id that
// is no UUID.
func (s *Server) arrivalOf(r *http.Request, came hook.Channel, at time.Time) (intake.Arrival, *problem) {
	e, channel, bad := eventOf(r.Header, came)
	if bad != nil {
		return intake.Arrival{}, bad
	}
	e.Submitter = s.submitter(r)
	machine := ""
	if by := principal(r).Approver; by.Kind == "token" {
		machine = by.Name
	}
	timeout, onTimeout := s.timeoutOf(r.Header, e.ID)
	return intake.Arrival{
		Event: e, Machine: machine, Channel: channel, At: at, Timeout: timeout, OnTimeout: onTimeout, ReattachSHA256: secretHash(r.Header),
		NoTranscript: hook.UnescapeHeader(r.Header.Get(hook.HeaderContextWhy)),
	}, nil
}

// splitTail takes the end of the agent's transcript off a body. The payload is a copy: it stays in memory
// for as long as its hook waits.
func splitTail(h http.Header, body []byte) (payload, tail []byte, bad *problem) {
	payload, tail, err := hook.SplitTranscript(body, h.Get(hook.HeaderContextLength))
	if err != nil {
		p := badField(hook.HeaderContextLength, err.Error())
		return nil, nil, &p
	}
	return bytes.Clone(payload), tail, nil
}

func (s *Server) hookBodyFailed(w http.ResponseWriter, r *http.Request, err error) {
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		s.metrics.oversize.Inc()
		s.log.Warn("a hook's payload is too large to be read", zap.Int64("limit", tooBig.Limit))
		s.fail(w, r, err)
		return
	}
	for full, limit := range map[error]int64{errBudget: s.cfg.MaxHeld, errCrowd: s.arriving.max} {
		if errors.Is(err, full) {
			s.log.Warn("a hook was sent away", zap.String("why", full.Error()), zap.Int64("limit", limit))
			writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: full.Error()})
			return
		}
	}
	writeProblem(w, problem{Status: http.StatusBadRequest, Detail: "the body ended early or took too long"})
}

// publishFailed is 503 whatever went wrong: the client spools a plain event and abstains, or
// denies, for a request.
func (s *Server) publishFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody to tell
	}
	s.metrics.unpublished.Inc()
	s.log.Error("an event could not be made durable; its hook was sent away", zap.String("error", line(err.Error())))
	writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: "the event could not be made durable"})
}

// eventOf reads the headers of a hook. The only thing it refuses is an id that is no UUID.
func eventOf(h http.Header, came hook.Channel) (hook.Event, hook.Channel, *problem) {
	e := hook.EventFromHeaders(h.Get)
	e.Submitter = "" // never the hook's word
	e.Attempt = max(1, e.Attempt)
	if !hook.AgentName(e.Agent) {
		e.Agent = "claude"
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	id := e.ID
	if id == "" {
		e.ID = uuid.NewString()
		if came == hook.ChannelRemote {
			came = hook.ChannelPlain // an agent's own HTTP hook; it cannot come back
		}
		return e, came, nil
	}
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		p := badField(hook.HeaderRequestID, "want a UUID")
		return e, came, &p
	}
	e.ID = u.String()
	return e, came, nil
}

// How long a hook waits: where it does not say, and at most.
const (
	defaultTimeout = 590 * time.Second
	maxTimeout     = 366 * 24 * time.Hour
)

// timeoutOf reads how long a hook waits, and its answer when that time is up. What cannot be read has a
// default.
func (s *Server) timeoutOf(h http.Header, id string) (time.Duration, hook.Fallback) {
	timeout := defaultTimeout
	if text := h.Get(hook.HeaderRemaining); text != "" {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			timeout = time.Duration(min(max(ms, 0), maxTimeout.Milliseconds())) * time.Millisecond
		} else {
			s.log.Warn("a hook's timeout is unreadable", zap.String("id", id), zap.String("header", line(text)))
		}
	}
	onTimeout, err := hook.ParseFallback(hook.UnescapeHeader(h.Get(hook.HeaderOnTimeout)))
	if err != nil {
		s.log.Warn("a hook's fallback is unreadable, so it will abstain", zap.String("id", id))
	}
	return timeout, onTimeout
}

// line makes foreign text fit for a log.
func line(s string) string { return show.Logged(s) }
