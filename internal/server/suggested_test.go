package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/policy/suggest"
)

// TestASuggestionIsSaved: what was allowed twice is suggested to admins, and saved by its request; what
// somebody denied meanwhile is looked at again.
func TestASuggestionIsSaved(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w := m.raises(g, "mytool x")
		view, err := g.broker.Get(t.Context(), w.id)
		if err != nil {
			t.Fatal(err)
		}
		at := func(id string, outcome hook.Outcome) suggest.Settled {
			r := view.Request
			r.ID, r.CreatedAt = id, r.CreatedAt.Add(-time.Minute)
			s, _ := suggest.Settle(&r, outcome, &hook.Approver{Kind: "token"}, false)
			return s
		}
		m.past = []suggest.Settled{at(w.id, hook.Allowed), at("old", hook.Allowed)}
		suggestions := func() api.Suggestions {
			t.Helper()
			r := g.call(call{path: "/v1/suggestions", token: g.tokens[auth.RoleAdmin]})
			if r.status != http.StatusOK {
				t.Fatalf("%d %s", r.status, r.body)
			}
			valid(t, "Suggestions", r.body)
			return decode[api.Suggestions](t, r.body)
		}
		if r := g.call(call{path: "/v1/suggestions", token: g.tokens[auth.RoleApprove]}); r.status != http.StatusForbidden {
			t.Errorf("for an approver: %d", r.status)
		}
		list := suggestions()
		if list.Examined != 2 || list.Answered != 2 || len(list.Suggestions) != 1 {
			t.Fatalf("suggested: %+v", list)
		}
		x := list.Suggestions[0]
		if x.Answers != 2 || x.Newest.ID != w.id || x.RequestID != w.id || !strings.Contains(x.Rule, "mytool") {
			t.Errorf("suggested: %+v", x)
		}
		save := func() reply {
			return g.call(call{method: "POST", path: "/v1/rules", token: g.tokens[auth.RoleApprove], body: mustJSON(fields{
				"requestId": x.RequestID, "inputSha256": x.InputSHA256, "proposal": x.Proposal, "suggested": true,
			})})
		}
		m.past = append(m.past, at("no", hook.Denied))
		if r := save(); r.status != http.StatusConflict || !strings.Contains(r.body, "denied or edited") || !strings.Contains(r.body, `"reason":"proposal"`) {
			t.Errorf("denied meanwhile: %d %s", r.status, r.body)
		}
		if n := len(g.saved.Values()); n != 0 {
			t.Errorf("%d are saved", n)
		}
		m.past = m.past[:2]
		if r := save(); r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if list := suggestions(); len(list.Suggestions) != 0 || list.Already != 2 {
			t.Errorf("once it is saved: %+v", list)
		}
	})
}
