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
	"assent/internal/hook"
)

// Always is what approvers have assent remember: rules and grants made of requests. Its methods
// may be called from any goroutine and return the errors below.
type Always interface {
	// Propose returns the rules that a request could become.
	Propose(ctx context.Context, req *hook.Request) (hook.Proposals, error)
	// Find returns what is to be saved of a request's proposal with this digest, or
	// ErrNoProposal.
	Find(ctx context.Context, req *hook.Request, digest string) (hook.Saved, error)
	// Save keeps x, which Find returned and the caller completed. It is in force when Save
	// returns. ErrSavedFull, ErrSavedBefore.
	Save(ctx context.Context, x hook.Saved) (hook.Saved, error)
	// Revoke ends what was saved. It is not in force when Revoke returns. ErrNoSaved.
	Revoke(ctx context.Context, kind, id string, by hook.Approver) (hook.Saved, error)
	// Use says whether what was saved under these ids may allow the request, and counts it, once
	// for a request. ErrSavedOver says that it may not, and that the rules say so by now.
	Use(ctx context.Context, requestID string, ids []string) error
	// List returns what was saved of a kind, the newest first.
	List(kind string) []hook.Saved
}

// What an Always may say.
var (
	ErrNoAlways   = errors.New("this broker saves no rules and grants")
	ErrNoSaved    = errors.New("nothing that assent saved has this id and is in force")
	ErrNoProposal = errors.New("the request has no such proposal now; look at its proposals again")
	ErrSavedFull  = errors.New("too much is saved; revoke what is not needed, see: assent grants")
	// ErrSavedBefore keeps a signature from serving twice.
	ErrSavedBefore = errors.New("this device has saved just this before, and it is over; take another request like it, or another end")
	ErrSavedOver   = errors.New("it is over")
)

// The bounds of a grant.
const (
	longestGrant = 90 * 24 * time.Hour
	mostCount    = 100
)

// redeem is Always.Use for the intake.
func (s *Server) redeem(ctx context.Context, requestID string, ids []string) (bool, error) {
	err := s.cfg.Always.Use(ctx, requestID, ids)
	if errors.Is(err, ErrSavedOver) {
		return false, nil
	}
	return err == nil, err
}

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
	p, err := s.cfg.Always.Propose(r.Context(), &view.Request)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, p)
}

// save is POST /v1/rules {requestId, inputSha256, proposal, signature?} and POST /v1/grants with
// expiresAt and count, of which one at least. What is saved is one of the request's proposals, as
// they are now. A device must have signed it.
func (s *Server) save(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := hook.Saved{Kind: kind}
		var count int64
		schema, fields := "SaveRule", map[string]any{"requestId": &x.RequestID, "inputSha256": &x.InputSHA256, "proposal": &x.Digest, "signature": &x.Signature}
		if kind == hook.SavedGrant {
			schema, fields["expiresAt"], fields["count"] = "SaveGrant", &x.Bounds, &count
		}
		if !s.readObject(w, r, schema, fields, func() []fieldProblem { return boundsOf(&x, count) }) {
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
		if err == nil && view.Event != "" {
			err = ErrNoProposal
		}
		if err == nil {
			found, err = s.cfg.Always.Find(ctx, &view.Request, x.Digest)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		x.RequestID, x.Sentence, x.Rule, x.Tests = found.RequestID, found.Sentence, found.Rule, found.Tests
		x, err = s.cfg.Always.Save(ctx, x)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.log.Info("saved a "+kind, zap.String("id", x.ID), zap.String("request", x.RequestID),
			zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
		s.writeJSON(w, r, http.StatusCreated, s.savedView(x, nil))
	}
}

// boundsOf checks what is sent, and sets the bounds.
func boundsOf(x *hook.Saved, count int64) (errs []fieldProblem) {
	if len(x.Digest) != 64 || strings.Trim(x.Digest, "0123456789abcdef") != "" {
		errs = append(errs, fieldProblem{"proposal", "want the digest of a proposal: 64 lower-case hex digits"})
	}
	if len(x.InputSHA256) != 64 || strings.Trim(x.InputSHA256, "0123456789abcdef") != "" {
		errs = append(errs, fieldProblem{"inputSha256", "want the request's inputSha256: 64 lower-case hex digits"})
	}
	if len(x.Signature) > 1024 {
		errs = append(errs, fieldProblem{"signature", "longer than 1 KiB"})
	}
	if x.Kind != hook.SavedGrant {
		return errs
	}
	if x.Bounds == "" && count == 0 {
		errs = append(errs, fieldProblem{"expiresAt", "a grant needs expiresAt or count; a rule has neither"})
	}
	if x.Bounds != "" {
		at, err := time.Parse(time.RFC3339Nano, x.Bounds)
		now := time.Now()
		switch {
		case err != nil || len(x.Bounds) > 64:
			errs = append(errs, fieldProblem{"expiresAt", `want a time such as "2026-11-21T15:04:05Z"`})
		case !at.After(now):
			errs = append(errs, fieldProblem{"expiresAt", "lies in the past, by the broker's clock"})
		case at.After(now.Add(longestGrant)):
			errs = append(errs, fieldProblem{"expiresAt", "want at most 90 days; a rule has no end"})
		}
		x.ExpiresAt = at.UTC()
	}
	if count < 0 || count > mostCount {
		errs = append(errs, fieldProblem{"count", fmt.Sprintf("want 1 to %d", mostCount)})
		count = 0
	}
	x.Count = int(count)
	return errs
}

// revokeSaved is DELETE /v1/rules/{id} and DELETE /v1/grants/{id}: of what assent itself saved,
// nothing else. It only tightens, so a device's bearer suffices.
func (s *Server) revokeSaved(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
		defer cancel()
		by := principal(r)
		x, err := s.cfg.Always.Revoke(ctx, kind, param(r, "id"), by.Approver)
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
		InputSHA256: x.InputSHA256, Proposal: x.Digest, Signature: x.Signature, PublicKey: x.PublicKey, Bounds: x.Bounds,
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
	for _, x := range s.cfg.Always.List(kind) {
		list = append(list, s.savedView(x, inForce))
	}
	return list
}

// noAlways is the Always of a server without one.
type noAlways struct{}

func (noAlways) Propose(context.Context, *hook.Request) (hook.Proposals, error) {
	return hook.Proposals{}, ErrNoAlways
}
func (noAlways) Find(context.Context, *hook.Request, string) (hook.Saved, error) {
	return hook.Saved{}, ErrNoAlways
}
func (noAlways) Save(context.Context, hook.Saved) (hook.Saved, error) {
	return hook.Saved{}, ErrNoAlways
}
func (noAlways) Revoke(context.Context, string, string, hook.Approver) (hook.Saved, error) {
	return hook.Saved{}, ErrNoAlways
}
func (noAlways) Use(context.Context, string, []string) error { return ErrNoAlways }
func (noAlways) List(string) []hook.Saved                    { return nil }
