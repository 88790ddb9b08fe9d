package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
)

// guarded runs f with a server that knows danger: commands that begin with rm.
func guarded(t *testing.T, require string, f func(t *testing.T, g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		m := newKeeper(t, kv)
		g := newRig(t, server.Config{
			RequireVerification: func() string { return require },
			Grants:              m.store, Suggest: m.proposer, Rules: m.book.Eval, InForce: m.book.InForce,
			Views: server.Views{Effects: func(r *hook.Request) *hook.Effects {
				if strings.Contains(string(r.ToolInput), `rm oops`) {
					panic("oops")
				}
				if strings.Contains(string(r.ToolInput), `"rm`) {
					return &hook.Effects{Risk: hook.Danger, Effects: []hook.Effect{}}
				}
				return &hook.Effects{Risk: hook.Normal, Effects: []hook.Effect{}}
			}},
		})
		g.saved = kv
		defer func() {
			g.stop()
			_ = m.store.Close()
		}()
		f(t, g)
	})
}

const publicHost = "box.example" // of the rig's public URL

// from makes a call on the page of the public URL.
func (g *rig) from(method, path, token, body string) reply {
	g.t.Helper()
	return g.call(call{method: method, path: path, token: token, body: body, host: publicHost})
}

// enrol has a phone verify its owner from now on.
func (g *rig) enrol(p *phone) *authtest.Authenticator {
	g.t.Helper()
	path := "/v1/devices/" + p.ID + "/verification"
	face := authtest.NewAuthenticator(publicHost, "https://"+publicHost)
	doc := face.Create(decode[struct{ Challenge string }](g.t, g.from("POST", path, p.bearer, "{}").body).Challenge)
	body := `{"credential":` + string(doc) + `,"signature":"` + p.key.Sign(auth.EnrolText(p.ID, doc)) + `"}`
	valid(g.t, "NewVerification", body)
	r := g.from("PUT", path, p.bearer, body)
	if r.status != http.StatusOK {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	valid(g.t, "VerificationState", r.body)
	return face
}

// face is a credential made for a challenge of the phone's.
func face(t *testing.T, g *rig, p *phone) []byte {
	t.Helper()
	options := g.from("POST", "/v1/devices/"+p.ID+"/verification", p.bearer, "{}").body
	return authtest.NewAuthenticator(publicHost, "https://"+publicHost).Create(decode[struct{ Challenge string }](t, options).Challenge)
}

func proofOf(v hook.Verification) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return `,"verification":` + string(b)
}

func (g *rig) allowBy(p *phone, w *waiting, more string) reply {
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: g.get(w.id).InputSHA256}
	return g.decideRaw(p, w, p.signed(w.id, d, more))
}

func (g *rig) decideRaw(p *phone, w *waiting, body string) reply {
	return g.from("POST", "/v1/requests/"+w.id+"/decision", p.bearer, body)
}

func (g *rig) textOf(w *waiting) []byte {
	return auth.DecisionText(w.id, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: g.get(w.id).InputSHA256})
}

// wants says that an allow was refused for want of a verification, and nothing was recorded.
func (g *rig) wants(r reply, w *waiting, words string) {
	g.t.Helper()
	var p api.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != http.StatusForbidden || p.Reason != "verification" || !strings.Contains(p.Detail, words) {
		g.t.Errorf("%d %s, want reason verification and %q", r.status, r.body, words)
	}
	if w != nil && g.get(w.id).State != "pending" {
		g.t.Errorf("it was decided: %+v", g.get(w.id))
	}
}

// TestVerifiedDecision: what is dangerous wants the owner of a device that has turned it on; all else goes
// as before.
func TestVerifiedDecision(t *testing.T) {
	guarded(t, "", func(t *testing.T, g *rig) {
		p, plain := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleApprove, "old phone")
		face := g.enrol(p)
		danger := g.raise(call{unix: true, body: bash("rm -rf build")})
		g.wants(g.allowBy(p, danger, ""), danger, "asks for your face, fingerprint or PIN")
		face.Known = false
		g.wants(g.allowBy(p, danger, proofOf(face.Get(g.textOf(danger)))), danger, "face, fingerprint or PIN")
		face.Known = true
		other := g.raise(call{unix: true, body: bash("rm -rf other")})
		forOther := face.Get(g.textOf(other))
		g.wants(g.allowBy(p, danger, proofOf(forOther)), danger, "for exactly this")
		good := face.Get(g.textOf(danger))
		g.wants(g.allowBy(p, other, proofOf(good)), other, "for exactly this")
		d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: g.get(danger.id).InputSHA256}
		changed := d
		changed.Message = "x"
		// The proof is over the text that is signed, not over another decision about the same.
		r := g.decideRaw(p, danger, p.signed(danger.id, changed, `,"message":"x"`+proofOf(face.Get(g.textOf(danger)))))
		if r.status != http.StatusForbidden && r.status != http.StatusBadRequest {
			t.Errorf("a proof of another text: %d %s", r.status, r.body)
		}
		body := p.signed(danger.id, d, proofOf(face.Get(g.textOf(danger))))
		valid(t, "Decision", body)
		if r := g.decideRaw(p, danger, body); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if a := <-danger.reply; !strings.Contains(a.body, `"behavior":"allow"`) {
			t.Errorf("the agent was told %s", a.body)
		}
		ended := g.call(call{path: "/v1/requests/" + danger.id, token: g.tokens[auth.RoleView]})
		valid(t, "PermissionRequest", ended.body)
		if by := decode[struct{ DecidedBy hook.Approver }](t, ended.body).DecidedBy; !by.Verified || by.Name != "phone" {
			t.Errorf("%+v", by)
		}
		trace := g.call(call{path: "/v1/requests/" + danger.id + "/trace", token: g.tokens[auth.RoleView]}).body
		verified := false
		for _, rec := range decode[[]api.Record](t, trace) {
			if rec.Decision != nil {
				verified = rec.By.Verified && auth.VerifiedDecision(danger.id, *rec.Decision) && rec.Decision.Verification.Credential == face.ID()
			}
		}
		if !verified {
			t.Errorf("the record does not prove it: %s", trace)
		}
		if r := g.decideRaw(p, danger, body); r.status != http.StatusConflict {
			t.Errorf("again: %d %s", r.status, r.body)
		}

		// What asks for nothing: another device, a token, a denial, and what is harmless.
		if r := g.allowBy(plain, other, ""); r.status != http.StatusOK {
			t.Errorf("a device without: %d %s", r.status, r.body)
		}
		<-other.reply
		denied := g.raise(call{unix: true, body: bash("rm x")})
		no := hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: g.get(denied.id).InputSHA256}
		if r := g.decideRaw(p, denied, p.signed(denied.id, no, "")); r.status != http.StatusOK {
			t.Errorf("a denial: %d %s", r.status, r.body)
		}
		<-denied.reply
		harmless := g.raise(call{unix: true, body: bash("ls")})
		if r := g.allowBy(p, harmless, ""); r.status != http.StatusOK {
			t.Errorf("harmless: %d %s", r.status, r.body)
		}
		<-harmless.reply
	})
}

// TestVerifiedIsWhatIsAllowed: an edit into something dangerous, and a change of what the agent may do from
// now on, are as dangerous.
func TestVerifiedIsWhatIsAllowed(t *testing.T) {
	guarded(t, "", func(t *testing.T, g *rig) {
		p := g.paired(auth.RoleApprove, "phone")
		face := g.enrol(p)
		w := g.raise(call{unix: true, body: bash("ls")})
		sum := g.get(w.id).InputSHA256
		for name, c := range map[string]struct {
			d      hook.Decision
			member string
		}{
			"unreadable":  {hook.Decision{UpdatedInput: hook.JSON(`{"command":"rm oops"}`)}, `,"updatedInput":{"command":"rm oops"}`},
			"edited":      {hook.Decision{UpdatedInput: hook.JSON(`{"command":"rm -rf /"}`)}, `,"updatedInput":{"command":"rm -rf /"}`},
			"permissions": {hook.Decision{UpdatedPermissions: hook.JSON(`[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`)}, `,"updatedPermissions":[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`},
		} {
			c.d.Behavior, c.d.InputSHA256 = hook.BehaviorAllow, sum
			r := g.decideRaw(p, w, p.signed(w.id, c.d, c.member))
			if !strings.Contains(r.body, `"reason":"verification"`) {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: sum, UpdatedInput: hook.JSON(`{"command":"rm -rf /"}`)}
		if r := g.decideRaw(p, w, p.signed(w.id, d, `,"updatedInput":{"command":"rm -rf /"}`+proofOf(face.Get(auth.DecisionText(w.id, d))))); r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		<-w.reply
	})
}

// TestVerificationRequired: where the broker wants it, nobody gets by without it but the owner on this
// machine.
func TestVerificationRequired(t *testing.T) {
	for require, harmless := range map[string]int{hook.VerifyDanger: http.StatusOK, hook.VerifyAlways: http.StatusForbidden} {
		t.Run(require, func(t *testing.T) {
			guarded(t, require, func(t *testing.T, g *rig) {
				p, with := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleApprove, "new phone")
				face := g.enrol(with)
				danger := g.raise(call{unix: true, body: bash("rm x")})
				g.wants(g.allowBy(p, danger, ""), danger, "under You, Devices")
				body := `{"behavior":"allow","inputSha256":"` + g.get(danger.id).InputSHA256 + `"}`
				g.wants(g.from("POST", "/v1/requests/"+danger.id+"/decision", g.tokens[auth.RoleAdmin], body), danger, "which a token cannot give")
				// A proof beside a token proves nothing.
				r := g.from("POST", "/v1/requests/"+danger.id+"/decision", g.tokens[auth.RoleAdmin], strings.TrimSuffix(body, "}")+proofOf(face.Get(g.textOf(danger)))+"}")
				if r.status != http.StatusConflict || g.get(danger.id).State != "pending" {
					t.Errorf("a token with a proof: %d %s", r.status, r.body)
				}
				if r := g.allowBy(with, danger, proofOf(face.Get(g.textOf(danger)))); r.status != http.StatusOK {
					t.Errorf("%d %s", r.status, r.body)
				}
				<-danger.reply
				plain := g.raise(call{unix: true, body: bash("ls")})
				if r := g.allowBy(p, plain, ""); r.status != harmless {
					t.Errorf("harmless: %d %s", r.status, r.body)
				}
				no := hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: g.get(plain.id).InputSHA256}
				if harmless != http.StatusOK {
					if r := g.decideRaw(p, plain, p.signed(plain.id, no, "")); r.status != http.StatusOK {
						t.Errorf("a denial: %d %s", r.status, r.body)
					}
				}
				<-plain.reply
			})
		})
	}
}

// TestVerificationOverHTTP: the way of a credential, and who may not walk it.
func TestVerificationOverHTTP(t *testing.T) {
	guarded(t, "", func(t *testing.T, g *rig) {
		p, other := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleAdmin, "laptop")
		path := "/v1/devices/" + p.ID + "/verification"
		before := g.from("GET", path, p.bearer, "")
		valid(t, "VerificationState", before.body)
		if s := decode[api.VerificationState](t, before.body); s.Site != publicHost || s.Why != "" || s.Credential != "" {
			t.Errorf("%+v", s)
		}
		// Under an numeric address it is not offered, and says why.
		byNumber := g.call(call{path: path, token: p.bearer})
		if s := decode[api.VerificationState](t, byNumber.body); s.Site != "" || !strings.Contains(s.Why, "numeric address") {
			t.Errorf("%+v", s)
		}
		if r := g.call(call{method: "POST", path: path, token: p.bearer, body: "{}"}); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"site"`) {
			t.Errorf("%d %s", r.status, r.body)
		}
		local := g.call(call{path: path, token: p.bearer, host: "localhost:7717"})
		if s := decode[api.VerificationState](t, local.body); s.Site != "localhost" {
			t.Errorf("%+v", s)
		}
		for _, method := range []string{"GET", "POST", "PUT"} {
			for _, token := range []string{other.bearer, g.tokens[auth.RoleAdmin]} {
				if r := g.from(method, path, token, `{}`); r.status != http.StatusForbidden {
					t.Errorf("%s by another: %d %s", method, r.status, r.body)
				}
			}
		}
		for _, body := range []string{``, `[]`, `{}`, `{"credential":null}`, `{"credential":"x"}`, `{"credential":{},"name":"x"}`, `{"credential":{},"signature":1}`} {
			if r := g.from("PUT", path, p.bearer, body); r.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
		stolen := face(t, g, p)
		if r := g.from("PUT", path, p.bearer, `{"credential":`+string(stolen)+`,"signature":"`+other.key.Sign(auth.EnrolText(p.ID, stolen))+`"}`); r.status != http.StatusForbidden {
			t.Errorf("not signed by the device: %d %s", r.status, r.body)
		}
		face := g.enrol(p)
		g.signIn(p)
		text := auth.UnenrolText(p.ID, face.ID())
		end := func(token, body string) int { return g.from("DELETE", path, token, body).status }
		signed := `{"signature":"` + p.key.Sign(text) + `"`
		for name, c := range map[string]struct{ token, body string }{
			"unsigned":                     {p.bearer, `{}`},
			"signed, and nobody was there": {p.bearer, signed + `}`},
			"another device":               {other.bearer, `{}`},
			"a token of approve":           {g.tokens[auth.RoleApprove], `{}`},
			"verified for something else":  {p.bearer, signed + proofOf(face.Get([]byte("x"))) + `}`},
			"another authenticator":        {p.bearer, signed + proofOf(authtest.NewAuthenticator(publicHost, "https://"+publicHost).Get(text)) + `}`},
		} {
			if status := end(c.token, c.body); status != http.StatusForbidden {
				t.Errorf("%s: %d", name, status)
			}
		}
		if status := end(p.bearer, signed+proofOf(face.Get(text))+`}`); status != http.StatusNoContent {
			t.Errorf("as it should be: %d", status)
		}
		if status := end(p.bearer, signed+proofOf(face.Get(text))+`}`); status != http.StatusConflict {
			t.Errorf("twice: %d", status)
		}
		g.enrol(p)
		if status := end(g.tokens[auth.RoleAdmin], `{}`); status != http.StatusNoContent {
			t.Errorf("an administrator: %d", status)
		}
	})
}

// TestOwnerIsOnThisMachine: who came through a proxy, or from elsewhere, is not.
func TestOwnerIsOnThisMachine(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		for _, c := range []struct {
			from, header string
			want         bool
		}{
			{"127.0.0.1:5", "", true}, {"[::1]:5", "", true}, {"[::ffff:127.0.0.1]:5", "", true},
			{"10.0.0.5:5", "", false}, {"pipe", "", false}, {"", "", false},
			{"127.0.0.1:5", "X-Forwarded-For", false}, {"127.0.0.1:5", "X-Forwarded-Proto", false}, {"127.0.0.1:5", "Forwarded", false},
		} {
			r, err := http.NewRequest(http.MethodPost, origin, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.RemoteAddr = c.from
			if c.header != "" {
				r.Header.Set(c.header, "for=10.0.0.9")
			}
			if got := g.server.FromHere(r); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
	})
}
