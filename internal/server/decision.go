package server

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// decisionTime bounds what a decision takes, recording and the wait for its delivery together.
const decisionTime = 10 * time.Second

// decide is POST /v1/requests/{id}/decision.
//
// The body must name the input it is about. A device must have signed it: its bearer, which
// may have been stolen, does not suffice.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	d, sent, ok := s.readDecision(w, r)
	if !ok {
		return
	}
	// A decision counts even if the phone drops its connection after the tap.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
	defer cancel()
	id, by := requestID(r), principal(r)
	end, ok := s.begin(w, r)
	if !ok {
		return
	}
	defer end()
	d, err := by.Vouch(id, d)
	if err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused a decision that its device did not sign", zap.String("id", id),
			zap.String("device", by.Approver.ID), zap.String("name", line(by.Approver.Name)), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return
	}
	view, err := s.cfg.Broker.Get(ctx, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// For a request that has ended, or another input, report the conflict rather than the form.
	who := by.Approver
	if pendingAs(&view, d) {
		if err := agents.Check(d, &view.Request); err != nil {
			s.fail(w, r, err)
			return
		}
		if p := s.deniedByRule(&view.Request, d); p != nil {
			writeProblem(w, *p)
			return
		}
		if d.Behavior == hook.BehaviorAllow {
			if d.Verification, who, ok = s.verify(ctx, w, r, by, func() stake { return s.stakeOf(&view.Request, d) }, auth.DecisionText(id, d), sent, false); !ok {
				return
			}
		}
	}
	view, err = s.cfg.Broker.Decide(ctx, id, d, who)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.metrics.decision(by.Approver.Kind)
	s.log.Info("decided", zap.String("id", id), zap.String("outcome", string(view.Outcome)),
		zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)), zap.Bool("verified", who.Verified), zap.String("delivery", view.Delivery))
	delivery := broker.Delivered
	if view.Delivery == "" || view.Delivery == broker.Recorded {
		delivery = broker.Recorded
	}
	s.writeJSON(w, r, http.StatusOK, api.DecisionResult{Delivery: delivery})
}

// readDecision reads a decision, and the verification that was sent beside it, if there is one.
func (s *Server) readDecision(w http.ResponseWriter, r *http.Request) (d hook.Decision, v *hook.Verification, ok bool) {
	body := decisionBody{}
	if !s.readObject(w, r, "Decision", body.fields(), body.check) {
		return d, nil, false
	}
	return body.decision(), body.v, true
}

// decisionBody is the body as it comes (schema Decision).
type decisionBody struct {
	behavior     string
	d            hook.Decision
	verification hook.JSON
	v            *hook.Verification // of verification; set by check
}

func (b *decisionBody) fields() map[string]any {
	return map[string]any{
		"behavior":           &b.behavior,
		"inputSha256":        &b.d.InputSHA256,
		"message":            &b.d.Message,
		"interrupt":          &b.d.Interrupt,
		"updatedInput":       &b.d.UpdatedInput,
		"updatedPermissions": &b.d.UpdatedPermissions,
		"shown":              &b.d.Shown,
		"signedAt":           &b.d.SignedAt,
		"signature":          &b.d.Signature,
		"verification":       &b.verification,
	}
}

// check returns errors that hold for every agent; agents.Check has each agent's own rules.
func (b *decisionBody) check() (errs []*hook.FieldError) {
	if b.behavior != string(hook.BehaviorAllow) && b.behavior != string(hook.BehaviorDeny) {
		errs = append(errs, hook.BadField("behavior", `want "allow" or "deny"`))
	}
	if !isDigest(b.d.InputSHA256) {
		errs = append(errs, errNoDigest)
	}
	const longestMessage = 64 << 10
	if len(b.d.Message) > longestMessage {
		errs = append(errs, hook.BadField("message", "longer than 64 KiB"))
	}
	if len(b.d.UpdatedInput) > 0 && b.d.UpdatedInput[0] != '{' {
		errs = append(errs, hook.BadField("updatedInput", "want an object"))
	}
	if len(b.d.UpdatedInput) > hook.MaxRequest {
		errs = append(errs, hook.BadField("updatedInput", "longer than 1 MiB"))
	}
	if len(b.d.UpdatedPermissions) > 0 && b.d.UpdatedPermissions[0] != '[' {
		errs = append(errs, hook.BadField("updatedPermissions", "want an array"))
	}
	if len(b.d.UpdatedPermissions) > hook.MaxRequest {
		errs = append(errs, hook.BadField("updatedPermissions", "longer than 1 MiB"))
	}
	if len(b.d.Shown) > hook.MaxShown {
		errs = append(errs, hook.BadField("shown", "longer than 4 KiB"))
	}
	if _, err := time.Parse(time.RFC3339, b.d.SignedAt); b.d.SignedAt != "" && err != nil {
		errs = append(errs, hook.BadField("signedAt", "want a time as in RFC 3339, such as 2026-11-23T15:04:05Z"))
	}
	if len(b.d.Signature) > 1024 {
		errs = append(errs, hook.BadField("signature", "longer than 1 KiB"))
	}
	var bad *hook.FieldError
	if b.v, bad = readVerification(b.verification); bad != nil {
		errs = append(errs, bad)
	}
	return errs
}

func (b *decisionBody) decision() hook.Decision {
	b.d.Behavior = hook.Behavior(b.behavior)
	return b.d
}
