package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

func TestHandBack(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p, other := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleApprove, "other")
		w, second := g.raise(call{unix: true, body: bash("x")}), g.raise(call{unix: true, body: bash("y")})
		digest := g.get(w.id).InputSHA256
		back := func(id, input, token, signature string) reply {
			body, err := json.Marshal(map[string]string{"inputSha256": input, "signature": signature})
			if err != nil {
				t.Fatal(err)
			}
			return g.call(call{method: "POST", path: "/v1/requests/" + id + "/handback", token: token, body: string(body)})
		}
		sign := func(p *phone, id, input string) string { return p.key.Sign(auth.HandBackText(id, input)) }
		for name, r := range map[string]reply{
			"a bearer alone":            back(w.id, digest, p.bearer, ""),
			"another device's key":      back(w.id, digest, p.bearer, sign(other, w.id, digest)),
			"signed for another":        back(w.id, digest, p.bearer, sign(p, second.id, digest)),
			"a decision's signature":    back(w.id, digest, p.bearer, p.key.Sign(auth.DecisionText(w.id, hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: digest}))),
			"a token that may only see": back(w.id, digest, g.tokens[auth.RoleView], ""),
		} {
			if r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if r := back(w.id, strings.Repeat("0", 64), p.bearer, sign(p, w.id, strings.Repeat("0", 64))); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"digest"`) {
			t.Errorf("another input: %d %s", r.status, r.body)
		}
		if r := back(w.id, digest, p.bearer, sign(p, w.id, digest)); r.status != http.StatusNoContent {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := <-w.reply; r.status != http.StatusNoContent || r.body != "" {
			t.Errorf("the hook got %d %s", r.status, r.body)
		}
		synctest.Wait()
		if q := g.get(w.id); q.Outcome != "handed_back" || q.Reason != hook.ReasonPerson || q.DecidedBy == nil || q.DecidedBy.Name != "phone" {
			t.Errorf("%+v", q)
		}
		var rec hook.Record
		for _, doc := range validList(t, "Record", g.call(call{path: "/v1/requests/" + w.id + "/trace", token: p.bearer}).body) {
			if strings.Contains(string(doc), `"step":"ended"`) {
				if err := json.Unmarshal(doc, &rec); err != nil {
					t.Fatal(err)
				}
			}
		}
		if rec.HandBack == nil || !auth.VerifyHandBack(w.id, *rec.HandBack) || auth.VerifyHandBack(second.id, *rec.HandBack) {
			t.Errorf("recorded %+v", rec)
		}
		audited := g.call(call{path: "/v1/requests/" + w.id + "/audit", token: p.bearer}).body
		valid(t, "AuditTrace", audited)
		trace := decode[api.AuditTrace](t, audited)
		if ended := trace.Steps[len(trace.Steps)-1]; ended.Step != hook.StepEnded || ended.Signature != "good" || ended.Key != auth.Thumbprint(*rec.HandBack.PublicKey) || ended.Place != api.PlaceNone || trace.Tree.Wrong == "" {
			t.Errorf("audited: %+v", trace) // there is no tree here
		}
		if r := back(w.id, digest, p.bearer, sign(p, w.id, digest)); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"ended"`) {
			t.Errorf("a second time: %d %s", r.status, r.body)
		}
		// A token has no key; what it sends as a signature is not kept.
		if r := back(second.id, g.get(second.id).InputSHA256, g.tokens[auth.RoleApprove], "nonsense"); r.status != http.StatusNoContent {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := <-second.reply; r.status != http.StatusNoContent {
			t.Errorf("the hook got %d %s", r.status, r.body)
		}
		// Behind the permission prompt tool there is no other prompt.
		prompt := g.tool("t1", "z")
		if r := back(prompt.id, g.get(prompt.id).InputSHA256, g.tokens[auth.RoleApprove], ""); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"prompt"`) {
			t.Errorf("%d %s", r.status, r.body)
		}
		g.wantPending(prompt)
	})
}
