package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/hook"
)

var errNoAgents = errors.New("this broker knows no hosts of agents")

// listAgents is GET /v1/agents.
func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) {
	list := []api.Agent{}
	if s.cfg.Agents != nil {
		list = s.cfg.Agents.Agents()
	}
	s.writeJSON(w, r, http.StatusOK, list)
}

// getAgent is GET /v1/agents/{name}.
func (s *Server) getAgent(w http.ResponseWriter, r *http.Request) {
	err := fleet.ErrNoAgent
	var a api.Agent
	if s.cfg.Agents != nil {
		a, _, err = s.cfg.Agents.Agent(param(r, "name"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, a)
}

// messageAgent is POST /v1/agents/{name}/messages {id, sessionId, hostId?, kind, prompt?, options?, expiresAt, signature,
// verification?}. Only a paired device can send one, because its host obeys nobody else. To terminal@HOST it is what
// POST /v1/sessions/{id}/messages is.
func (s *Server) messageAgent(w http.ResponseWriter, r *http.Request) {
	m := hook.Message{Agent: param(r, "name")}
	var proof, options hook.JSON
	var sent *hook.Verification
	var named string // the agent, as an AgentMessage has it
	if !s.readMembers(w, r, http.StatusUnprocessableEntity, "NewAgentMessage", map[string]any{
		"id": &m.ID, "agent": &named, "sessionId": &m.SessionID, "kind": &m.Kind, "prompt": &m.Prompt, "options": &options, "hostId": &m.HostID,
		"expiresAt": &m.ExpiresAt, "signature": &m.Signature, "verification": &proof,
	}, func() (errs []*hook.FieldError) {
		for name, id := range map[string]string{"id": m.ID, "sessionId": m.SessionID} {
			if u, err := uuid.Parse(id); err != nil || u.String() != id {
				errs = append(errs, hook.BadField(name, "want a UUID in lower case, chosen by the sender"))
			}
		}
		if named != "" && named != m.Agent {
			errs = append(errs, hook.BadField("agent", "is not the agent of the address"))
		}
		var bad *hook.FieldError
		if m.Options, bad = readOptions(options); bad != nil {
			errs = append(errs, bad)
		}
		if sent, bad = readVerification(proof); bad != nil {
			errs = append(errs, bad)
		}
		return errs
	}) {
		return
	}
	if strings.HasPrefix(m.Agent, hook.TerminalAgent("")) { // the implicit agent of what runs in a terminal
		s.toSession(w, r, m, sent)
		return
	}
	if s.cfg.Agents == nil || s.cfg.Messages == nil {
		s.fail(w, r, errNoAgents)
		return
	}
	end, ok := s.begin(w, r)
	if !ok {
		return
	}
	defer end()
	by := principal(r)
	m, err := by.VouchMessage(m)
	if err == nil && m.PublicKey == nil {
		writeProblem(w, problem{Status: http.StatusForbidden, Reason: "device", Detail: "a host obeys only what a paired device signed: send it from the page, or make this machine a key with: assent agent key"})
		return
	}
	if err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused a message to an agent that its device did not sign", zap.String("agent", line(m.Agent)),
			zap.String("device", by.Approver.ID), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
	defer cancel()
	before, err := s.cfg.Messages.Message(m.ID)
	if err != nil && !hook.Wordless(m.Kind) && s.halt().Stopped != nil {
		s.fail(w, r, fleet.ErrStopped)
		return
	}
	if err != nil { // else it was sent again, which costs nothing
		sender := by.Approver
		if m.Kind == hook.MessageCancel { // who has said too much can still say stop
			sender.ID += " " + m.Kind
		}
		if !s.senders.allow(sender) {
			s.fail(w, r, errMessageRate)
			return
		}
		if m.Verification, m.By, ok = s.verify(ctx, w, r, by, func() stake { return message }, auth.MessageText(m), sent, true); !ok {
			return
		}
	}
	m, err = s.cfg.Agents.Send(ctx, m)
	if err != nil {
		s.messageFailed(w, r, err)
		return
	}
	status := http.StatusAccepted
	if before.ID == m.ID {
		status = http.StatusOK
	} else {
		s.log.Info("sent a message to an agent", zap.String("id", m.ID), zap.String("agent", m.Agent), zap.String("session", line(m.SessionID)),
			zap.String("kind", m.Kind), zap.Int("bytes", len(m.Prompt)), zap.String("by", line(by.Approver.Name)), zap.Bool("verified", m.By.Verified))
	}
	s.writeJSON(w, r, status, messageView(m))
}

// readOptions reads the options of a message, nil where there are none.
func readOptions(text hook.JSON) (*hook.MessageOptions, *hook.FieldError) {
	if text == nil {
		return nil, nil
	}
	var o hook.MessageOptions
	var budget hook.JSON
	if errs := decodeObject(text, map[string]any{"budgetUsd": &budget, "timeoutSeconds": &o.TimeoutSeconds, "autoPr": &o.AutoPR}); len(errs) > 0 {
		if errs[0].Field == "" {
			return nil, hook.BadField("options", errs[0].Problem)
		}
		return nil, hook.BadField("options."+errs[0].Field, errs[0].Problem)
	}
	if budget != nil && json.Unmarshal(budget, &o.BudgetUSD) != nil {
		return nil, hook.BadField("options.budgetUsd", "want a number")
	}
	return &o, nil // the schema has their bounds
}

// agentMessage is a message to the agent in the address, or fleet.ErrNotFound.
func (s *Server) agentMessage(r *http.Request) (hook.Message, error) {
	return s.messageIf(r, func(m *hook.Message) bool { return m.Agent == param(r, "name") })
}

// AgentChanged says that an agent of Config.Agents is another now: it is published, and told to pages.
func (s *Server) AgentChanged(a api.Agent) {
	s.agentNews.tell()
	if s.cfg.PublishAgent == nil || a.Status != api.AgentOffline && !s.cfg.Agents.Here(a.Name) {
		return // the broker that its host is connected to does
	}
	value, err := json.Marshal(a)
	if err == nil {
		ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
		defer cancel()
		err = s.cfg.PublishAgent(ctx, a.Name+".available", "", value)
	}
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("an agent's state could not be published; the next one will be", zap.String("agent", a.Name), zap.Error(err))
	}
}

// sendAgents sends all agents if they are not those of *sent. It returns a context that is done when there is
// more.
func (s *Server) sendAgents(out *socketWriter, sent *uint64) (context.Context, error) {
	next := s.agentNews.change()
	if s.cfg.Agents == nil {
		return next, nil
	}
	now := s.cfg.Agents.News()
	agents := s.cfg.Agents.Agents()
	if now == *sent || *sent == 0 && len(agents) == 0 {
		return next, nil
	}
	*sent = now
	m, err := json.Marshal(api.AgentsMessage{Type: api.MessageAgents, Agents: agents})
	if err != nil {
		return next, fmt.Errorf("encode agents: %w", err)
	}
	return next, out.message(m)
}
