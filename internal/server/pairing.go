package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"
	"rsc.io/qr"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// Two ways lead to a paired device. An administrator makes a link, which the device redeems;
// or the device starts, shows a short code, and an administrator confirms it.

// newPairing is POST /v1/pair {role?, name?}: an invitation for one device, whose role is
// approve unless said otherwise; with role submit, and a name, for one machine.
func (s *Server) newPairing(w http.ResponseWriter, r *http.Request) {
	role, name := string(auth.RoleApprove), ""
	if !s.readObject(w, r, "NewPairing", map[string]any{"role": &role, "name": &name}, nil) {
		return
	}
	p, err := s.cfg.Auth.NewPairing(r.Context(), auth.Role(role), name, s.URL())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusCreated, p)
}

// join is POST /v1/join {code}: a machine's token, for the code that is its credential. The answer is the
// only place where the secret stands.
func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	var code string
	if !s.readObject(w, r, "Join", map[string]any{"code": &code}, nil) {
		return
	}
	secret, token, err := s.cfg.Auth.Join(r.Context(), code)
	if err != nil {
		s.pairingFailed(w, r, "join", err)
		return
	}
	s.log.Info("a machine joined", zap.String("id", token.ID), zap.String("name", line(token.Name)), zap.String("from", s.clientAddr(r).String()))
	s.writeJSON(w, r, http.StatusCreated, api.CreatedToken{Token: token, Secret: secret})
}

// redeemPairing is POST /v1/pair/redeem {code, publicKey, name?, codeOrigin?}: the code is the credential.
func (s *Server) redeemPairing(w http.ResponseWriter, r *http.Request) {
	var code, name, origin string
	var keyText hook.JSON
	if !s.readObject(w, r, "RedeemPairing", map[string]any{"code": &code, "name": &name, "codeOrigin": &origin, "publicKey": &keyText}, nil) {
		return
	}
	d, err := s.cfg.Auth.Redeem(r.Context(), code, publicKey(keyText), name, hook.CodeOrigin(origin))
	if err != nil {
		s.pairingFailed(w, r, "redeem", err)
		return
	}
	s.paired(r, d, "link")
	s.writeJSON(w, r, http.StatusCreated, d)
}

// startPairing is POST /v1/pair/start {publicKey, name?, codeOrigin?}: a device asks to be let in.
func (s *Server) startPairing(w http.ResponseWriter, r *http.Request) {
	var name, origin string
	var keyText hook.JSON
	if !s.readObject(w, r, "StartPairing", map[string]any{"name": &name, "codeOrigin": &origin, "publicKey": &keyText}, nil) {
		return
	}
	from := s.clientAddr(r)
	from.CodeOrigin = hook.CodeOrigin(origin)
	start, err := s.cfg.Auth.StartPairing(r.Context(), publicKey(keyText), name, from)
	if err != nil {
		s.pairingFailed(w, r, "start", err)
		return
	}
	s.writeJSON(w, r, http.StatusCreated, start)
}

// pollPairing is POST /v1/pair/poll {secret}: whether a start was confirmed.
func (s *Server) pollPairing(w http.ResponseWriter, r *http.Request) {
	var secret string
	if !s.readObject(w, r, "PollPairing", map[string]any{"secret": &secret}, nil) {
		return
	}
	d, expires, err := s.cfg.Auth.PollPairing(r.Context(), secret)
	switch {
	case err != nil:
		s.pairingFailed(w, r, "poll", err)
	case d.ID == "":
		s.writeJSON(w, r, http.StatusAccepted, api.PairingPoll{ExpiresAt: expires})
	default:
		s.writeJSON(w, r, http.StatusOK, d)
	}
}

// getPhone is GET /v1/phone: where phones open the page. It says nothing that who reaches it does not know.
func (s *Server) getPhone(w http.ResponseWriter, r *http.Request) {
	at := api.PhoneAddress{URL: s.named.Load().phone}
	if at.URL != "" {
		code, err := qr.Encode(at.URL, qr.M)
		if err != nil { // longer than a code can hold
			s.fail(w, r, err)
			return
		}
		at.QR = rowsOf(code)
	}
	s.writeJSON(w, r, http.StatusOK, at)
}

// rowsOf writes a code as rows of 1 for black and 0 for white.
func rowsOf(code *qr.Code) []string {
	rows := make([]string, code.Size)
	for y := range rows {
		row := make([]byte, code.Size)
		for x := range row {
			row[x] = '0'
			if code.Black(x, y) {
				row[x] = '1'
			}
		}
		rows[y] = string(row)
	}
	return rows
}

// listWaiting is GET /v1/pair: the devices that wait to be let in.
func (s *Server) listWaiting(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Auth.WaitingDevices())
}

// refusePairing is DELETE /v1/pair/{code}.
func (s *Server) refusePairing(w http.ResponseWriter, r *http.Request) {
	err := s.cfg.Auth.RefusePairing(r.Context(), param(r, "code"))
	if err == nil {
		s.log.Info("a device was refused", zap.String("by", line(principal(r).Approver.Name)))
	}
	s.noContent(w, r, err)
}

// confirmPairing is POST /v1/devices {code, role?, name?, codeOrigin?, signature?, verification?}: lets in the device
// that shows code. A device, whose bearer may be stolen, must have signed it.
func (s *Server) confirmPairing(w http.ResponseWriter, r *http.Request) {
	role, name, code, signature, origin := string(auth.RoleApprove), "", "", "", ""
	var proof hook.JSON
	var sent *hook.Verification
	if !s.readObject(w, r, "ConfirmPairing", map[string]any{
		"code": &code, "role": &role, "name": &name, "signature": &signature, "verification": &proof, "codeOrigin": &origin,
	}, func() (errs []*hook.FieldError) {
		var bad *hook.FieldError
		if sent, bad = readVerification(proof); bad != nil {
			errs = append(errs, bad)
		}
		return errs
	}) {
		return
	}
	by := principal(r)
	var word *auth.Confirmation
	if by.Approver.Kind == "device" {
		var ok bool
		if word, ok = s.wordFor(w, r, by, code, auth.Role(role), name, signature, sent); !ok {
			return
		}
	}
	d, err := s.cfg.Auth.ConfirmPairing(r.Context(), code, auth.Role(role), name, hook.CodeOrigin(origin), word)
	if err != nil {
		s.pairingFailed(w, r, "confirm", err)
		return
	}
	s.paired(r, d, "code")
	s.writeJSON(w, r, http.StatusCreated, d)
}

// wordFor is the signed word of a device for the one that shows code. It answers the call, and reports
// false, where that does not hold.
func (s *Server) wordFor(w http.ResponseWriter, r *http.Request, by auth.Principal, code string, role auth.Role, name, signature string, sent *hook.Verification) (*auth.Confirmation, bool) {
	waiting, err := s.cfg.Auth.WaitingDevice(r.Context(), code)
	if err != nil {
		s.pairingFailed(w, r, "confirm", err)
		return nil, false
	}
	word, err := by.VouchPairing(waiting, role, name, signature)
	if err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused a pairing that its device did not sign", zap.String("device", by.Approver.ID), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return nil, false
	}
	var ok bool
	word.Verification, word.By, ok = s.verify(r.Context(), w, r, by, func() stake { return pairing }, auth.PairText(waiting.Code, waiting.PublicKey, role, name), sent, true) // a code is confirmed once
	return &word, ok
}

// publicKey reads a key. An unreadable one is the zero key, which package auth refuses.
func publicKey(text hook.JSON) (key hook.JWK) {
	if json.Unmarshal(text, &key) != nil {
		return hook.JWK{}
	}
	return key
}

func (s *Server) paired(r *http.Request, d auth.Device, way string) {
	s.log.Info("paired a device", zap.String("id", d.ID), zap.String("name", line(d.Name)), zap.String("role", string(d.Role)),
		zap.String("way", way), zap.String("by", line(principal(r).Approver.Name)), zap.String("from", s.clientAddr(r).String()))
}

// pairingFailed is fail, and counts failures that may be guesses or a flood.
func (s *Server) pairingFailed(w http.ResponseWriter, r *http.Request, step string, err error) {
	for _, suspect := range []error{auth.ErrPairing, auth.ErrPairingFull, auth.ErrNoStart} {
		if errors.Is(err, suspect) {
			s.metrics.pairingFailed(step)
		}
	}
	s.fail(w, r, err)
}
