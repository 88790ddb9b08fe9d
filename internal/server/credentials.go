package server

import (
	"encoding/json"
	"net/http"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
)

// newToken is POST /v1/tokens {role, name, ttl?}; ttl is a duration such as "720h". The answer
// is the only place where the secret stands.
func (s *Server) newToken(w http.ResponseWriter, r *http.Request) {
	var role, name, ttlText string
	if !s.readObject(w, r, map[string]any{"role": &role, "name": &name, "ttl": &ttlText}) {
		return
	}
	var ttl time.Duration
	if ttlText != "" {
		var err error
		if ttl, err = time.ParseDuration(ttlText); err != nil || ttl <= 0 {
			writeProblem(w, badFields(fieldProblem{"ttl", `want a duration above 0, such as "720h"`}))
			return
		}
	}
	secret, token, err := s.cfg.Auth.CreateToken(r.Context(), auth.Role(role), name, ttl)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusCreated, struct {
		auth.Token
		Secret string `json:"token"`
	}{token, secret})
}

func (s *Server) listTokens(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Auth.Tokens())
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) {
	s.noContent(w, r, s.cfg.Auth.RevokeToken(r.Context(), param(r, "id")))
}

func (s *Server) listDevices(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Auth.Devices())
}

func (s *Server) revokeDevice(w http.ResponseWriter, r *http.Request) {
	s.noContent(w, r, s.cfg.Auth.RevokeDevice(r.Context(), param(r, "id")))
}

func (s *Server) noContent(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// newPairing is POST /v1/pair {role?, name?}: an invitation for one device, whose role is
// approve unless said otherwise. Only an administrator may give out credentials: one that
// could copy itself would outlive its revocation.
func (s *Server) newPairing(w http.ResponseWriter, r *http.Request) {
	role, name := string(auth.RoleApprove), ""
	if !s.readObject(w, r, map[string]any{"role": &role, "name": &name}) {
		return
	}
	p, err := s.cfg.Auth.NewPairing(auth.Role(role), name, s.URL())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusCreated, p)
}

// redeemPairing is POST /v1/pair/redeem {code, publicKey, name?}: the code is the credential.
func (s *Server) redeemPairing(w http.ResponseWriter, r *http.Request) {
	var code, name string
	var keyText hook.JSON
	if !s.readObject(w, r, map[string]any{"code": &code, "name": &name, "publicKey": &keyText}) {
		return
	}
	var key auth.JWK
	if err := json.Unmarshal(keyText, &key); err != nil {
		key = auth.JWK{} // Redeem says what it wants, and counts the try
	}
	d, err := s.cfg.Auth.Redeem(r.Context(), code, key, name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusCreated, d)
}

type expiring struct {
	Nonce     string    `json:"nonce,omitempty"`
	Token     string    `json:"token,omitempty"`
	Ticket    string    `json:"ticket,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// newChallenge is POST /v1/auth/challenge {deviceId}. 404 tells a device that it was revoked.
func (s *Server) newChallenge(w http.ResponseWriter, r *http.Request) {
	var device string
	if !s.readObject(w, r, map[string]any{"deviceId": &device}) {
		return
	}
	nonce, expires, err := s.cfg.Auth.Challenge(device)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, expiring{Nonce: nonce, ExpiresAt: expires})
}

// newSession is POST /v1/auth/session {deviceId, nonce, signature}: a bearer for the page.
func (s *Server) newSession(w http.ResponseWriter, r *http.Request) {
	var device, nonce, signature string
	if !s.readObject(w, r, map[string]any{"deviceId": &device, "nonce": &nonce, "signature": &signature}) {
		return
	}
	token, expires, err := s.cfg.Auth.OpenSession(device, nonce, signature)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, expiring{Token: token, ExpiresAt: expires})
}

// newTicket is POST /v1/ws/ticket: what opens one WebSocket, for a browser cannot put a header
// there. Its body is ignored.
func (s *Server) newTicket(w http.ResponseWriter, r *http.Request) {
	ticket, expires := s.cfg.Auth.NewTicket(principal(r))
	s.writeJSON(w, r, http.StatusOK, expiring{Ticket: ticket, ExpiresAt: expires})
}
