package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
)

func (g *rig) post(path, token string, body any) reply {
	g.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.call(call{method: "POST", path: path, token: token, body: string(b)})
}

type fields map[string]any

func TestTokensOverHTTP(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		admin := g.tokens[auth.RoleAdmin]
		r := g.post("/v1/tokens", admin, fields{"role": "view", "name": "bot", "ttl": "1h"})
		valid(t, "Token", r.body)
		made := decode[struct{ ID, Token, Role string }](t, r.body)
		if r.status != http.StatusCreated || made.Role != "view" || !strings.HasPrefix(made.Token, "assent_view_") {
			t.Fatalf("%d %s", r.status, r.body)
		}
		list := g.call(call{path: "/v1/tokens", token: admin})
		if n := len(validList(t, "Token", list.body)); n != 5 || strings.Contains(list.body, made.Token) {
			t.Errorf("%d tokens: %s", n, list.body)
		}
		if r := g.call(call{path: "/v1/requests", token: made.Token}); r.status != http.StatusOK {
			t.Errorf("with it: %d", r.status)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/tokens/" + made.ID, token: admin}); r.status != http.StatusNoContent {
			t.Errorf("revoke: %d %s", r.status, r.body)
		}
		if r := g.call(call{path: "/v1/requests", token: made.Token}); r.status != http.StatusUnauthorized || r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("with a revoked one: %d", r.status)
		}
		for field, body := range map[string]fields{
			"role": {"role": "root", "name": "x"}, "name": {"role": "view"}, "ttl": {"role": "view", "name": "x", "ttl": "-1h"}, "extra": {"extra": 1, "role": "view", "name": "x"},
		} {
			if r := g.post("/v1/tokens", admin, body); r.status != http.StatusBadRequest || !strings.Contains(r.body, `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s", field, r.status, r.body)
			}
		}
		g.kv.SetDown(errors.New("secret internals"))
		if r := g.post("/v1/tokens", admin, fields{"role": "view", "name": "x"}); r.status != http.StatusServiceUnavailable || strings.Contains(r.body, "secret") {
			t.Errorf("store away: %d %s", r.status, r.body)
		}
	})
}

// A phone: invited, paired, signed in, connected, deciding, thrown out.
func TestDeviceOverHTTP(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		admin := g.tokens[auth.RoleAdmin]
		r := g.post("/v1/pair", admin, fields{"role": "approve", "name": "phone"})
		valid(t, "Pairing", r.body)
		invited := decode[auth.Pairing](t, r.body)
		if r.status != http.StatusCreated || invited.URL != "https://box.example/#pair="+invited.Code {
			t.Fatalf("%d %s", r.status, r.body)
		}
		key := authtest.NewKey()
		if r := g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "publicKey": "x"}); r.status != http.StatusBadRequest || !strings.Contains(r.body, "publicKey") {
			t.Errorf("bad key: %d %s", r.status, r.body)
		}
		jwk := key.JWK() // with what WebCrypto adds
		r = g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "name": "Pixel", "publicKey": fields{"kty": jwk.Kty, "crv": jwk.Crv, "x": jwk.X, "y": jwk.Y, "ext": true, "key_ops": []string{"verify"}}})
		valid(t, "Device", r.body)
		d := decode[auth.Device](t, r.body)
		if r.status != http.StatusCreated || d.Name != "phone" || d.Role != auth.RoleApprove {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "publicKey": jwk}); r.status != http.StatusForbidden {
			t.Errorf("the code again: %d", r.status)
		}
		nonce := decode[struct{ Nonce string }](t, g.post("/v1/auth/challenge", "", fields{"deviceId": d.ID}).body).Nonce
		signed := fields{"deviceId": d.ID, "nonce": nonce, "signature": key.Sign(auth.ChallengeText(d.ID, nonce))}
		r = g.post("/v1/auth/session", "", signed)
		bearer := decode[struct{ Token, ExpiresAt string }](t, r.body)
		if r.status != http.StatusOK || bearer.Token == "" || bearer.ExpiresAt == "" {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/auth/session", "", signed); r.status != http.StatusBadRequest || !strings.Contains(r.body, "nonce") {
			t.Errorf("the nonce again: %d %s", r.status, r.body)
		}
		ticket := decode[struct{ Ticket string }](t, g.post("/v1/ws/ticket", bearer.Token, fields{}).body).Ticket
		conn, _, err := g.socket("?ticket="+ticket, "", http.Header{"Origin": {origin}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, res, err := g.socket("?ticket="+ticket, "", nil); err == nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the ticket again: %v", err)
		}
		w := g.raise(call{unix: true, body: bash("x")})
		sum := g.get(w.id).InputSHA256
		sig := key.Sign(auth.DecisionText(w.id, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: sum}))
		dec := g.post("/v1/requests/"+w.id+"/decision", bearer.Token, fields{"behavior": "allow", "inputSha256": sum, "signature": sig})
		if dec.status != http.StatusOK {
			t.Errorf("decision: %d %s", dec.status, dec.body)
		}
		<-w.reply
		if q := g.get(w.id); q.DecidedBy == nil || q.DecidedBy.Kind != "device" || q.DecidedBy.ID != d.ID || q.DecidedBy.Name != "phone" {
			t.Errorf("decided by %+v", q.DecidedBy)
		}
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: bearer.Token})
		if !strings.Contains(trace.body, `"signature":"`+sig+`","publicKey":{"kty":"EC"`) {
			t.Errorf("no signature in %s", trace.body)
		}
		if list := validList(t, "Device", g.call(call{path: "/v1/devices", token: admin}).body); len(list) != 1 {
			t.Errorf("%d devices", len(list))
		}
		if r := g.call(call{method: "DELETE", path: "/v1/devices/" + d.ID, token: admin}); r.status != http.StatusNoContent {
			t.Errorf("revoke: %d", r.status)
		}
		if code := closeCode(conn); code != 4401 {
			t.Errorf("the socket closed with %d, want 4401", code)
		}
		if r := g.call(call{path: "/v1/requests", token: bearer.Token}); r.status != http.StatusUnauthorized {
			t.Errorf("bearer of a revoked device: %d", r.status)
		}
		if r := g.post("/v1/auth/challenge", "", fields{"deviceId": d.ID}); r.status != http.StatusNotFound {
			t.Errorf("challenge for a revoked device: %d", r.status)
		}
	})
}

// closeCode reads until the server closes and says why.
func closeCode(conn *websocket.Conn) int {
	for {
		_, _, err := conn.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Code
		}
		if err != nil {
			return -1
		}
	}
}
