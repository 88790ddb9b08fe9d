package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/hook"
)

var (
	errNoMessages  = errors.New("this broker sends no messages to sessions")
	errMessageRate = errors.New("too many messages in a minute; wait a little")
)

// How many messages one credential may send within any messageTime.
const (
	messageBurst = 20
	messageTime  = time.Minute
	maxSenders   = 1024 // of whom it is known when they sent
)

// senders bound how much each credential sends.
type senders struct {
	burst int
	mu    sync.Mutex
	sent  map[string][]time.Time // guarded by mu; by kind and id: when, the oldest first, at most burst
}

// allow counts a message of by that is sent now, if there is room for it.
func (x *senders) allow(by hook.Approver) bool {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	lately := func(times []time.Time) []time.Time {
		return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= messageTime })
	}
	key := by.Kind + " " + by.ID
	times := lately(x.sent[key])
	if len(times) >= x.burst {
		return false
	}
	if len(x.sent) >= maxSenders {
		for k, t := range x.sent {
			if x.sent[k] = lately(t); len(x.sent[k]) == 0 {
				delete(x.sent, k)
			}
		}
		if len(x.sent) >= maxSenders && x.sent[key] == nil {
			return false // more than a thousand send at once: nobody starts afresh by that
		}
	}
	if x.sent == nil {
		x.sent = map[string][]time.Time{}
	}
	x.sent[key] = append(times, now)
	return true
}

// sendMessage is POST /v1/sessions/{id}/messages {id, prompt, kind?, agent?, expiresAt?, signature?,
// verification?}: text for the agent of a live session. A device must have signed it.
func (s *Server) sendMessage(w http.ResponseWriter, r *http.Request) {
	m := hook.Message{SessionID: param(r, "id")}
	var proof hook.JSON
	var sent *hook.Verification
	var named string // the session, as an AgentMessage has it
	if !s.readObject(w, r, "NewMessage", map[string]any{
		"id": &m.ID, "agent": &m.Agent, "sessionId": &named, "kind": &m.Kind, "prompt": &m.Prompt, "expiresAt": &m.ExpiresAt, "signature": &m.Signature, "verification": &proof,
	}, func() (errs []*hook.FieldError) {
		if u, err := uuid.Parse(m.ID); err != nil || u.String() != m.ID {
			errs = append(errs, hook.BadField("id", "want a UUID in lower case, chosen by the sender"))
		}
		if named != "" && named != m.SessionID {
			errs = append(errs, hook.BadField("sessionId", "is not the session of the address"))
		}
		var bad *hook.FieldError
		if sent, bad = readVerification(proof); bad != nil {
			errs = append(errs, bad)
		}
		return errs
	}) {
		return
	}
	s.toSession(w, r, m, sent)
}

// toSession sends what was read of a request as a message to a live session.
func (s *Server) toSession(w http.ResponseWriter, r *http.Request, m hook.Message, sent *hook.Verification) {
	if s.cfg.Messages == nil {
		s.fail(w, r, errNoMessages)
		return
	}
	end, ok := s.begin(w, r)
	if !ok {
		return
	}
	defer end()
	by := principal(r)
	m, err := by.VouchMessage(m)
	if err == nil && m.PublicKey != nil && (m.Agent == "" || m.Kind == "" || m.ExpiresAt == "") {
		err = auth.ErrSignature // what was signed stands in the record as it was signed
	}
	if err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused a message that its device did not sign", zap.String("session", line(m.SessionID)),
			zap.String("device", by.Approver.ID), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
	defer cancel()
	if _, err := s.cfg.Messages.Message(m.ID); err != nil { // else it was sent again, which costs nothing
		if !s.senders.allow(by.Approver) {
			s.fail(w, r, errMessageRate)
			return
		}
		if m.Verification, m.By, ok = s.verify(ctx, w, r, by, func() stake { return message }, auth.MessageText(m), sent, true); !ok {
			return
		}
	}
	if m.Agent == "" {
		m.Agent = hook.TerminalAgent(hostName())
	}
	if m.Kind == "" {
		m.Kind = hook.MessagePrompt
	}
	before, _ := s.cfg.Messages.Message(m.ID)
	m, err = s.cfg.Messages.Send(ctx, m)
	if err != nil {
		s.messageFailed(w, r, err)
		return
	}
	status := http.StatusAccepted
	if before.ID == m.ID {
		status = http.StatusOK
	} else {
		s.log.Info("sent a message", zap.String("id", m.ID), zap.String("session", line(m.SessionID)), zap.Int("bytes", len(m.Prompt)),
			zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)), zap.Bool("verified", m.By.Verified))
	}
	s.writeJSON(w, r, status, messageView(m))
}

// messageFailed answers a message that was not sent: 422 names the member that the contract of messages
// forbids, where a body that cannot be read is 400.
func (s *Server) messageFailed(w http.ResponseWriter, r *http.Request, err error) {
	var writer *fleet.WriterError
	if errors.As(err, &writer) {
		writeProblem(w, problem{Status: http.StatusConflict, Reason: "writer", Detail: writer.Error()})
		return
	}
	var field *hook.FieldError
	if errors.As(err, &field) {
		p := badMembers(field)
		p.Status = http.StatusUnprocessableEntity
		writeProblem(w, p)
		return
	}
	s.fail(w, r, err)
}

// messageView is m as the API shows it.
func messageView(m hook.Message) hook.Message {
	m.Submitter, m.Write, m.Recorded = "", "", false
	return m
}

// listMessages is GET /v1/sessions/{id}/messages.
func (s *Server) listMessages(w http.ResponseWriter, r *http.Request) {
	list := []hook.Message{}
	if s.cfg.Messages != nil {
		for _, m := range s.cfg.Messages.Messages(param(r, "id")) {
			list = append(list, messageView(m))
		}
	}
	s.writeJSON(w, r, http.StatusOK, list)
}

// oneMessage is a message of the session in the address, or fleet.ErrNotFound.
func (s *Server) oneMessage(r *http.Request) (hook.Message, error) {
	return s.messageIf(r, func(m *hook.Message) bool { return m.SessionID == param(r, "id") })
}

// messageIf is the message in the address if it is one of those meant there, or fleet.ErrNotFound.
func (s *Server) messageIf(r *http.Request, meant func(*hook.Message) bool) (hook.Message, error) {
	if s.cfg.Messages == nil {
		return hook.Message{}, fleet.ErrNotFound
	}
	m, err := s.cfg.Messages.Message(chi.URLParam(r, "message"))
	if err == nil && !meant(&m) {
		err = fleet.ErrNotFound
	}
	return m, err
}

// getMessage is GET of a message that find finds.
func (s *Server) getMessage(find func(*http.Request) (hook.Message, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, err := find(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.writeJSON(w, r, http.StatusOK, messageView(m))
	}
}

// takeBackMessage is DELETE of a message that find finds, of one that nobody has taken yet.
func (s *Server) takeBackMessage(find func(*http.Request) (hook.Message, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, err := find(r)
		if err == nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
			defer cancel()
			m, err = s.cfg.Messages.TakeBack(ctx, m.ID)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.writeJSON(w, r, http.StatusOK, messageView(m))
	}
}

// forgetMessage is DELETE /v1/sessions/{id}/messages/{message}/text: the text of one message is removed, and what was
// signed with it. What the session had of it is the session's.
func (s *Server) forgetMessage(w http.ResponseWriter, r *http.Request) {
	m, err := s.oneMessage(r)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
		defer cancel()
		m, err = s.cfg.Messages.ForgetMessage(ctx, m.ID, principal(r).Approver)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.log.Info("forgot the text of a message", zap.String("id", m.ID), zap.String("session", line(m.SessionID)),
		zap.String("kind", principal(r).Approver.Kind), zap.String("by", line(principal(r).Approver.Name)))
	s.writeJSON(w, r, http.StatusOK, messageView(m))
}

// MessagesChanged says that Config.Messages has news.
func (s *Server) MessagesChanged() { s.messageNews.tell() }

// messagesSoFar is the last change of messages.
func (s *Server) messagesSoFar() uint64 {
	if s.cfg.Messages == nil {
		return 0
	}
	_, last := s.cfg.Messages.Since(0)
	return last
}

// sendMessages sends the messages that changed since *sent. A client that has just come reads those of a
// session when it looks at one. It returns a context that is done when
// there is more.
func (s *Server) sendMessages(out *socketWriter, sent *uint64) (context.Context, error) {
	next := s.messageNews.change()
	if s.cfg.Messages == nil {
		return next, nil
	}
	changed, last := s.cfg.Messages.Since(*sent)
	*sent = last
	if len(changed) == 0 {
		return next, nil
	}
	for i := range changed {
		changed[i] = messageView(changed[i])
	}
	m, err := json.Marshal(api.MessagesMessage{Type: api.MessageMessages, Messages: changed})
	if err != nil {
		return next, fmt.Errorf("encode messages: %w", err)
	}
	return next, out.message(m)
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
