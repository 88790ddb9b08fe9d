package server

import (
	"net/http"
	"time"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// newToken is POST /v1/tokens {role, name, ttl?, publicKey?}; ttl is a duration such as "720h". The answer
// is the only place where the secret stands.
func (s *Server) newToken(w http.ResponseWriter, r *http.Request) {
	var role, name, ttlText string
	var keyText hook.JSON
	if !s.readObject(w, r, "NewToken", map[string]any{"role": &role, "name": &name, "ttl": &ttlText, "publicKey": &keyText}, nil) {
		return
	}
	var ttl time.Duration
	if ttlText != "" {
		var err error
		if ttl, err = time.ParseDuration(ttlText); err != nil || ttl <= 0 {
			writeProblem(w, badMembers(hook.BadField("ttl", `want a duration above 0, such as "720h"`)))
			return
		}
	}
	var secret string
	var token auth.Token
	var err error
	if len(keyText) > 0 {
		secret, token, err = s.cfg.Auth.CreateBoundToken(r.Context(), auth.Role(role), name, ttl, publicKey(keyText))
	} else {
		secret, token, err = s.cfg.Auth.CreateToken(r.Context(), auth.Role(role), name, ttl)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusCreated, api.CreatedToken{Token: token, Secret: secret})
}

func (s *Server) listTokens(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Auth.Tokens())
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) {
	s.noContent(w, r, s.cfg.Auth.RevokeToken(r.Context(), param(r, "id")))
}

func (s *Server) noContent(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// newChallenge is POST /v1/auth/challenge {deviceId}. 404 tells a device that it was revoked.
func (s *Server) newChallenge(w http.ResponseWriter, r *http.Request) {
	var device string
	if !s.readObject(w, r, "NewChallenge", map[string]any{"deviceId": &device}, nil) {
		return
	}
	nonce, expires, err := s.cfg.Auth.Challenge(device)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, api.Challenge{Nonce: nonce, ExpiresAt: expires})
}

// newSession is POST /v1/auth/session {deviceId, nonce, signature}: a bearer for the page.
func (s *Server) newSession(w http.ResponseWriter, r *http.Request) {
	var device, nonce, signature string
	if !s.readObject(w, r, "NewSession", map[string]any{"deviceId": &device, "nonce": &nonce, "signature": &signature}, nil) {
		return
	}
	token, expires, err := s.cfg.Auth.OpenSession(device, nonce, signature)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	verification, err := s.verificationState(r, device)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, api.Bearer{Token: token, ExpiresAt: expires, Verification: verification})
}

// newTicket is POST /v1/ws/ticket: what opens one WebSocket, for a browser cannot put a header
// there. Its body is ignored.
func (s *Server) newTicket(w http.ResponseWriter, r *http.Request) {
	ticket, expires := s.cfg.Auth.NewTicket(principal(r))
	s.writeJSON(w, r, http.StatusOK, api.Ticket{Ticket: ticket, ExpiresAt: expires})
}
