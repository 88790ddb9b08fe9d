package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"assent/internal/api"
	"assent/internal/hook"
)

// deniedByRule is the rules' denial of an input that an approver changed; nil if they do not deny it.
// Then the approver's decision holds.
func (s *Server) deniedByRule(req *hook.Request, d hook.Decision) *problem {
	if s.cfg.Rules == nil || req.Event != "" || d.Behavior != hook.BehaviorAllow || len(d.UpdatedInput) == 0 {
		return nil
	}
	v := s.cfg.Rules(req, d.UpdatedInput)
	if v.Action != hook.ActionDeny {
		return nil
	}
	by := v.By()
	p := badMembers(hook.BadField("updatedInput", "denied by "+line(by.Who())))
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

// news tells the WebSockets that something is not as it was.
type news struct {
	mu     sync.Mutex
	next   context.Context    // guarded by mu; done at the next change
	cancel context.CancelFunc // guarded by mu; ends next
}

// RulesChanged says that Config.InForce has news.
func (s *Server) RulesChanged() {
	s.ruleNews.tell()
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cancel != nil {
		n.cancel()
	}
	n.next, n.cancel = nil, nil
}

// change returns a context that is done at the next one.
func (n *news) change() context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next, n.cancel = context.WithCancel(context.Background())
	}
	return n.next
}

// sendRules says what is wrong with the rules, if the client has not heard it. sent is the
// state it was sent last. It returns a context that is done when there is more.
func (s *Server) sendRules(out *socketWriter, sent *string) (context.Context, error) {
	next := s.ruleNews.change()
	f := s.inForce()
	state := fmt.Sprint(f.Allowing, f.Problems)
	if state == *sent || *sent == "" && f.Allowing && len(f.Problems) == 0 {
		return next, nil
	}
	*sent = state
	m, err := json.Marshal(api.RulesMessage{Type: api.MessageRules, Allowing: f.Allowing, Problems: f.Problems})
	if err != nil {
		return next, fmt.Errorf("encode rules: %w", err)
	}
	return next, out.message(m)
}
