package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
)

// judge asks the rules about a request, and writes into it what they say.
func (s *Server) judge(req *hook.Request) {
	if s.cfg.Rules == nil {
		return
	}
	v := s.count(req, s.bound(s.cfg.Rules(req, req.ToolInput), req))
	if v.Action == hook.ActionAsk {
		if end := req.CreatedAt.Add(v.Timeout); v.Timeout > 0 && end.Before(req.Deadline) {
			req.Deadline = end
		}
		if v.OnTimeout == hook.Deny {
			req.OnTimeout = hook.Deny
		}
		if v.Rule == "" && v.Reason == "" && v.Note == "" && len(v.Shadow) == 0 {
			return
		}
	}
	req.Verdict = &v
}

// bound turns an allow that must not or cannot be given into an ask, whatever the rules say.
func (s *Server) bound(v hook.Verdict, req *hook.Request) hook.Verdict {
	why := ""
	switch v.Action {
	case hook.ActionDeny, hook.ActionAsk:
	case hook.ActionAllow:
		switch err := claude.CheckDecision(req.Agent, ruleDecision(&v, req), req); {
		case req.Uninspectable != "":
			why = "two readers could take this request for two things"
		case v.Rule == "":
			why = "no rule allows it by name"
		case err != nil:
			why = "the agent takes no plain yes here"
		}
	default:
		v.Action = hook.ActionAsk
	}
	if why != "" {
		v.Action, v.Reason = hook.ActionAsk, why
	}
	return v
}

// ruleDecision is a deciding verdict as an answer to req.
func ruleDecision(v *hook.Verdict, req *hook.Request) hook.Decision {
	if v.Action == hook.ActionAllow {
		return hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: req.InputSHA256}
	}
	words := v.Message
	if words == "" { // they reach the model, which must not take them for a person's
		words = "Denied by the rule " + v.By().ID + " of assent, without asking a person."
	}
	return hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: req.InputSHA256, Message: words}
}

// rule answers a request by its verdict, and reports whether it is over.
func (s *Server) rule(req *hook.Request, waiting *broker.Waiting) bool {
	by, outcome := req.Verdict.By(), hook.Allowed
	if req.Verdict.Action == hook.ActionDeny {
		outcome = hook.Denied
	}
	err := waiting.Rule(ruleDecision(req.Verdict, req), by)
	if errors.Is(err, broker.ErrSettled) {
		return true // its hook has gone, or it came back to an answer
	}
	if err != nil {
		s.log.Warn("a rule's answer was not recorded; people are asked", zap.String("id", req.ID),
			zap.String("rule", line(by.ID)), zap.String("error", line(err.Error())))
		return false
	}
	s.metrics.decision(hook.KindRule)
	s.log.Info("decided", zap.String("id", req.ID), zap.String("outcome", string(outcome)),
		zap.String("kind", by.Kind), zap.String("by", line(by.ID)), zap.String("file", line(by.File)))
	return true
}

// deniedByRule is what the rules have against an input that an approver changed; nil if nothing.
// The approver's own judgement stands otherwise.
func (s *Server) deniedByRule(req *hook.Request, d hook.Decision) *problem {
	if s.cfg.Rules == nil || req.Event != "" || d.Behavior != hook.BehaviorAllow || len(d.UpdatedInput) == 0 {
		return nil
	}
	v := s.cfg.Rules(req, d.UpdatedInput)
	if v.Action != hook.ActionDeny {
		return nil
	}
	by := v.By()
	p := badMembers(fieldProblem{"updatedInput", "denied by " + line(by.Who())})
	if v.Message != "" {
		p.Errors[0].Problem += ": " + line(v.Message)
		p.Detail += ": " + line(v.Message)
	}
	p.Status, p.Reason, p.DecidedBy = http.StatusForbidden, "rule", &by
	return &p
}

// getRules is GET /v1/rules.
func (s *Server) getRules(w http.ResponseWriter, r *http.Request) {
	f := s.inForce()
	s.writeJSON(w, r, http.StatusOK, api.Rules{InForce: f, Saved: s.savedList(hook.SavedRule, f.Rules)})
}

// inForce has no null where the schema has a list.
func (s *Server) inForce() hook.InForce {
	f := hook.InForce{Allowing: true}
	if s.cfg.InForce != nil {
		f = s.cfg.InForce()
	}
	return hook.InForce{
		Allowing: f.Allowing, Problems: listOf(f.Problems), Notices: listOf(f.Notices), Files: listOf(f.Files), Rules: listOf(f.Rules),
	}
}

func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ruleNews tells the WebSockets that other rules are in force, or that a file broke.
type ruleNews struct {
	mu   sync.Mutex
	next context.Context    // guarded by mu; done at the next change
	tell context.CancelFunc // guarded by mu; ends next
}

// RulesChanged says that Config.InForce has news.
func (s *Server) RulesChanged() {
	n := &s.ruleNews
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tell != nil {
		n.tell()
	}
	n.next, n.tell = nil, nil
}

// change returns a context that is done at the next one.
func (n *ruleNews) change() context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next, n.tell = context.WithCancel(context.Background())
	}
	return n.next
}

// sendRules says what is wrong with the rules, if the client has not heard it. told is what it
// heard last. It returns a context that is done when there is more.
func (s *Server) sendRules(out *socketWriter, told *string) (context.Context, error) {
	next := s.ruleNews.change()
	f := s.inForce()
	state := fmt.Sprint(f.Allowing, f.Problems)
	if state == *told || *told == "" && f.Allowing && len(f.Problems) == 0 {
		return next, nil
	}
	*told = state
	m, err := json.Marshal(api.RulesMessage{Type: api.MessageRules, Allowing: f.Allowing, Problems: f.Problems})
	if err != nil {
		return next, fmt.Errorf("encode rules: %w", err)
	}
	return next, out.message(m)
}
