package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/hook"
)

// Why a host's WebSocket ends.
var (
	errReplaced = errors.New("another connection of the same host took its place")
	errFrame    = errors.New("the host sent what is no frame")
	errLater    = errors.New("what the host says cannot be recorded now")
)

// maxAgentResult bounds an event's result, and the message of an output, maxAgentWords its other texts, in bytes.
const (
	maxAgentResult = 32 << 10
	maxAgentWords  = 1000
)

// resumes is the one form of a command that a person is told to run after a handover: a directory, a program and a
// session, each a single word to a shell. Whoever has the token of a host could name any other.
var resumes = regexp.MustCompile(strings.ReplaceAll(`^cd WORD && WORD --resume [0-9a-f-]{8,36}$`, "WORD", `(?:[A-Za-z0-9/._+@%,-]|'[^']*'|\\')+`))

// unseen says whether nobody would see a character for what it is.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// hostLink is a host's WebSocket. Its reader takes the host's frames, one after the other; its writer sends
// what they are answered with, and the messages for the host's agents.
type hostLink struct {
	s     *Server
	id    string // of the host's token
	name  string
	link  *fleet.Link
	acks  chan api.BrokerFrame
	hello bool // the reader's: it has come

	mu    sync.Mutex
	asked map[string]chan api.HostAnswer // what waits for its answer, by the id of the frame; guarded by mu
}

// hostSocket is GET /v1/host/ws, see api.HostFrame.
func (s *Server) hostSocket(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Agents == nil || s.cfg.Messages == nil {
		s.fail(w, r, errNoAgents)
		return
	}
	p := principal(r)
	if p.Approver.Kind != "token" {
		writeProblem(w, lacking(auth.RoleHost))
		return
	}
	left, ok := s.enterSocket(w, r)
	if !ok {
		return
	}
	defer left()
	conn, err := s.upgrader().Upgrade(w, r, nil) // answers by itself when it refuses
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	defer p.OnRevoke(func() { cancel(errRevoked) })()
	if !p.ExpiresAt.IsZero() {
		t := time.AfterFunc(time.Until(p.ExpiresAt), func() { cancel(errRevoked) })
		defer t.Stop()
	}
	h := &hostLink{s: s, id: p.Approver.ID, name: p.Approver.Name, acks: make(chan api.BrokerFrame, 64), asked: map[string]chan api.HostAnswer{}}
	h.link = s.cfg.Agents.Connect(h.id, func() { cancel(errReplaced) })
	defer h.link.Close()
	s.hosts.Store(h.id, h)
	defer s.hosts.CompareAndDelete(h.id, h)
	if s.cfg.AnswerBrokers != nil {
		if stop, err := s.cfg.AnswerBrokers(h.id, h.forOther); err == nil {
			defer stop()
		} else {
			s.log.Warn("other brokers cannot ask what this host sees", zap.Error(err))
		}
	}
	s.log.Info("a host has come", zap.String("host", line(h.name)))
	var reader sync.WaitGroup
	reader.Go(func() { cancel(h.read(ctx, conn)) })
	defer reader.Wait()
	defer conn.Close() // ends the reader

	out := &socketWriter{conn: conn, wait: s.writeWait}
	err = h.write(ctx, out)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRevoked):
		out.close(closeRevoked, "revoked")
	case errors.Is(cause, errReplaced):
		out.close(api.HostClosed, errReplaced.Error())
	case errors.Is(cause, errFrame):
		out.close(websocket.CloseProtocolError, errFrame.Error())
	case errors.Is(cause, errLater):
		out.close(websocket.CloseTryAgainLater, errLater.Error())
	case s.ctx.Err() != nil:
		out.close(websocket.CloseGoingAway, "the broker is stopping")
	case errors.Is(err, errSlow):
		s.metrics.dropped.Inc()
	}
	s.log.Info("a host has gone", zap.String("host", line(h.name)), zap.Error(context.Cause(ctx)))
}

// write sends until ctx is done or sending fails: first the welcome, then messages and acknowledgements.
func (h *hostLink) write(ctx context.Context, out *socketWriter) error {
	ping := h.s.pinger(out)
	sent := map[string]bool{} // messages that still wait to be taken, and were sent on this connection
	greeted := false
	halted := false               // as the host was told last
	toForget := map[string]bool{} // what it was told to forget on this connection, and has not
	for {
		news, halts := h.s.messageNews.change(), h.s.haltNews.change()
		if greeted {
			if stopped := h.s.halt().Stopped != nil; halted != stopped {
				if err := frame(out, api.BrokerFrame{Type: api.BrokerHalt, Stopped: stopped}); err != nil {
					return err
				}
				halted = stopped
			}
			if err := h.forget(out, &toForget); err != nil { // before what is sent to the same session after that
				return err
			}
			waiting, _ := h.s.cfg.Messages.ToHost(h.id)
			still := make(map[string]bool, len(waiting))
			for i := range waiting {
				m := messageView(waiting[i])
				if !sent[m.ID] {
					if err := frame(out, api.BrokerFrame{Type: api.BrokerMessage, Message: &m}); err != nil {
						return err
					}
				}
				still[m.ID] = true
			}
			sent = still
		}
		timer := time.NewTimer(time.Until(ping.next))
		var f *api.BrokerFrame
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-news.Done():
		case <-halts.Done():
		case ack := <-h.acks:
			f = &ack
		case <-timer.C:
		}
		timer.Stop()
		if f != nil {
			if f.Type == api.BrokerWelcome {
				halted = h.s.halt().Stopped != nil
				f.Stopped = halted
			}
			if err := frame(out, *f); err != nil {
				return err
			}
			greeted = greeted || f.Type == api.BrokerWelcome
		}
		if err := ping.due(); err != nil {
			return err
		}
	}
}

func frame(out *socketWriter, f api.BrokerFrame) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return out.message(text)
}

// read takes the host's frames until it is gone or silent for too long, and returns why.
func (h *hostLink) read(ctx context.Context, conn *websocket.Conn) error {
	alive := func(string) error {
		h.link.Alive()
		return conn.SetReadDeadline(time.Now().Add(h.s.deadAfter))
	}
	conn.SetReadLimit(api.MaxHostFrame)
	conn.SetPongHandler(alive)
	conn.SetPingHandler(func(string) error { return alive("") }) // answering would be a second writer
	conn.SetCloseHandler(func(int, string) error { return nil })
	for {
		if alive("") != nil {
			return errPeer
		}
		kind, text, err := conn.ReadMessage()
		if err != nil {
			return errPeer
		}
		var f api.HostFrame
		if kind != websocket.TextMessage || json.Unmarshal(text, &f) != nil {
			return errFrame
		}
		answer, err := h.take(ctx, &f)
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		select {
		case h.acks <- *answer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take does what a frame says and returns what it is answered with, nil if nothing. After an error the
// connection ends, and the host says it again on the next one.
func (h *hostLink) take(ctx context.Context, f *api.HostFrame) (*api.BrokerFrame, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decisionTime)
	defer cancel()
	switch f.Type {
	case api.HostHello, api.HostAgents:
		if h.hello != (f.Type == api.HostAgents) {
			return nil, errFrame // one hello, and it comes first
		}
		host, version := "", ""
		if f.Type == api.HostHello {
			h.hello, host, version = true, f.Host, f.Version
			if host == "" {
				host = h.name
			}
		}
		problems, err := h.link.Offer(ctx, host, version, f.Agents)
		if err != nil {
			h.s.log.Warn("what a host offers could not be kept", zap.String("host", line(h.name)), zap.Error(err))
			return nil, errLater
		}
		if f.Type == api.HostAgents && len(problems) == 0 {
			return nil, nil
		}
		w := &api.BrokerFrame{Type: api.BrokerWelcome, Lease: int(fleet.Lease.Seconds()), Problems: problems}
		_, held := h.s.cfg.Messages.ToHost(h.id)
		for _, m := range held {
			w.Held = append(w.Held, api.HeldMessage{ID: m.ID, State: m.State})
		}
		return w, nil
	}
	if h.hello && f.Type == api.HostAnswers {
		h.answered(f)
		return nil, nil
	}
	if h.hello && f.Type == api.HostForgot {
		if err := h.s.cfg.Agents.Forgotten(ctx, h.id, f.Sessions); err != nil {
			h.s.log.Warn("that a host has forgotten sessions could not be recorded; it is asked again", zap.String("host", line(h.name)), zap.Error(err))
			return nil, errLater
		}
		h.s.messageNews.tell() // there may be more of them than were told
		return nil, nil
	}
	if !h.hello || !hook.PlainToken(f.ID) || len(f.ID) > 64 {
		return nil, errFrame
	}
	ack := &api.BrokerFrame{Type: api.BrokerAck, ID: f.ID}
	if f.Type == api.HostEvent {
		ack.Detail = h.checkEvent(f.Event)
		if ack.Detail == "" {
			value, err := json.Marshal(f.Event)
			if err != nil {
				return nil, errFrame
			}
			// What it says of a session of before that was forgotten is not kept.
			if h.s.cfg.PublishAgent != nil && !f.Event.Timestamp.Before(h.s.cfg.Agents.ForgottenAt(h.id, f.Event.SessionID)) {
				err = h.s.cfg.PublishAgent(ctx, f.Event.Agent+".session."+f.Event.Kind, h.id+"."+f.ID, value)
			}
			if err != nil {
				h.s.log.Warn("an agent's event could not be published; its host sends it again", zap.String("host", line(h.name)), zap.Error(err))
				return nil, errLater
			}
			if h.s.cfg.AgentsUnread {
				h.s.ringOf(f.Event)
			}
		}
		ack.OK = ack.Detail == ""
		return ack, nil
	}
	step := fleet.Report{ID: f.Message, Why: f.Why, At: f.At}
	switch f.Type {
	case api.HostTaken:
		step.State = hook.MessageTaken
	case api.HostStarted:
		step.State = hook.MessageStarted
	case api.HostEnded:
		step.State, step.Outcome, step.Command, step.By = hook.MessageEnded, f.Outcome, f.Command, f.By
		if f.Outcome != hook.OutcomeCompleted && f.Outcome != hook.OutcomeFailed && f.Outcome != hook.OutcomeCancelled {
			ack.Detail = "want the outcome completed, failed or cancelled"
			return ack, nil
		}
		if len(f.Command) > hook.MaxCommand || !utf8.ValidString(f.Command) || strings.ContainsFunc(f.Command, unseen) || !resumes.MatchString(f.Command) {
			step.Command = "" // it is for a shell: part of it would be worse than none
		}
	case api.HostRefused:
		step.State = hook.MessageRefused
	case api.HostLost:
		step.State = hook.MessageLost
	default:
		return nil, errFrame
	}
	state, why, err := h.s.cfg.Messages.Report(ctx, h.id, step)
	if err != nil {
		h.s.log.Warn("a step of a host's message could not be recorded; its host says it again", zap.String("host", line(h.name)), zap.Error(err))
		return nil, errLater
	}
	ack.State, ack.Detail, ack.OK = state, why, why == ""
	return ack, nil
}

// checkEvent says what is wrong with an event, "" if nothing, and leaves out of it a cost that is none and what is no pull
// request: both are the agent's word, and what happened is told all the same.
func (h *hostLink) checkEvent(e *api.AgentEvent) string {
	switch {
	case e == nil:
		return "there is no event"
	case !h.s.cfg.Agents.Offers(h.id, e.Agent):
		return "the agent is not this host's"
	case e.SessionID == "" || len(e.SessionID) > 256:
		return "want the id of a session"
	case !h.s.cfg.Agents.SpeaksFor(h.id, e.SessionID):
		return "the session is another host's"
	case e.Timestamp.IsZero():
		return "want a timestamp"
	case len(e.Result) > maxAgentResult || len(e.Message) > maxAgentWords && e.Kind != api.AgentOutput || len(e.Message) > maxAgentResult || len(e.RequestID) > 256:
		return "a text of it is too long"
	case e.Error != nil && (len(e.Error.Message) > maxAgentWords || len(e.Error.Code) > 64):
		return "a text of it is too long"
	}
	e.CostUSD = fleet.KnownCost(e.CostUSD)
	if e.PR != nil && !fleet.IsPullRequest(e.PR.URL) {
		e.PR = nil
	}
	switch e.Kind {
	case api.AgentStarted, api.AgentProgress, api.AgentOutput, api.AgentCompleted, api.AgentFailed, api.AgentBlocked:
		return ""
	}
	return "its kind is none"
}
