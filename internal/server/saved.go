package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// Of a broker or a request for which nothing can be saved.
var (
	errNoGrants   = errors.New("this broker saves no rules and grants")
	errNoProposal = errors.New("the request has no such proposal now; look at its proposals again")
)

// The bounds of a grant.
const (
	longestGrant = 90 * 24 * time.Hour
	mostCount    = 100
)

// getProposals is GET /v1/requests/{id}/proposals.
func (s *Server) getProposals(w http.ResponseWriter, r *http.Request) {
	view, err := s.cfg.Broker.Get(r.Context(), requestID(r))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if view.Event != "" {
		s.writeJSON(w, r, http.StatusOK, hook.Proposals{Proposals: []hook.Proposal{}, Reason: "It is no call of a tool."})
		return
	}
	if s.cfg.Suggest == nil {
		s.fail(w, r, errNoGrants)
		return
	}
	p, err := s.cfg.Suggest.Propose(r.Context(), &view.Request)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, p)
}

// save is POST /v1/rules {requestId, inputSha256, proposal, signature?} and POST /v1/grants with
// expiresAt and count, of which one at least. What is saved is one of the request's proposals, as
// they are now. A device must have signed it. With suggested: true it is refused when it would allow what
// was denied or edited meanwhile.
func (s *Server) save(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := hook.Saved{Kind: kind}
		var count int64
		var suggested bool
		var proof hook.JSON
		var sent *hook.Verification
		schema, fields := "SaveRule", map[string]any{"requestId": &x.RequestID, "inputSha256": &x.InputSHA256, "proposal": &x.Digest, "suggested": &suggested, "signature": &x.Signature, "verification": &proof}
		if kind == hook.SavedGrant {
			schema, fields["expiresAt"], fields["count"] = "SaveGrant", &x.Bounds, &count
		}
		if !s.readObject(w, r, schema, fields, func() (errs []*hook.FieldError) {
			var bad *hook.FieldError
			if sent, bad = readVerification(proof); bad != nil {
				errs = append(errs, bad)
			}
			return append(errs, boundsOf(&x, count)...)
		}) {
			return
		}
		x.RequestID = knownID(x.RequestID) // the spelling that is signed and kept
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
		defer cancel()
		by := principal(r)
		x, err := by.VouchAlways(x)
		if err != nil {
			s.metrics.unsigned.Inc()
			s.log.Warn("refused to save a rule that its device did not sign", zap.String("id", line(x.RequestID)),
				zap.String("device", by.Approver.ID), zap.String("from", s.clientAddr(r).String()))
			s.fail(w, r, err)
			return
		}
		view, err := s.cfg.Broker.Get(ctx, x.RequestID)
		if err == nil && view.InputSHA256 != x.InputSHA256 {
			err = fmt.Errorf("save: %w", broker.ErrDigest)
		}
		var found hook.Saved
		switch {
		case err == nil && s.cfg.Grants == nil:
			err = errNoGrants
		case err == nil && view.Event != "":
			err = errNoProposal
		}
		if err == nil {
			found, err = s.proposal(ctx, &view.Request, x.Digest, suggested)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		// What is signed is saved once, whoever sends it again.
		text := auth.AlwaysText(x.RequestID, x.InputSHA256, x.Digest, x.Kind, x.Bounds, x.Count)
		var ok bool
		if x.Verification, x.By, ok = s.verify(ctx, w, r, by, func() stake { return remembered }, text, sent, true); !ok {
			return
		}
		x.RequestID, x.Sentence, x.Rule, x.Tests = found.RequestID, found.Sentence, found.Rule, found.Tests
		x, err = s.cfg.Grants.Save(ctx, x)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.log.Info("saved a "+kind, zap.String("id", x.ID), zap.String("request", x.RequestID),
			zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
		s.writeJSON(w, r, http.StatusCreated, s.savedView(x, nil))
	}
}

// proposal is what is to be saved of a request's proposal.
func (s *Server) proposal(ctx context.Context, req *hook.Request, digest string, suggested bool) (hook.Saved, error) {
	if suggested {
		if s.cfg.Suggested == nil {
			return hook.Saved{}, errNoSuggestions
		}
		return s.cfg.Suggested.Find(ctx, req, digest)
	}
	found, ok := s.cfg.Suggest.Find(ctx, req, digest)
	if !ok {
		return found, errNoProposal
	}
	return found, nil
}

// boundsOf checks what is sent, and sets the bounds.
func boundsOf(x *hook.Saved, count int64) (errs []*hook.FieldError) {
	if len(x.Digest) != 64 || strings.Trim(x.Digest, "0123456789abcdef") != "" {
		errs = append(errs, hook.BadField("proposal", "want the digest of a proposal: 64 lower-case hex digits"))
	}
	if len(x.InputSHA256) != 64 || strings.Trim(x.InputSHA256, "0123456789abcdef") != "" {
		errs = append(errs, hook.BadField("inputSha256", "want the request's inputSha256: 64 lower-case hex digits"))
	}
	if len(x.Signature) > 1024 {
		errs = append(errs, hook.BadField("signature", "longer than 1 KiB"))
	}
	if x.Kind != hook.SavedGrant {
		return errs
	}
	if x.Bounds == "" && count == 0 {
		errs = append(errs, hook.BadField("expiresAt", "a grant needs expiresAt or count; a rule has neither"))
	}
	if x.Bounds != "" {
		at, err := time.Parse(time.RFC3339Nano, x.Bounds)
		now := time.Now()
		switch {
		case err != nil || len(x.Bounds) > 64:
			errs = append(errs, hook.BadField("expiresAt", `want a time such as "2026-11-21T15:04:05Z"`))
		case !at.After(now):
			errs = append(errs, hook.BadField("expiresAt", "lies in the past, by the broker's clock"))
		case at.After(now.Add(longestGrant)):
			errs = append(errs, hook.BadField("expiresAt", "want at most 90 days; a rule has no end"))
		}
		x.ExpiresAt = at.UTC()
	}
	if count < 0 || count > mostCount {
		errs = append(errs, hook.BadField("count", fmt.Sprintf("want 1 to %d", mostCount)))
		count = 0
	}
	x.Count = int(count)
	return errs
}

// revokeSaved is DELETE /v1/rules/{id} and DELETE /v1/grants/{id}: of what assent itself saved,
// nothing else. It only tightens, so a device's bearer suffices.
func (s *Server) revokeSaved(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Grants == nil {
			s.fail(w, r, errNoGrants)
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
		defer cancel()
		by := principal(r)
		x, err := s.cfg.Grants.Revoke(ctx, kind, param(r, "id"), by.Approver)
		if err == nil {
			s.log.Info("revoked a "+kind, zap.String("id", x.ID), zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
		}
		s.noContent(w, r, err)
	}
}

// listGrants is GET /v1/grants.
func (s *Server) listGrants(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.savedList(hook.SavedGrant, s.inForce().Rules))
}

// savedView is x as the API shows it, with what the rules in force say of its use.
func (s *Server) savedView(x hook.Saved, inForce []hook.RuleInForce) api.Saved {
	v := api.Saved{
		ID: x.ID, Kind: x.Kind, State: x.State(time.Now()), Sentence: x.Sentence, Rule: x.Rule, RequestID: x.RequestID, By: x.By,
		CreatedAt: x.CreatedAt, ExpiresAt: x.ExpiresAt, Count: x.Count, Spent: len(x.Spent), RevokedAt: x.RevokedAt, RevokedBy: x.RevokedBy,
		InputSHA256: x.InputSHA256, Proposal: x.Digest, Signature: x.Signature, PublicKey: x.PublicKey, Bounds: x.Bounds, Verification: x.Verification,
	}
	if i := slices.IndexFunc(inForce, func(r hook.RuleInForce) bool { return r.ID == x.ID }); i >= 0 {
		v.Matches, v.LastMatch = inForce[i].Matches, inForce[i].LastMatch
	}
	v.Matches = max(v.Matches, x.Used)
	if x.LastUsed.After(v.LastMatch) {
		v.LastMatch = x.LastUsed
	}
	return v
}

func (s *Server) savedList(kind string, inForce []hook.RuleInForce) []api.Saved {
	list := []api.Saved{}
	if s.cfg.Grants == nil {
		return list
	}
	for _, x := range s.cfg.Grants.List(kind) {
		list = append(list, s.savedView(x, inForce))
	}
	return list
}
