package server_test

import (
	"net/http"
	"strings"
	"testing"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/machines"
)

// TestJoinedMachine invites a machine, has it join, once, and raise a request: the request has the name that
// the invitation gave, whatever the hook calls itself, and the machine's version and mode are known.
func TestJoinedMachine(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		admin := g.tokens[auth.RoleAdmin]
		if r := g.post("/v1/pair", admin, fields{"role": "submit"}); r.status != http.StatusBadRequest || !strings.Contains(r.body, "name") {
			t.Errorf("a machine without a name: %d %s", r.status, r.body)
		}
		if r := g.post("/v1/pair", g.tokens[auth.RoleApprove], fields{"role": "submit", "name": "laptop"}); r.status != http.StatusForbidden {
			t.Errorf("an approver invites machines: %d", r.status)
		}
		p := decode[auth.Pairing](t, g.post("/v1/pair", admin, fields{"role": "submit", "name": "laptop"}).body)
		r := g.post("/v1/join", "", fields{"code": p.Code})
		valid(t, "Token", r.body)
		token := decode[api.CreatedToken](t, r.body)
		if r.status != http.StatusCreated || token.Name != "laptop" || token.Role != auth.RoleSubmit {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/join", "", fields{"code": p.Code}); r.status != http.StatusForbidden {
			t.Errorf("used twice: %d %s", r.status, r.body)
		}

		hooked := func(token, host, mode string) {
			t.Helper()
			r := g.call(call{method: "POST", path: "/v1/hooks", token: token, body: `{"hook_event_name":"Stop","session_id":"s-` + mode + `","permission_mode":"` + mode + `"}`,
				header: map[string]string{hook.HeaderHost: host, hook.HeaderVersion: "0.0.9"}})
			if r.status != http.StatusNoContent {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
		hooked(token.Secret, "mbp", "bypassPermissions")
		hooked(g.tokens[auth.RoleSubmit], "ci", "default")
		list := g.call(call{path: "/v1/machines", token: g.tokens[auth.RoleView]})
		for _, m := range decode[[]machines.Machine](t, list.body) {
			valid(t, "Machine", mustJSON(m))
			want := m.Name == "laptop"
			if got := m.Host == "mbp" && m.HookVersion == "0.0.9" && m.Differs && len(m.NotAsking) == 1 && m.Sessions == 1; got != want {
				t.Errorf("%+v", m)
			}
		}
		if !strings.Contains(list.body, `"laptop"`) {
			t.Errorf("no laptop in %s", list.body)
		}
		if m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]}).body; !strings.Contains(m, `assent_sessions_not_asking{mode="bypassPermissions"} 1`) || !strings.Contains(m, "assent_machines_differing 2") {
			t.Errorf("metrics: %s", m)
		}
	})
}
