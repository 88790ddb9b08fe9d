package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/policy/grants"
	"assent/internal/policy/published"
	"assent/internal/policy/suggest"
	"assent/internal/store/history"
	"assent/internal/store/tree"
)

// problem is an error as the API tells it. Title and Type follow from Status.
type problem = api.Problem

// badField is 400 for a header or a parameter.
func badField(field, what string) problem { return badFields(hook.BadField(field, what)) }

func badFields(errs ...*hook.FieldError) problem {
	p := problem{Status: http.StatusBadRequest}
	for _, e := range errs {
		p.Errors = append(p.Errors, api.FieldProblem{Field: e.Field, Problem: e.Problem})
	}
	if len(errs) > 0 {
		p.Field, p.Detail = errs[0].Field, errs[0].Error()
	}
	return p
}

// badMembers is 400 for members of the body.
func badMembers(errs ...*hook.FieldError) problem {
	p := badFields(errs...)
	for i, e := range p.Errors {
		p.Errors[i].Pointer = pointerTo(e.Field)
	}
	return p
}

// complete adds what follows from the status.
func complete(p *problem) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
}

// writeProblem answers with p. An answer that has begun stays as it is.
func writeProblem(w http.ResponseWriter, p problem) {
	complete(&p)
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers only
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500}`)
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", api.ProblemType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client is gone if this fails
}

// statuses is the one table from errors to HTTP. What is not in it is 500 "internal error".
var statuses = []struct { // read-only
	err    error
	status int
	reason string
}{
	{auth.ErrUnauthenticated, http.StatusUnauthorized, ""},
	{auth.ErrNotFound, http.StatusNotFound, ""},
	{auth.ErrNameTaken, http.StatusConflict, "name"},
	{auth.ErrKeyRevoked, http.StatusConflict, "revoked"},
	{auth.ErrPairingUsed, http.StatusForbidden, "used"},
	{auth.ErrPairingExpired, http.StatusForbidden, "expired"},
	{auth.ErrPairing, http.StatusForbidden, ""},
	{auth.ErrPairingFull, http.StatusTooManyRequests, ""},
	{auth.ErrNoStart, http.StatusNotFound, ""},
	{auth.ErrOperator, http.StatusForbidden, "administrator"},
	{auth.ErrNoAdministrator, http.StatusForbidden, "administrator"},
	{auth.ErrSignature, http.StatusForbidden, ""},
	{auth.ErrTokenSignature, http.StatusForbidden, ""},
	{auth.ErrVerification, http.StatusForbidden, "verification"},
	{auth.ErrNoVerification, http.StatusConflict, ""},
	{auth.ErrVerifies, http.StatusConflict, ""},
	{auth.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{notify.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{notify.ErrFull, http.StatusTooManyRequests, ""},
	{notify.ErrBusy, http.StatusTooManyRequests, ""},
	{notify.ErrNotSubscribed, http.StatusConflict, ""},
	{history.ErrNotReady, http.StatusServiceUnavailable, ""},
	{history.ErrNotFound, http.StatusNotFound, ""},
	{errNoEvent, http.StatusNotFound, ""},
	{history.ErrWaiting, http.StatusConflict, ""},
	{history.ErrSlow, http.StatusServiceUnavailable, ""},
	{grants.ErrNotFound, http.StatusNotFound, ""},
	{errNoProposal, http.StatusConflict, "proposal"},
	{suggest.ErrGone, http.StatusConflict, "proposal"},
	{suggest.ErrRefused, http.StatusConflict, "proposal"},
	{suggest.ErrSlow, http.StatusServiceUnavailable, ""},
	{errNoSuggestions, http.StatusServiceUnavailable, ""},
	{grants.ErrBefore, http.StatusConflict, "proposal"},
	{grants.ErrFull, http.StatusConflict, "full"},
	{published.ErrChanged, http.StatusConflict, "changed"},
	{published.ErrNoVersion, http.StatusNotFound, ""},
	{published.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{errNoPublished, http.StatusServiceUnavailable, ""},
	{errNoGrants, http.StatusServiceUnavailable, ""},
	{halt.ErrChanged, http.StatusConflict, "changed"},
	{halt.ErrStopped, http.StatusConflict, "stopped"},
	{halt.ErrUnrecorded, http.StatusServiceUnavailable, ""},
	{halt.ErrBusy, http.StatusServiceUnavailable, ""},
	{halt.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{errNoHalt, http.StatusServiceUnavailable, ""},
	{fleet.ErrNotFound, http.StatusNotFound, ""},
	{fleet.ErrUnreachable, http.StatusConflict, "unreachable"},
	{fleet.ErrStopped, http.StatusConflict, "stopped"},
	{fleet.ErrDuplicate, http.StatusConflict, "duplicate"},
	{fleet.ErrTaken, http.StatusConflict, "taken"},
	{fleet.ErrWorking, http.StatusConflict, "working"},
	{fleet.ErrTooMany, http.StatusTooManyRequests, ""},
	{fleet.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{fleet.ErrNoAgent, http.StatusNotFound, ""},
	{errNoAgents, http.StatusServiceUnavailable, ""},
	{errMessageRate, http.StatusTooManyRequests, ""},
	{errNoMessages, http.StatusServiceUnavailable, ""},
	{tree.ErrNotInTree, http.StatusNotFound, ""},
	{tree.ErrSize, http.StatusConflict, "older"},
	{tree.ErrBehind, http.StatusServiceUnavailable, ""},
	{errNoTree, http.StatusServiceUnavailable, "tree"},
	{errExports, http.StatusTooManyRequests, ""},
	{broker.ErrNotFound, http.StatusNotFound, ""},
	{broker.ErrSettled, http.StatusConflict, "ended"},
	{broker.ErrDigest, http.StatusConflict, "digest"},
	{errNoPrompt, http.StatusConflict, "prompt"},
	{broker.ErrReused, http.StatusConflict, ""},
	{broker.ErrStranger, http.StatusConflict, ""},
	{broker.ErrUnavailable, http.StatusServiceUnavailable, ""},
	{broker.ErrStopping, http.StatusServiceUnavailable, ""},
}

// problemOf looks err up. known is false for an internal error, which the caller logs.
func problemOf(err error) (p problem, known bool) {
	var field *hook.FieldError
	var unsent *notify.SendError
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &field):
		return badMembers(field), true
	case errors.As(err, &unsent):
		return problem{Status: http.StatusBadGateway, Detail: unsent.Error()}, true
	case errors.As(err, &tooBig):
		return tooLarge(tooBig.Limit), true
	}
	if errors.Is(err, grants.ErrUnavailable) { // it is the record's
		err = broker.ErrUnavailable
	}
	for _, row := range statuses {
		if !errors.Is(err, row.err) {
			continue
		}
		// The sentinel's words only: what is wrapped around may name internals.
		p = problem{Status: row.status, Detail: row.err.Error(), Reason: row.reason}
		var settled *broker.SettledError
		if errors.As(err, &settled) {
			p.Detail, p.Outcome, p.DecidedBy = settled.Error(), settled.Outcome, settled.By
		}
		return p, true
	}
	return problem{Status: http.StatusInternalServerError, Detail: "internal error"}, false
}

// fail answers err.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	writeProblem(w, s.problem(r.URL.Path, err))
}

// problem is problemOf err, and logs what the table does not know or an operator must hear.
func (s *Server) problem(path string, err error) problem {
	p, known := problemOf(err)
	switch {
	case !known:
		s.log.Error("internal error", zap.String("path", line(path)), zap.String("error", line(err.Error())))
	case p.Status == http.StatusServiceUnavailable:
		s.log.Warn("not available", zap.String("path", line(path)), zap.String("error", line(err.Error())))
	}
	return p
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeProblem(w, problem{Status: http.StatusNotFound, Detail: "no such route"})
}

func methodNotAllowed(w http.ResponseWriter, _ *http.Request) {
	writeProblem(w, problem{Status: http.StatusMethodNotAllowed, Detail: "not with this method"})
}

// writeJSON answers 200, or status, with v.
func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client is gone if this fails
}
