package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
)

// Send records a message to an agent, with the members ID, Agent, SessionID, Kind, Prompt, Options, ExpiresAt,
// By and what its sender signed. The same message again is no error: it returns what became of it.
//
// A *hook.FieldError says what is wrong with it, or which ceiling it is above; a *WriterError that another
// writes to the session; ErrNoAgent, ErrDuplicate, ErrTooMany and ErrUnavailable see there. Nothing is
// recorded then, but for ErrUnavailable, which may not know: the same message can be sent again.
func (r *Registry) Send(ctx context.Context, m hook.Message) (hook.Message, error) {
	s := r.cfg.Messages
	if have, err := s.whole(ctx, m.ID); err == nil {
		return same(have, m)
	}
	if err := checkForHost(&m, time.Now().UTC()); err != nil {
		return hook.Message{}, err
	}
	a, host, err := r.Agent(m.Agent)
	if err != nil {
		return hook.Message{}, err
	}
	switch {
	case m.HostID == a.HostID:
	case m.HostID == "":
		return hook.Message{}, hook.BadField("hostId", "is missing: this agent's host takes only what was signed for it; reload the page, or update the program that sends")
	default:
		return hook.Message{}, hook.BadField("hostId", "is not the host that offers this agent now; look which one does, and send it again")
	}
	if err := ceilings(m.Options, a.Limits); err != nil {
		return hook.Message{}, err
	}
	live := false
	for _, c := range r.claims(m.SessionID, a.Name) {
		if c.agent != a.Name {
			return hook.Message{}, &WriterError{anAgent + c.agent + " on " + c.hostname}
		}
		live = true
	}
	if m.Kind != hook.MessageCancel {
		if who := s.writer(m.SessionID, m.Agent, live); who != "" {
			return hook.Message{}, &WriterError{who}
		}
	}
	if !hook.Wordless(m.Kind) && !live {
		if err := r.room(host, a, m.SessionID); err != nil {
			return hook.Message{}, err
		}
	}
	return s.sendToHost(ctx, m, host)
}

// checkForHost returns what is wrong with a message to an agent of a host.
func checkForHost(m *hook.Message, now time.Time) error {
	switch m.Kind {
	case hook.MessagePrompt, hook.MessageResume:
		if err := checkText(m.Prompt); err != nil {
			return err
		}
		if what := streamjson.Obeyed(m.Prompt); what != "" {
			return hook.BadField("prompt", fmt.Sprintf("holds %q: %s", what, streamjson.NotObeyed))
		}
	case hook.MessageCancel, hook.MessageHandover:
		if m.Prompt != "" {
			return hook.BadField("prompt", "a "+m.Kind+" has none")
		}
		if m.Options != nil {
			return hook.BadField("options", "a "+m.Kind+" has none")
		}
	default:
		return hook.BadField("kind", "want prompt, resume, cancel or handover")
	}
	return checkTime(m, now)
}

// ceilings returns which ceiling of an agent is passed.
func ceilings(o *hook.MessageOptions, l *api.AgentLimits) error {
	if o == nil {
		return nil
	}
	if l == nil {
		l = &api.AgentLimits{}
	}
	switch {
	case l.BudgetUSD > 0 && o.BudgetUSD > l.BudgetUSD:
		return hook.BadField("options.budgetUsd", fmt.Sprintf("is above the agent's ceiling of %v", l.BudgetUSD))
	case l.TimeoutSeconds > 0 && o.TimeoutSeconds > l.TimeoutSeconds:
		return hook.BadField("options.timeoutSeconds", fmt.Sprintf("is above the agent's ceiling of %d", l.TimeoutSeconds))
	case o.AutoPR && !l.AutoPR:
		return hook.BadField("options.autoPr", "the agent's ceiling is none: its host makes no pull requests for it")
	}
	return nil
}

// room returns which ceiling one more session of an agent would pass: of those that work, and those that are
// on their way.
func (r *Registry) room(host string, a api.Agent, session string) error {
	ofHost, ofAgent := map[string]bool{}, map[string]bool{}
	r.mu.Lock()
	if h := r.hosts[host]; h != nil {
		for _, other := range h.Agents {
			for _, x := range other.Sessions {
				if x.Status != api.AgentBusy {
					continue // one that is idle makes room
				}
				ofHost[x.SessionID] = true
				if other.Name == a.Name {
					ofAgent[x.SessionID] = true
				}
			}
		}
	}
	r.mu.Unlock()
	sent, held := r.cfg.Messages.ToHost(host)
	for _, m := range slices.Concat(sent, held) {
		if !hook.Wordless(m.Kind) {
			ofHost[m.SessionID] = true
			if m.Agent == a.Name {
				ofAgent[m.SessionID] = true
			}
		}
	}
	switch {
	case ofHost[session]:
		return nil
	case len(ofHost) >= api.MaxHostSessions:
		return hook.BadField("sessionId", fmt.Sprintf("the host's ceiling is %d sessions at once; end one first", api.MaxHostSessions))
	case a.Limits != nil && a.Limits.Sessions > 0 && len(ofAgent) >= a.Limits.Sessions:
		return hook.BadField("sessionId", fmt.Sprintf("the agent's ceiling is %d sessions at once; end one first", a.Limits.Sessions))
	}
	return nil
}
