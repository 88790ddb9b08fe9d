package intake

import (
	"assent/internal/agent/agents"
	"assent/internal/hook"
)

// judge asks the rules about req, and returns it with what they say. If they allow it, leave is not nil,
// and to be called when the answer is with its hook, or is not given.
func (in *Intake) judge(req *hook.Request) (_ *hook.Request, leave func()) {
	judged := *req
	if in.cfg.Rules != nil {
		var v hook.Verdict
		v, leave = in.enterAllow(in.verdict(req))
		if v = in.contain(req, in.redeemGrants(req, v)); v.Action != hook.ActionAllow && leave != nil {
			leave()
			leave = nil
		}
		if v.Action != hook.ActionAsk || v.Rule != "" || v.Reason != "" || v.Note != "" || len(v.Shadow) > 0 {
			judged.Verdict = &v
		}
		if v.Action == hook.ActionAsk {
			if end := req.CreatedAt.Add(v.Timeout); v.Timeout > 0 && end.Before(req.Deadline) {
				judged.Deadline = end
			}
			if v.OnTimeout == hook.Deny {
				judged.OnTimeout = hook.Deny
			}
		}
	}
	return &judged, leave
}

// verdict is what the rules say about req. An allow that must not or cannot be given is an ask,
// whatever they say.
func (in *Intake) verdict(req *hook.Request) hook.Verdict {
	v := in.rewrite(req, in.cfg.Rules(req, req.ToolInput))
	v.Signed = in.cfg.Signed.of(v.From)
	switch v.Action {
	case hook.ActionDeny, hook.ActionAsk:
	case hook.ActionAllow:
		if why := in.refusesAllow(&v, req); why != "" {
			v.Action, v.Reason = hook.ActionAsk, why
		}
	default:
		v.Action = hook.ActionAsk
	}
	return v
}

// refusesAllow says why no rule may allow req; empty if v may. Where the hook evaluates the rules, v names those then.
func (in *Intake) refusesAllow(v *hook.Verdict, req *hook.Request) string {
	err := agents.Check(ruleDecision(v, req), req)
	switch {
	case req.Uninspectable != "":
		return "two readers could take this request for two things"
	case v.Rule == "":
		return "no rule allows it by name"
	case v.Contain != "" && len(v.UpdatedInput) == 0:
		return "it must run contained, and cannot"
	case err != nil:
		return "the agent takes no plain yes here"
	case req.Signed:
		why, by := in.cfg.Signed.refuse(v, req)
		v.Signed = by
		return why
	}
	return ""
}

// ruleDecision is a deciding verdict as an answer to req.
func ruleDecision(v *hook.Verdict, req *hook.Request) hook.Decision {
	if v.Action == hook.ActionAllow {
		return hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: req.InputSHA256, UpdatedInput: v.UpdatedInput, Contain: v.Contain, Rules: v.Signed}
	}
	words := v.Message
	if words == "" { // they reach the model, which must not take them for a person's
		words = "Denied by the rule " + v.By().ID + " of assent, without asking a person."
	}
	return hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: req.InputSHA256, Message: words, Rules: v.Signed}
}
