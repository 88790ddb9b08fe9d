package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/auth/passkey"
	"assent/internal/hook"
	inforce "assent/internal/policy/files"
	"assent/internal/policy/grants"
	"assent/internal/policy/suggest"
	"assent/internal/server"
	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
)

// keeper is the real rules and what is saved, on a store in memory.
type keeper struct {
	store    *grants.Store
	proposer *suggest.Proposer
	book     *inforce.Book
	standing *suggest.Standing
	past     []suggest.Settled
	dir      string
	host     string
}

func newKeeper(t *testing.T, kv kvmirror.KV) *keeper {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &keeper{dir: filepath.Join(dir, "app"), host: "here"}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if m.store, err = grants.Open(context.Background(), grants.Config{KV: kv, Logf: t.Logf}); err != nil {
		t.Fatal(err)
	}
	m.book = inforce.Open(inforce.Config{Home: dir, Host: m.host, Saved: m.store.Sources, Outstanding: m.store.Outstanding})
	m.proposer = suggest.NewProposer(m.book, nil)
	m.standing = suggest.NewStanding(m.book, func(_ context.Context, visit func(suggest.Settled) bool) error {
		for _, s := range m.past {
			if !visit(s) {
				break
			}
		}
		return nil
	})
	m.store.Notify(func() { m.book.Reload(); m.standing.RulesChanged() })
	t.Cleanup(func() { _ = m.store.Close() })
	return m
}

// here says that a request comes from this machine.
func (m *keeper) here(r hook.Request) hook.Request {
	r.CWD, r.Host, r.ProjectDir = m.dir, m.host, m.dir
	return r
}

// withMemory runs f with a server that saves rules.
func withMemory(t *testing.T, f func(t *testing.T, g *rig, m *keeper)) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		m := newKeeper(t, kv)
		g := newRig(t, server.Config{Grants: m.store, Suggest: m.proposer, Suggested: m.standing, Rules: m.book.Eval, InForce: m.book.InForce})
		g.saved = kv
		defer func() {
			g.stop()
			_ = m.store.Close()
		}()
		f(t, g, m)
	})
}

// raises raises a request for a command in the project.
func (m *keeper) raises(g *rig, command string) *waiting {
	body := strings.Replace(bash(command), "/home/dev/project", m.dir, 1)
	return g.raise(call{unix: true, body: body, header: map[string]string{hook.HeaderHost: m.host, hook.HeaderProjectDir: m.dir}})
}

func (g *rig) proposals(id string) hook.Proposals {
	g.t.Helper()
	r := g.call(call{path: "/v1/requests/" + id + "/proposals", token: g.tokens[auth.RoleView]})
	if r.status != http.StatusOK {
		g.t.Fatalf("proposals of %s: %d %s", id, r.status, r.body)
	}
	valid(g.t, "Proposals", r.body)
	return decode[hook.Proposals](g.t, r.body)
}

// save posts the first proposal of a request, with more members.
func (g *rig) save(kind, id, token string, more fields) reply {
	g.t.Helper()
	p := g.proposals(id)
	if len(p.Proposals) == 0 {
		g.t.Fatalf("no proposal for %s: %s", id, p.Reason)
	}
	body := fields{"requestId": id, "inputSha256": g.get(id).InputSHA256, "proposal": p.Proposals[0].Digest}
	for k, v := range more {
		body[k] = v
	}
	r := g.call(call{method: "POST", path: "/v1/" + kind + "s", token: token, body: mustJSON(body)})
	if r.status == http.StatusCreated {
		valid(g.t, "Saved", r.body)
	}
	return r
}

type savedDoc struct {
	ID, Kind, State, RequestID, Sentence string
	By                                   hook.Approver
	Count, Spent, Matches                int
	Signature                            string
}

const yes = `"behavior":"allow"`

func (g *rig) asks(w *waiting) bool {
	g.t.Helper()
	synctest.Wait()
	waits := g.get(w.id).State == "pending"
	w.cancel()
	<-w.reply
	synctest.Wait()
	return waits
}

func TestARuleFromARequest(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w := m.raises(g, "mytool x")
		r := g.save("rule", w.id, g.tokens[auth.RoleApprove], nil)
		if r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		x := decode[savedDoc](t, r.body)
		g.decide(w.id, `{`+yes+`,"inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
		<-w.reply
		next := m.raises(g, "mytool x")
		if got := <-next.reply; !strings.Contains(got.body, yes) {
			t.Errorf("the next equal request: %d %s", got.status, got.body)
		}
		if !g.asks(m.raises(g, "mytool y")) || !g.asks(m.raises(g, "mytool x; rm -rf ~")) {
			t.Error("another command is answered, too")
		}
		q := g.get(next.id)
		if q.DecidedBy == nil || q.DecidedBy.Kind != hook.KindRule || q.DecidedBy.ID != x.ID {
			t.Errorf("decided by %+v", q.DecidedBy)
		}
		trace := g.call(call{path: "/v1/requests/" + next.id + "/trace", token: g.tokens[auth.RoleView]}).body
		if !strings.Contains(trace, `"saved":["`+x.ID+`"]`) {
			t.Errorf("the record does not say what it rests on: %s", trace)
		}
		all := g.call(call{path: "/v1/rules", token: g.tokens[auth.RoleView]}).body
		valid(t, "Rules", all)
		list := decode[struct{ Saved []savedDoc }](t, all).Saved
		if len(list) != 1 || list[0].Matches != 1 || list[0].State != "active" || list[0].By.Kind != "token" || list[0].RequestID != w.id {
			t.Errorf("listed as %+v", list)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/grants/" + x.ID, token: g.tokens[auth.RoleApprove]}); r.status != http.StatusNotFound {
			t.Errorf("a rule revoked as a grant: %d", r.status)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/rules/" + x.ID, token: g.tokens[auth.RoleApprove]}); r.status != http.StatusNoContent {
			t.Errorf("revoke: %d %s", r.status, r.body)
		}
		if !g.asks(m.raises(g, "mytool x")) {
			t.Error("what was revoked still answers")
		}
		if r := g.call(call{method: "DELETE", path: "/v1/rules/" + x.ID, token: g.tokens[auth.RoleApprove]}); r.status != http.StatusNotFound {
			t.Errorf("revoke again: %d", r.status)
		}
	})
}

func TestAGrantEnds(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w := m.raises(g, "mytool x")
		end := time.Now().Add(15 * time.Minute)
		if r := g.save("grant", w.id, g.tokens[auth.RoleApprove], fields{"expiresAt": end.Format(time.RFC3339Nano)}); r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		w.cancel()
		<-w.reply
		time.Sleep(time.Until(end) - 1)
		if got := <-m.raises(g, "mytool x").reply; !strings.Contains(got.body, yes) {
			t.Errorf("just before its end: %s", got.body)
		}
		time.Sleep(time.Until(end))
		if !g.asks(m.raises(g, "mytool x")) {
			t.Error("at its end it still answers")
		}

		w = m.raises(g, "mytool y")
		if r := g.save("grant", w.id, g.tokens[auth.RoleApprove], fields{"count": 2}); r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		w.cancel()
		<-w.reply
		for range 2 {
			if got := <-m.raises(g, "mytool y").reply; !strings.Contains(got.body, yes) {
				t.Errorf("while it counts: %s", got.body)
			}
		}
		if !g.asks(m.raises(g, "mytool y")) {
			t.Error("a third time it still answers")
		}
		states := map[string]int{}
		for _, doc := range validList(t, "Saved", g.call(call{path: "/v1/grants", token: g.tokens[auth.RoleView]}).body) {
			states[decode[savedDoc](t, string(doc)).State]++
		}
		if states["expired"] != 1 || states["spent"] != 1 || len(states) != 2 {
			t.Errorf("states %v", states)
		}
	})
}

// TestACountIsNotSpentTwice: a hook that comes back, before or after its answer, costs nothing.
func TestACountIsNotSpentTwice(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w := m.raises(g, "mytool x")
		g.save("grant", w.id, g.tokens[auth.RoleApprove], fields{"count": 2})
		w.cancel()
		<-w.reply
		id := "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
		body := strings.Replace(bash("mytool x"), "/home/dev/project", m.dir, 1)
		for n := range 4 {
			r := <-g.raise(call{unix: true, body: body, header: map[string]string{
				hook.HeaderHost: m.host, hook.HeaderProjectDir: m.dir, hook.HeaderRequestID: id, hook.HeaderAttempt: fmt.Sprint(n + 1),
			}}).reply
			if !strings.Contains(r.body, yes) {
				t.Errorf("time %d: %d %s", n, r.status, r.body)
			}
		}
		if l := m.store.List(hook.SavedGrant); len(l[0].Spent) != 1 {
			t.Errorf("spent on %v", l[0].Spent)
		}
		var all sync.WaitGroup // many at a time: one more gets it
		var mu sync.Mutex
		got := 0
		ws := make([]*waiting, 6)
		for i := range ws {
			ws[i] = m.raises(g, "mytool x")
		}
		for _, w := range ws {
			all.Go(func() {
				select {
				case r := <-w.reply:
					mu.Lock()
					if strings.Contains(r.body, yes) {
						got++
					}
					mu.Unlock()
				case <-time.After(time.Minute):
					w.cancel()
					<-w.reply
				}
			})
		}
		all.Wait()
		if got != 1 {
			t.Errorf("%d more were allowed, want 1", got)
		}
	})
}

// TestKilledBetweenCountAndAnswer: the last count was spent on a request whose broker was killed
// before it answered. When its hook comes back it is allowed; nobody else is.
func TestKilledBetweenCountAndAnswer(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w := m.raises(g, "mytool x")
		x := decode[savedDoc](t, g.save("grant", w.id, g.tokens[auth.RoleApprove], fields{"count": 1}).body)
		w.cancel()
		<-w.reply
		id := "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
		if err := m.store.Use(context.Background(), id, []string{x.ID}); err != nil {
			t.Fatal(err)
		}
		if !g.asks(m.raises(g, "mytool x")) {
			t.Error("another request is allowed, too")
		}
		body := strings.Replace(bash("mytool x"), "/home/dev/project", m.dir, 1)
		r := <-g.raise(call{unix: true, body: body, header: map[string]string{hook.HeaderHost: m.host, hook.HeaderProjectDir: m.dir, hook.HeaderRequestID: id, hook.HeaderAttempt: "2"}}).reply
		if !strings.Contains(r.body, yes) {
			t.Errorf("the one that it was spent on: %d %s", r.status, r.body)
		}
	})
}

// TestNoRecordNoAllow: while nobody can look what was saved up, a person is asked.
func TestNoRecordNoAllow(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w := m.raises(g, "mytool x")
		g.save("rule", w.id, g.tokens[auth.RoleApprove], nil)
		w.cancel()
		<-w.reply
		g.saved.SetDown(errors.New("away"))
		w = m.raises(g, "mytool x")
		time.Sleep(3 * time.Second)
		if !g.asks(w) {
			t.Error("it was answered although nobody could look")
		}
		if r := g.call(call{method: "DELETE", path: "/v1/rules/" + m.store.List("rule")[0].ID, token: g.tokens[auth.RoleApprove]}); r.status < 500 {
			t.Errorf("revoke: %d", r.status)
		}
	})
}

func TestWhatCannotBeSaved(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		w, other := m.raises(g, "mytool x"), m.raises(g, "mytool y")
		token := g.tokens[auth.RoleApprove]
		soon := time.Now().Add(time.Minute).Format(time.RFC3339)
		for _, tt := range []struct {
			name, kind string
			more       fields
			want       int
			field      string
		}{
			{"a proposal of another request", "rule", fields{"proposal": g.proposals(other.id).Proposals[0].Digest}, 409, `"reason":"proposal"`},
			{"another request", "rule", fields{"requestId": other.id, "inputSha256": g.get(other.id).InputSHA256}, 409, `"reason":"proposal"`},
			{"no such request", "rule", fields{"requestId": "6ba7b810-9dad-11d1-80b4-00c04fd430c9"}, 404, ""},
			{"another input", "rule", fields{"inputSha256": strings.Repeat("0", 64)}, 409, `"reason":"digest"`},
			{"a rule of one's own", "rule", fields{"rule": "- action: allow"}, 400, `"field":"rule"`},
			{"a rule with an end", "rule", fields{"count": 3}, 400, `"field":"count"`},
			{"an approver of one's own", "rule", fields{"by": fields{"kind": "owner-cli"}}, 400, `"field":"by"`},
			{"a grant without an end", "grant", nil, 400, `"field":"expiresAt"`},
			{"a grant for no request", "grant", fields{"count": -1}, 400, `"field":"count"`},
			{"a grant for too many", "grant", fields{"count": 101}, 400, `"field":"count"`},
			{"a grant for half a request", "grant", fields{"count": 1.5}, 400, `"field":"count"`},
			{"a grant that is over", "grant", fields{"expiresAt": time.Now().Format(time.RFC3339Nano)}, 400, `"field":"expiresAt"`},
			{"a grant for ever", "grant", fields{"expiresAt": "9999-01-01T00:00:00Z"}, 400, `"field":"expiresAt"`},
			{"a grant until words", "grant", fields{"expiresAt": "tomorrow", "count": 1}, 400, `"field":"expiresAt"`},
			{"a null", "grant", fields{"expiresAt": nil, "count": 1}, 400, `"field":"expiresAt"`},
			{"an id of a grant", "grant", fields{"id": "grant-x", "expiresAt": soon}, 400, `"field":"id"`},
		} {
			if r := g.save(tt.kind, w.id, token, tt.more); r.status != tt.want || !strings.Contains(r.body, tt.field) {
				t.Errorf("%s: %d %s", tt.name, r.status, r.body)
			}
		}
		if n := len(g.saved.Values()); n != 0 {
			t.Errorf("%d are saved", n)
		}
		for _, command := range []string{"bash x.sh", "npx x", "mytool $x", "eval x", "mytool\u202e x", "sudo mytool", "./x", "rm -rf ~"} {
			v := m.raises(g, command)
			if p := g.proposals(v.id); len(p.Proposals) != 0 || p.Reason == "" {
				t.Errorf("%q: %+v", command, p)
			}
		}
		strange := g.raise(call{unix: true, body: strings.Replace(strings.Replace(bash("x"), "/home/dev/project", m.dir, 1), `"command"`, `"Command":"ls","command"`, 1), header: map[string]string{hook.HeaderHost: m.host}})
		if p := g.proposals(strange.id); len(p.Proposals) != 0 {
			t.Errorf("a request that can be read in two ways: %+v", p)
		}
	})
}

// What has a device verify its owner wants that for rules and grants too, over what is saved.
func TestVerifiedSaving(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		p := g.paired(auth.RoleApprove, "phone")
		face := g.enrol(p)
		w := m.raises(g, "mytool x")
		digest, sum := g.proposals(w.id).Proposals[0].Digest, g.get(w.id).InputSHA256
		text := func(count int) []byte {
			return auth.AlwaysText(w.id, sum, digest, hook.SavedGrant, "", count)
		}
		save := func(more fields) reply {
			more["count"], more["signature"] = 3, p.key.Sign(text(3))
			return g.save("grant", w.id, p.bearer, more)
		}
		g.wants(save(fields{}), nil, "before saving a rule or a grant")
		g.wants(save(fields{"verification": face.Get(text(100))}), nil, "for exactly this")
		proof := face.Get(text(3))
		if r := save(fields{"verification": proof}); r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		x := m.store.List("grant")[0]
		if !x.By.Verified || x.Verification == nil || !passkey.Fits(text(3), *x.Verification) {
			t.Errorf("kept as %+v", x)
		}
	})
}

// A device's bearer alone saves nothing; its key does, over what is saved.
func TestADeviceSignsWhatItSaves(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		p, other := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleApprove, "other")
		w := m.raises(g, "mytool x")
		digest, sum := g.proposals(w.id).Proposals[0].Digest, g.get(w.id).InputSHA256
		end := time.Now().Add(time.Hour).Format(time.RFC3339)
		sign := func(d *phone, kind, expires string, count int) string {
			return d.key.Sign(auth.AlwaysText(w.id, sum, digest, kind, expires, count))
		}
		for name, signature := range map[string]string{
			"none": "", "of another device": sign(other, "grant", end, 3), "for a rule": sign(p, "rule", end, 3),
			"for another time": sign(p, "grant", "", 3), "for another count": sign(p, "grant", end, 1),
			"of a decision": p.key.Sign(auth.DecisionText(w.id, hook.Decision{Behavior: "allow", InputSHA256: sum})),
		} {
			r := g.save("grant", w.id, p.bearer, fields{"expiresAt": end, "count": 3, "signature": signature})
			if r.status != http.StatusForbidden || !strings.Contains(r.body, "signed") {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if n := len(g.saved.Values()); n != 0 {
			t.Errorf("%d are saved", n)
		}
		r := g.save("grant", w.id, p.bearer, fields{"expiresAt": end, "count": 3, "signature": sign(p, "grant", end, 3)})
		if r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		x := m.store.List("grant")[0]
		signed := func() bool { // as the record itself tells
			return authtest.Verify(*x.PublicKey, auth.AlwaysText(x.RequestID, x.InputSHA256, x.Digest, x.Kind, x.Bounds, x.Count), x.Signature)
		}
		if x.By.Name != "phone" || x.PublicKey == nil || *x.PublicKey != p.key.JWK() || !signed() {
			t.Errorf("kept as %+v", x)
		}
		x.Count = 100
		if signed() {
			t.Error("what was changed in the record verifies")
		}
		// Ending it takes no key.
		if r := g.call(call{method: "DELETE", path: "/v1/grants/" + x.ID, token: p.bearer}); r.status != http.StatusNoContent {
			t.Errorf("revoke: %d", r.status)
		}
	})
}

// A signature, which everybody with the role view can read, saves one thing once: with a stolen
// bearer it neither doubles a count nor brings back what was revoked.
func TestASignatureServesOnce(t *testing.T) {
	withMemory(t, func(t *testing.T, g *rig, m *keeper) {
		p := g.paired(auth.RoleApprove, "phone")
		w := m.raises(g, "mytool x")
		digest, sum := g.proposals(w.id).Proposals[0].Digest, g.get(w.id).InputSHA256
		save := func(kind string, count int) reply {
			body := fields{"requestId": w.id, "inputSha256": sum, "proposal": digest, "signature": p.key.Sign(auth.AlwaysText(w.id, sum, digest, kind, "", count))}
			if count > 0 {
				body["count"] = count
			}
			return g.call(call{method: "POST", path: "/v1/" + kind + "s", token: p.bearer, body: mustJSON(body)})
		}
		for kind, count := range map[string]int{"rule": 0, "grant": 3} {
			if r := save(kind, count); r.status != http.StatusCreated {
				t.Fatalf("%s: %d %s", kind, r.status, r.body)
			}
			save(kind, count)
			if n := len(m.store.List(kind)); n != 1 {
				t.Errorf("%s: %d are saved", kind, n)
			}
			g.call(call{method: "DELETE", path: "/v1/" + kind + "s/" + m.store.List(kind)[0].ID, token: p.bearer})
			if r := save(kind, count); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"proposal"`) {
				t.Errorf("%s, sent again after it was revoked: %d %s", kind, r.status, r.body)
			}
		}
		if !g.asks(w) || !g.asks(m.raises(g, "mytool x")) {
			t.Error("what was revoked answers")
		}
	})
}
