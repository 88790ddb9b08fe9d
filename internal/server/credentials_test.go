package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"assent/internal/auth"
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
		if n := len(validList(t, "Token", list.body)); n != 6 || strings.Contains(list.body, made.Token) {
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
