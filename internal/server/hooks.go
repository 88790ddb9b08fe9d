package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/claude"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/host/ondisk"
	"assent/internal/text/show"
)

// hooks is POST /v1/hooks. Every payload is published as it came; a PermissionRequest that can
// be read then waits for its answer. What cannot be read changes nothing for the agent: 204.
//
// came is how hooks with an id of their own reach this listener.
func (s *Server) hooks(came hook.Channel) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := &roomedBody{ReadCloser: r.Body, held: &s.bytes, max: s.cfg.MaxHeld}
		r.Body = body
		// What take used of the stack is free again while the hook waits.
		req, twin := s.take(w, r, came)
		if req == nil {
			body.release()
			return
		}
		size := body.mine // alone: the body would keep net/http's buffers in memory
		s.ask(w, r, req, twin, func() { s.bytes.Add(-size) })
	}
}

// take reads and publishes an event. It answers by itself, unless the event is a request to be
// asked, which it returns, with its place beside another request if it shares that one's answer.
func (s *Server) take(w http.ResponseWriter, r *http.Request, came hook.Channel) (*hook.Request, *broker.Waiting) {
	arrived := time.Now() // the hook's patience runs from here, however long reading and publishing take
	raw, err := s.readBody(w, r)
	if err != nil {
		s.hookBodyFailed(w, r, err)
		return nil, nil
	}
	uses(r, servesHook)
	e, channel, problem := eventOf(r.Header, came)
	if problem != nil {
		writeProblem(w, *problem)
		return nil, nil
	}
	e.Raw, e.Submitter = raw, s.submitter(r)
	p, unreadable := claude.Decode(e.Agent, hook.UnescapeHeader(r.Header.Get(hook.HeaderEvent)), raw)
	e.Type = p.Type
	s.metrics.event(e.Type)
	if e.Type == hook.EventElicitation && unreadable == nil && e.Via == "" {
		return s.takeForm(w, r, e, p, channel, arrived), nil
	}
	asks := e.Type == "PermissionRequest" && !e.Spooled && unreadable == nil
	switch {
	case unreadable != nil || !asks:
	case p.SessionID == "" || p.ToolName == "":
		unreadable, asks = errNoSession, false
	case !claude.Known(e.Agent): // nobody could answer it
		unreadable, asks = claude.ErrUnknownAgent, false
	}
	if unreadable != nil {
		s.metrics.unreadable.Inc()
		s.log.Warn("a hook's payload is unreadable; it is streamed as it came, and the agent goes on without us",
			zap.String("id", e.ID), zap.String("type", line(e.Type)), zap.Int("bytes", len(raw)), zap.String("why", line(unreadable.Error())))
	}
	if e.Via != "" && !asks {
		// No hook sent it, so it is no event; and nobody can answer it.
		w.WriteHeader(http.StatusNoContent)
		return nil, nil
	}
	if e.Via == "" {
		if e.Seq, err = s.publish(r, &e, asks); err != nil {
			s.publishFailed(w, r, err)
			return nil, nil
		}
		s.calls.observe(&e, &p)
	}
	if !asks {
		w.WriteHeader(http.StatusNoContent)
		s.metrics.eventTime.Observe(time.Since(arrived).Seconds())
		return nil, nil
	}
	req := requestOf(e, p, channel, s.waitOf(r.Header, e.ID, arrived))
	req.ReattachSHA256 = secretHash(r.Header)
	s.calls.name(r.Context(), req)
	if s.sharable(req) { // the agent asks about this call already, and rules were applied
		twin, err := s.cfg.Broker.Join(*req)
		if err != nil {
			s.calls.entered(req)
			s.answerHere(w, req.ID, s.unasked(err))
			return nil, nil
		}
		if twin != nil {
			return req, twin
		}
	}
	if e.Via != "" { // nobody else tells subscribers that the agent asks
		if req.EventSeq, err = s.publish(r, &e, asks); err != nil {
			s.publishFailed(w, r, err)
			return nil, nil
		}
	}
	if len(e.Raw) > hook.MaxRequest {
		s.handBack(w, r, req)
		return nil, nil
	}
	s.judge(req)
	if !req.Verdict.Decides() { // somebody will look at it
		req.Overwrites = s.overwrites(req)
	}
	return req, nil
}

// sharable reports whether req may have the answer to another request. A hook tells more of its call
// than a permission prompt tool does, its mode for one; so what the rules deny of it they may not
// have seen in the tool's.
func (s *Server) sharable(req *hook.Request) bool {
	return s.cfg.Broker.Twin(req) &&
		(req.Via != "" || s.cfg.Rules == nil || s.cfg.Rules(req, req.ToolInput).Action != hook.ActionDeny)
}

var errNoSession = errors.New("a PermissionRequest without a session or a tool")

// publish makes the event durable, once: one that comes back to a request we hold was
// published before.
func (s *Server) publish(r *http.Request, e *hook.Event, asks bool) (seq uint64, err error) {
	if asks && e.Attempt > 1 {
		if v, err := s.cfg.Broker.Get(r.Context(), e.ID); err == nil {
			return v.EventSeq, nil
		}
	}
	return s.cfg.Publish(r.Context(), *e)
}

// handBack records that a request was too large to hold, without its payload.
func (s *Server) handBack(w http.ResponseWriter, r *http.Request, req *hook.Request) {
	s.metrics.oversize.Inc()
	s.log.Warn("a PermissionRequest is too large to be held; the agent's own prompt decides",
		zap.String("id", req.ID), zap.String("session", line(req.SessionID)), zap.Int("bytes", len(req.Raw)), zap.Int("limit", hook.MaxRequest))
	req.Raw, req.ToolInput, req.Suggestions = nil, nil, nil
	if err := s.cfg.Broker.HandBack(r.Context(), *req, hook.ReasonTooLarge); err != nil {
		s.log.Warn("handing back was not recorded", zap.String("id", req.ID), zap.String("error", line(err.Error())))
	}
	s.metrics.answer(string(hook.HandedBack))
	handed := answer{outcome: hook.HandedBack}
	handed.setHeader(w.Header())
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) hookBodyFailed(w http.ResponseWriter, r *http.Request, err error) {
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		s.metrics.oversize.Inc()
		s.log.Warn("a hook's payload is too large to be read", zap.Int64("limit", tooBig.Limit))
		s.fail(w, r, err)
		return
	}
	for full, limit := range map[error]int64{errNoRoom: s.cfg.MaxHeld, errCrowd: s.arriving.max} {
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
	get := func(name string) string { return hook.UnescapeHeader(h.Get(name)) }
	e := hook.Event{
		Agent:   get(hook.HeaderAgent),
		Time:    time.Now(),
		Spooled: h.Get(hook.HeaderSpooled) != "",
		Emitted: h.Get(hook.HeaderEmitted) != "", // of an envelope that waited in the spool
		Tool:    get(hook.HeaderTool),
		Attempt: max(1, int(number(h.Get(hook.HeaderAttempt), 1))),
		Via:     get(hook.HeaderVia),
		Origin:  hook.OriginFrom(h.Get),
	}
	if !hook.PlainToken(e.Agent) {
		e.Agent = "claude"
	}
	if e.Via != hook.ViaMCP {
		e.Via = ""
	}
	// A time that JSON cannot write would void every list it stands in.
	if t, err := time.Parse(time.RFC3339Nano, get(hook.HeaderEventTime)); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
		e.Time = t
	}
	id := get(hook.HeaderRequestID)
	if id == "" {
		e.ID = uuid.NewString()
		if came == hook.ChannelRemote {
			came = hook.ChannelPlain // an agent's own HTTP hook; it cannot come back
		}
		return e, came, nil
	}
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		p := badFields(fieldProblem{hook.HeaderRequestID, "want a UUID"})
		return e, came, &p
	}
	e.ID = u.String()
	return e, came, nil
}

// number reads a header that holds a whole number of at most nine digits beyond the sign.
func number(s string, otherwise int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 1<<31-1 || n < -(1<<31) {
		return otherwise
	}
	return n
}

// wait is how long a hook may wait and what it is told then.
type wait struct {
	deadline  time.Time
	onTimeout hook.Fallback
}

const (
	defaultWait = 590 * time.Second
	longestWait = 366 * 24 * time.Hour
)

// waitOf reads the patience of a hook that came at arrived. We answer a little before it runs out, so that the answer
// still arrives.
func (s *Server) waitOf(h http.Header, id string, arrived time.Time) wait {
	patience := defaultWait
	if text := h.Get(hook.HeaderRemaining); text != "" {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			patience = time.Duration(min(max(ms, 0), longestWait.Milliseconds())) * time.Millisecond
		} else {
			s.log.Warn("a hook's patience is unreadable", zap.String("id", id), zap.String("header", line(text)))
		}
	}
	fallback, err := hook.ParseFallback(hook.UnescapeHeader(h.Get(hook.HeaderOnTimeout)))
	if err != nil {
		s.log.Warn("a hook's fallback is unreadable, so it will abstain", zap.String("id", id))
	}
	return wait{arrived.Add(patience - min(headStart, patience/10)), fallback}
}

// headStart is how much earlier than the hook's own patience ends we answer, at most.
const headStart = 2 * time.Second

// patience is a hook's, of which waitOf made this wait.
func patience(wait time.Duration) time.Duration {
	return min(wait+headStart, wait*10/9)
}

func requestOf(e hook.Event, p hook.Payload, channel hook.Channel, w wait) *hook.Request {
	return &hook.Request{
		ID:             e.ID,
		SessionID:      p.SessionID,
		CWD:            p.CWD,
		ToolName:       p.ToolName,
		ToolInput:      p.ToolInput,
		InputSHA256:    p.InputSHA256,
		Agent:          e.Agent,
		AgentID:        p.AgentID,
		AgentType:      p.AgentType,
		Origin:         e.Origin,
		CreatedAt:      time.Now().UTC(),
		Deadline:       w.deadline.UTC(),
		OnTimeout:      w.onTimeout,
		PermissionMode: p.PermissionMode,
		Suggestions:    p.Suggestions,
		Uninspectable:  p.Uninspectable,
		Raw:            e.Raw,
		PayloadSHA256:  claude.Digest(e.Raw),
		EventSeq:       e.Seq,
		EventTime:      e.Time.UTC(),
		CallKey:        p.CallKey,
		Channel:        channel,
		ToolUseID:      p.ToolUseID,
		Via:            e.Via,
		Submitter:      e.Submitter,
	}
}

// overwrites looks at the file that a request would write anew. It does so only where the hook's
// host is this one: elsewhere the path means another file.
func (s *Server) overwrites(r *hook.Request) *hook.Overwrites {
	if tools.Of(r.ToolName).Kind != tool.Write || r.Channel != hook.ChannelSocket || r.Uninspectable != "" {
		return nil
	}
	if host, err := os.Hostname(); err != nil || host == "" || r.Origin.Host != host {
		return nil
	}
	var members map[string]json.RawMessage // by their exact names
	var path string
	if json.Unmarshal(r.ToolInput, &members) != nil || json.Unmarshal(members["file_path"], &path) != nil || path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.CWD, path)
	}
	return ondisk.Look(path)
}

// line makes foreign text fit for a log: visible, one line, not long.
func line(s string) string {
	const enough = 300
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return show.Line(s)
}
