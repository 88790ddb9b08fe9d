package intake

import (
	"context"
	"time"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Answer is the answer to a hook that waited.
type Answer struct {
	// Body are the exact bytes for the agent, JSON. nil tells it nothing, so that its own prompt
	// decides.
	Body []byte
	// Decides says that Body carries a person's or a rule's decision, of SettledAt.
	Decides   bool
	SettledAt time.Time
	// Outcome and By say how the request ended, for reports.
	Outcome hook.Outcome
	By      *hook.Approver // nil unless somebody decided
}

// answer puts what became of the request id, which req's hook waited for, in the words of req's agent.
func (in *Intake) answer(req *hook.Request, id string, a broker.Answer) Answer {
	var body []byte
	var err error
	decides := a.Decision != nil && (a.Outcome == hook.Allowed || a.Outcome == hook.Denied)
	expired := a.Outcome == hook.Expired && (a.Fallback == hook.Deny || req.OnTimeout == hook.Deny) // each of two duplicates by its own setting
	switch {
	case decides && req.Signed:
		answer := signed.NewAnswer(id, *a.Decision, a.By)
		if a.By != nil && a.By.Kind == hook.KindRule && a.Decision.Behavior == hook.BehaviorAllow {
			answer.RulesText, answer.Rules = in.cfg.Signed.text(a.Decision.Rules), a.Decision.Rules
		}
		body, err = answer.Encode()
	case expired && req.Signed:
		body, err = signed.NewAnswer(id, hook.Decision{Behavior: hook.BehaviorDeny, Message: hook.TimeoutWords(in.waited(req, id))}, nil).Encode()
	case decides:
		body, err = agents.Encode(*a.Decision, req)
	case expired:
		body, err = agents.Deny(req.Agent, hook.TimeoutWords(in.waited(req, id)))
	}
	if err != nil {
		in.cfg.Log.Errorw("an answer could not be written for the agent, so its own prompt decides",
			"id", req.ID, "agent", show.Logged(req.Agent), "error", show.Logged(err.Error()))
		body = nil
	}
	if body == nil {
		return Answer{Outcome: a.Outcome, By: a.By}
	}
	return Answer{Body: body, Decides: decides, SettledAt: a.SettledAt, Outcome: a.Outcome, By: a.By}
}

// waited is how long the request of this id, which expired, was waited for. req may be one that was
// reattached after a restart, and the record has the whole time; or a duplicate of the request of this
// id, and the deadline that came first ended both.
func (in *Intake) waited(req *hook.Request, id string) time.Duration {
	ctx, cancel := context.WithTimeout(in.ctx, lookupTimeout)
	defer cancel()
	ahead, verdict := req.Deadline.Sub(req.CreatedAt), req.Verdict
	if v, err := in.cfg.Broker.Get(ctx, id); err == nil && (id == req.ID || v.Deadline.Before(req.Deadline)) {
		ahead = v.Deadline.Sub(v.CreatedAt)
		if id != req.ID {
			verdict = v.Verdict
		}
	}
	if v := verdict; v != nil && v.Timeout == ahead {
		return ahead // a rule's own
	}
	return timeoutOf(ahead)
}
