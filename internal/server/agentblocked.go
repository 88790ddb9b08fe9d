package server

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/text/show"
)

// How often it is tried to publish that a session of an agent waits, and after what pause.
const (
	blockedTries = 3
	blockedPause = 5 * time.Second
)

// followBlocked publishes of each request of a session of a host's agent that it waits here, until the broker
// stops. The same one, after a restart, is published once.
func (s *Server) followBlocked() {
	w := s.cfg.Broker.Watch("", 0)
	defer w.Close()
	for {
		b, err := w.Next(s.ctx)
		if err != nil {
			return
		}
		if b.Snapshot != nil {
			for i := range b.Snapshot.Pending {
				s.blocked(&b.Snapshot.Pending[i])
			}
		}
		for i := range b.Changes {
			s.blocked(&b.Changes[i].View)
		}
	}
}

// AgentSaid takes an event of a host's agent out of the record. Every broker reads all of them, so that the one that
// tells devices of such hears of each, whichever the host is connected to.
func (s *Server) AgentSaid(data []byte) {
	var e api.AgentEvent
	if json.Unmarshal(data, &e) == nil {
		s.ringOf(&e)
	}
}

// ringOf has devices told of a session of a host's agent that has to be allowed more, or whose turn failed without its
// hooks knowing. What waits here, and what they know, rings by itself.
func (s *Server) ringOf(e *api.AgentEvent) {
	if s.cfg.Push == nil || e.Error == nil {
		return
	}
	switch code := e.Error.Code; {
	case e.Kind == api.AgentBlocked && (code == "BUDGET" || code == "TIMEOUT"):
		s.cfg.Push.Blocked(e.SessionID, e.Agent, code == "TIMEOUT", e.Timestamp)
	case e.Kind == api.AgentFailed && slices.Contains([]string{"EXIT", "INTERRUPTED", "LOST", "MAX_TURNS", "REFUSED"}, code):
		s.cfg.Push.Failed(e.SessionID, e.Agent, e.Timestamp)
	}
}

// blocked publishes that a request waits, if it is of an agent of a host. What it is about is not in it.
func (s *Server) blocked(v *broker.View) {
	if v.State != broker.Pending || v.HeldElsewhere {
		return
	}
	agent := s.cfg.Messages.HostAgent(v.SessionID)
	if agent == "" {
		return
	}
	title := "asks for its plan to be approved"
	switch feed.WaitingFor(v.ToolName) {
	case feed.StateAskUser:
		title = "asks a question"
	case feed.StateBlocked:
		title = "asks for permission to use " + show.Short(v.ToolName, 60)
	}
	value, err := json.Marshal(api.AgentEvent{
		SessionID: v.SessionID, Agent: agent, Kind: api.AgentBlocked, Message: title, RequestID: v.ID, Timestamp: v.CreatedAt,
	})
	if err != nil {
		return // of texts only: never
	}
	for try := range blockedTries {
		if try > 0 {
			pause(s.ctx, blockedPause)
		}
		ctx, cancel := context.WithTimeout(s.ctx, decisionTime)
		err = s.cfg.PublishAgent(ctx, agent+".session."+api.AgentBlocked, "blocked."+v.ID, value)
		cancel()
		if err == nil || s.ctx.Err() != nil {
			return
		}
	}
	s.log.Warn("that a session of an agent waits could not be published", zap.String("agent", agent), zap.Error(err))
}
