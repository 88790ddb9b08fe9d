package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/passkey"
	"assent/internal/hook"
)

// stake is what somebody is about to say yes to.
type stake int

const (
	ordinary   stake = iota // an allow of what is not dangerous
	dangerous               // an allow of what is, or one that changes the agent's permissions
	remembered              // a rule or a grant
	message                 // text for an agent
	pairing                 // a further device
)

func (k stake) words() string {
	return [...]string{"allowing this", "allowing what is dangerous", "saving a rule or a grant", "sending a message to an agent", "letting another device in"}[k]
}

// stakeOf is what d says yes to: the worse of what was asked for and what is allowed in its place. What
// cannot be read is dangerous.
func (s *Server) stakeOf(req *hook.Request, d hook.Decision) (what stake) {
	defer func() {
		if p := recover(); p != nil { // the value could quote a command
			s.log.Error("the effects of a request could not be read", zap.String("id", req.ID), zap.String("panic", fmt.Sprintf("%T", p)))
			what = dangerous
		}
	}()
	if len(d.UpdatedPermissions) > 0 && string(d.UpdatedPermissions) != "[]" || s.cfg.Views.Effects == nil {
		return dangerous
	}
	inputs := []hook.JSON{req.ToolInput}
	if len(d.UpdatedInput) > 0 {
		inputs = append(inputs, d.UpdatedInput)
	}
	for _, in := range inputs {
		r := *req
		r.ToolInput = in
		if e := s.cfg.Views.Effects(&r); e == nil || e.Risk.Level() >= hook.Danger.Level() {
			return dangerous
		}
	}
	return ordinary
}

// verify checks that the person behind by is verified for text, where that is asked of them, and returns
// the proof and by as they may be recorded. v is what was sent, nil if nothing was. It answers the call
// and reports false otherwise: nothing may be allowed or saved then. again: see auth.Verify.
func (s *Server) verify(ctx context.Context, w http.ResponseWriter, r *http.Request, by auth.Principal, what func() stake, text []byte, v *hook.Verification, again bool) (*hook.Verification, hook.Approver, bool) {
	if v == nil {
		why := s.unverified(r, by, what)
		if why != "" {
			s.metrics.unverified.Inc()
			s.log.Info("refused without verification", zap.String("path", line(r.URL.Path)), zap.String("kind", by.Approver.Kind),
				zap.String("by", line(by.Approver.Name)), zap.String("from", s.clientAddr(r).String()))
			writeProblem(w, problem{Status: http.StatusForbidden, Reason: "verification", Detail: why})
		}
		return nil, by.Approver, why == ""
	}
	proof, err := s.cfg.Auth.Verify(ctx, by, s.named.Load().under, text, *v, again)
	if err != nil {
		s.refuseVerification(w, r, by, err)
		return nil, by.Approver, false
	}
	who := by.Approver
	who.Verified = true
	return proof, who, true
}

// refuseVerification answers a verification that does not hold.
func (s *Server) refuseVerification(w http.ResponseWriter, r *http.Request, by auth.Principal, err error) {
	if errors.Is(err, auth.ErrVerification) {
		s.metrics.unverified.Inc()
		s.log.Warn("refused a verification", zap.String("path", line(r.URL.Path)), zap.String("device", by.Approver.ID),
			zap.String("name", line(by.Approver.Name)), zap.String("from", s.clientAddr(r).String()), zap.String("error", line(err.Error())))
	}
	s.fail(w, r, err)
}

// unverified says why by may not say yes to what without a verification, and what to do; "" if they may.
func (s *Server) unverified(r *http.Request, by auth.Principal, of func() stake) string {
	state, err := auth.VerificationState{}, error(nil)
	if by.Approver.Kind == "device" {
		state, err = s.cfg.Auth.Verification(by.Approver.ID)
	}
	policy := s.cfg.RequireVerification()
	if err == nil && state.Credential == "" && policy == "" {
		return "" // as with most
	}
	what := of()
	required := policy == hook.VerifyAlways || policy == hook.VerifyDanger && what != ordinary
	if by.Approver.Kind == "device" {
		switch {
		case err != nil: // it is gone
			return "this device is not paired any more"
		case state.Credential != "" && (required || what != ordinary):
			return "this device asks for your face, fingerprint or PIN before " + what.words() + ", and this came without; allow it again, and confirm when asked"
		case required:
			return "this broker asks for a face, fingerprint or PIN before " + what.words() + "; turn that on for this device under You, Devices, or answer on a device that has it"
		}
		return ""
	}
	if !required || by.Approver.Kind == hook.KindOwner && s.fromHere(r) {
		return ""
	}
	return "this broker asks for a face, fingerprint or PIN before " + what.words() + ", which a token cannot give; answer on a paired device that has it, or as the owner on the broker's machine"
}

// fromHere reports whether a call came from this machine, and through no proxy.
func (s *Server) fromHere(r *http.Request) bool {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	return peer(r).IsLoopback()
}

// under are the origins of this server's pages that are under a name.
func (n *names) under(name string) (origins []string) {
	for o := range n.origins {
		if id, _ := passkey.Allowed(o); id != "" && id == name {
			origins = append(origins, o)
		}
	}
	slices.Sort(origins)
	return origins
}

// site is where the page that calls is open, or why nobody can be verified there.
func (s *Server) site(r *http.Request) (passkey.Site, string) {
	host := strings.ToLower(r.Host)
	why := "this page is open under an address that is not one of the broker's own; open it at its public URL"
	for _, scheme := range []string{"https://", "http://"} {
		bare := strings.TrimSuffix(host, map[string]string{"http://": ":80", "https://": ":443"}[scheme])
		if !s.named.Load().origins[scheme+bare] {
			continue
		}
		id, not := passkey.Allowed(scheme + bare)
		if not == "" {
			return passkey.Site{ID: id, Origins: s.named.Load().under(id)}, ""
		}
		why = not
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		_, why = passkey.Allowed("https://" + r.Host)
	}
	return passkey.Site{}, why
}

// verificationState is how it stands with the calling device, on the page that it calls from.
func (s *Server) verificationState(r *http.Request, deviceID string) (api.VerificationState, error) {
	state, err := s.cfg.Auth.Verification(deviceID)
	if err != nil {
		return api.VerificationState{}, err
	}
	v := api.VerificationState{Require: s.cfg.RequireVerification(), Credential: state.Credential, Site: state.Site, CreatedAt: state.CreatedAt, Synced: state.Synced}
	if state.Credential == "" {
		site, why := s.site(r)
		v.Site, v.Why = site.ID, why
	}
	return v, nil
}

// verifiesItself is for what concerns the calling device's own credential.
func (s *Server) verifiesItself(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if by := principal(r).Approver; by.Kind != "device" || by.ID != param(r, "id") {
			writeProblem(w, problem{Status: http.StatusForbidden, Detail: "only the device itself can do this, on its own page"})
			return
		}
		next(w, r)
	}
}

// getVerification is GET /v1/devices/{id}/verification.
func (s *Server) getVerification(w http.ResponseWriter, r *http.Request) {
	v, err := s.verificationState(r, param(r, "id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, v)
}

// beginVerification is POST /v1/devices/{id}/verification: options to make a credential with. Its body is
// ignored.
func (s *Server) beginVerification(w http.ResponseWriter, r *http.Request) {
	site, why := s.site(r)
	if why != "" {
		writeProblem(w, problem{Status: http.StatusConflict, Reason: "site", Detail: why})
		return
	}
	options, err := s.cfg.Auth.BeginVerification(param(r, "id"), site)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, json.RawMessage(options))
}

// finishVerification is PUT /v1/devices/{id}/verification {credential, signature}: from now on the device
// has to verify its owner for what is dangerous.
func (s *Server) finishVerification(w http.ResponseWriter, r *http.Request) {
	var credential hook.JSON
	var signature string
	if !s.readObject(w, r, "NewVerification", map[string]any{"credential": &credential, "signature": &signature}, nil) {
		return
	}
	by := principal(r)
	site, why := s.site(r)
	if why != "" {
		writeProblem(w, problem{Status: http.StatusConflict, Reason: "site", Detail: why})
		return
	}
	d, err := s.cfg.Auth.FinishVerification(r.Context(), by, site, credential, signature)
	if err != nil {
		if errors.Is(err, auth.ErrSignature) {
			s.metrics.unsigned.Inc()
		}
		s.refuseVerification(w, r, by, err)
		return
	}
	s.log.Info("a device verifies its owner from now on", zap.String("id", d.ID), zap.String("name", line(d.Name)))
	s.getVerification(w, r)
}

// endVerification is DELETE /v1/devices/{id}/verification {signature?, verification?}. The device itself
// must sign and verify that; without its credential only somebody who gives out credentials may.
func (s *Server) endVerification(w http.ResponseWriter, r *http.Request) {
	var signature string
	var proof hook.JSON
	if !s.readObject(w, r, "EndVerification", map[string]any{"signature": &signature, "verification": &proof}, nil) {
		return
	}
	id, by := param(r, "id"), principal(r)
	state, err := s.cfg.Auth.Verification(id)
	if err == nil && state.Credential == "" {
		err = auth.ErrNoVerification
	}
	switch {
	case err != nil:
	case by.Approver.Kind == "device" && by.Approver.ID == id:
		if err = by.VouchUnenrol(state.Credential, signature); err != nil {
			s.metrics.unsigned.Inc()
			break
		}
		v, bad := readVerification(proof)
		if bad != nil {
			writeProblem(w, badMembers(bad))
			return
		}
		if v == nil {
			err = auth.ErrVerification
			break
		}
		_, err = s.cfg.Auth.Verify(r.Context(), by, s.named.Load().under, auth.UnenrolText(id, state.Credential), *v, false)
	case by.Approver.Kind == "device" || !by.Role.Includes(auth.RoleAdmin):
		writeProblem(w, problem{Status: http.StatusForbidden,
			Detail: "only the device itself can turn this off, or on the broker's machine: assent device unverify"})
		return
	}
	if err == nil {
		_, err = s.cfg.Auth.EndVerification(r.Context(), id)
	}
	if err != nil {
		s.refuseVerification(w, r, by, err)
		return
	}
	s.log.Warn("a device no longer verifies its owner", zap.String("id", id), zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
	w.WriteHeader(http.StatusNoContent)
}

// readVerification reads a proof as it comes; nil if there is none.
func readVerification(doc hook.JSON) (*hook.Verification, *hook.FieldError) {
	if doc == nil {
		return nil, nil
	}
	v := &hook.Verification{}
	for _, bad := range decodeObject(doc, map[string]any{
		"credential": &v.Credential, "authenticatorData": &v.AuthenticatorData, "clientData": &v.ClientData, "signature": &v.Signature,
	}) {
		return nil, hook.BadField("verification", bad.Error())
	}
	return v, nil
}

// pendingAs reports whether a decision is about a request that still waits, as it was seen.
func pendingAs(v *broker.View, d hook.Decision) bool {
	return v.State == broker.Pending && v.InputSHA256 == d.InputSHA256
}
