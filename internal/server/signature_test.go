package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	"assent/internal/hook"
)

const question = `{"session_id":"s1","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"AskUserQuestion",` +
	`"tool_input":{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A & <b>","description":"d"}]}]}}`

// What a device sends is verified over the very bytes, and can be verified again from the record.
func TestSignatureIsOverTheBytesAsSent(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p := g.paired(auth.RoleApprove, "phone")
		for _, input := range []string{
			`{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A & <b>","description":"d"}]}],"answers":{"Which?":"A & <b>"}}`,
			"{ \"questions\" : [ {\"question\":\"Which?\",\"header\":\"H\",\"multiSelect\":false,\"options\":[{\"label\":\"A \\u0026 <b>\",\"description\":\"d\"}]} ],\n\t\"answers\":{\"Which?\":\"\u2028 é \\ud83d\\ude00 1e2\"} }",
		} {
			w := g.raise(call{unix: true, body: question})
			d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: g.get(w.id).InputSHA256, UpdatedInput: hook.JSON(input)}
			r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: p.bearer, body: p.signed(w.id, d, `, "updatedInput" : `+input+" ")})
			if r.status != http.StatusOK {
				t.Fatalf("%d %s", r.status, r.body)
			}
			<-w.reply
			synctest.Wait()
			trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: p.bearer}).body
			var rec struct {
				hook.Record
				Signed struct{ UpdatedInput, UpdatedPermissions string }
			}
			for _, doc := range validList(t, "Record", trace) {
				if strings.Contains(string(doc), `"step":"decided"`) {
					if err := json.Unmarshal(doc, &rec); err != nil {
						t.Fatal(err)
					}
				}
			}
			if rec.Signed.UpdatedInput != input {
				t.Errorf("recorded %q, sent %q", rec.Signed.UpdatedInput, input)
			}
			again := *rec.Decision
			again.UpdatedInput = hook.JSON(rec.Signed.UpdatedInput)
			if !auth.VerifyDecision(w.id, again) || *again.PublicKey != p.key.JWK() {
				t.Errorf("the record does not verify: %s", trace)
			}
		}
	})
}

// A device's bearer alone decides nothing, and leaves no trace but a counter.
func TestBearerAloneDoesNotDecide(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p, other := g.paired(auth.RoleAdmin, "phone"), g.paired(auth.RoleAdmin, "other")
		w, second := g.raise(call{unix: true, body: bash("x")}), g.raise(call{unix: true, body: bash("y")})
		sum := g.get(w.id).InputSHA256
		allow, deny := hook.Decision{Behavior: "allow", InputSHA256: sum}, hook.Decision{Behavior: "deny", InputSHA256: sum}
		words := hook.Decision{Behavior: "deny", InputSHA256: sum, Message: "no"}
		bodies := map[string]string{
			"none":                 `{"behavior":"allow","inputSha256":"` + sum + `"}`,
			"empty":                `{"behavior":"allow","inputSha256":"` + sum + `","signature":""}`,
			"of the other device":  other.signed(w.id, allow, ""),
			"for another request":  p.signed(second.id, allow, ""),
			"of the opposite":      strings.Replace(p.signed(w.id, deny, ""), `"deny"`, `"allow"`, 1),
			"of another input":     strings.Replace(p.signed(w.id, hook.Decision{Behavior: "allow", InputSHA256: strings.Repeat("0", 64)}, ""), strings.Repeat("0", 64), sum, 1),
			"other words":          p.signed(w.id, words, `,"message":"yes"`),
			"words left out":       p.signed(w.id, words, ""),
			"interrupt added":      p.signed(w.id, deny, `,"interrupt":true`),
			"input added":          p.signed(w.id, allow, `,"updatedInput":{"command":"rm -rf ~"}`),
			"permissions added":    p.signed(w.id, allow, `,"updatedPermissions":[]`),
			"spaces in the digest": strings.Replace(p.signed(w.id, allow, ""), `"signature":"`, `"signature":" `, 1),
		}
		before := g.log.Len()
		for name, body := range bodies {
			r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: p.bearer, body: body})
			if r.status != http.StatusForbidden || !strings.Contains(r.body, "signed") {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		// A public key of its own is no member of the body.
		jwk := mustJSON(p.key.JWK())
		if r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: p.bearer, body: p.signed(w.id, allow, `,"publicKey":`+jwk)}); r.status != http.StatusBadRequest {
			t.Errorf("with a key: %d %s", r.status, r.body)
		}
		synctest.Wait()
		if q := g.get(w.id); q.State != "pending" || g.log.Len() != before {
			t.Errorf("one of them counted: %+v", q)
		}
		metrics := g.call(call{path: "/metrics", token: p.bearer}).body
		if !strings.Contains(metrics, "assent_signatures_refused_total 12\n") {
			t.Errorf("not counted: %s", metrics)
		}
		// The right one still does.
		r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: p.bearer, body: p.signed(w.id, words, `,"message":"no"`)})
		if r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		<-w.reply
	})
}

// A token signs nothing, and a signature that it sends is not recorded.
func TestTokenNeedsNoSignature(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("x")})
		r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.get(w.id).InputSHA256+`","signature":"looks like one"}`)
		if r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		<-w.reply
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: g.tokens[auth.RoleView]}).body
		if strings.Contains(trace, "signature") || strings.Contains(trace, "looks like one") || strings.Contains(trace, "signed") {
			t.Errorf("recorded: %s", trace)
		}
	})
}
