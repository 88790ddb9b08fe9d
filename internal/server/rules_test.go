package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

// rulebook answers by what the command says.
func rulebook(req *hook.Request, input hook.JSON) hook.Verdict {
	v := hook.Verdict{Action: hook.ActionAsk, Reason: "no rule matches", File: "/rules.yaml", Shadow: []hook.Shadow{{Action: hook.ActionAllow, Rule: "tried"}}}
	says := func(word string) bool { return strings.Contains(string(input), word) }
	switch {
	case says("forbidden"):
		v.Action, v.Rule, v.Message, v.Reason = hook.ActionDeny, "no", "use the replica", ""
	case says("silent"):
		v.Action, v.Rule, v.Reason = hook.ActionDeny, "silent", ""
	case says("nameless"):
		v.Action = hook.ActionAllow
	case says("hurry"):
		v.Rule, v.Note, v.Timeout, v.OnTimeout = "hurry", "prod", time.Minute, hook.Deny
	case says("patient"):
		v.Rule, v.Timeout, v.OnTimeout = "patient", 24*time.Hour, hook.Abstain
	case says("fine"), says("question"):
		v.Action, v.Rule, v.Reason = hook.ActionAllow, "fine", ""
	}
	return v
}

func withRules(t *testing.T, f func(t *testing.T, g *rig)) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{Rules: rulebook})
		defer g.stop()
		f(t, g)
	})
}

func (g *rig) pendingCount() int {
	return len(validList(g.t, "PermissionRequest", g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}).body))
}

func TestRuleAllows(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		r := <-g.raise(call{unix: true, body: bash("fine")}).reply
		if r.status != http.StatusOK || r.body != `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}` {
			t.Errorf("the hook gets %d %s", r.status, r.body)
		}
		if got := g.published(); len(got) != 1 {
			t.Errorf("%d events were published, want the request's own", len(got))
		}
	})
}

func TestRuleIsRecordedAsTheApprover(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("forbidden")})
		if r := <-w.reply; !strings.Contains(r.body, `"behavior":"deny","message":"use the replica"`) {
			t.Errorf("the hook gets %s", r.body)
		}
		time.Sleep(time.Second) // virtual: the note of the delivery
		synctest.Wait()
		q := g.get(w.id)
		want := hook.Approver{Kind: "rule", ID: "no", Name: "no", File: "/rules.yaml"}
		if q.Outcome != "denied" || q.Delivery != "delivered" || q.DecidedBy == nil || *q.DecidedBy != want {
			t.Errorf("request %+v", q)
		}
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: g.tokens[auth.RoleView]})
		recs := validList(t, "Record", trace.body)
		if len(recs) != 3 || !strings.Contains(string(recs[0]), `"verdict":{"action":"deny","rule":"no","file":"/rules.yaml","shadow":[{"action":"allow","rule":"tried"}]}`) {
			t.Errorf("records %s", trace.body)
		}
		if m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]}); !strings.Contains(m.body, `assent_decisions_total{kind="rule"} 1`) {
			t.Error("it is not counted")
		}
	})
}

func TestARulesDenialHasWordsAlways(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		if r := <-g.raise(call{unix: true, body: bash("silent")}).reply; !strings.Contains(r.body, "Denied by the rule silent of assent, without asking a person.") {
			t.Errorf("the hook gets %s", r.body)
		}
	})
}

func TestRulesAllowNothingThatCannotBe(t *testing.T) {
	ask := strings.NewReplacer(`"Bash"`, `"AskUserQuestion"`)
	for name, body := range map[string]string{
		"uninspectable":  strings.Replace(bash("fine"), `"command"`, `"Command":"x","command"`, 1),
		"a question":     ask.Replace(bash("question")),
		"no rule's name": bash("nameless"),
	} {
		t.Run(name, func(t *testing.T) {
			withRules(t, func(t *testing.T, g *rig) {
				w := g.raise(call{unix: true, body: body})
				if n := g.pendingCount(); n != 1 {
					t.Fatalf("%d requests wait", n)
				}
				w.cancel()
				<-w.reply
			})
		})
	}
}

func TestRuleShortensTheWait(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		start := time.Now()
		w := g.raise(call{unix: true, body: bash("hurry")})
		r := <-w.reply
		if took := time.Since(start); took != time.Minute || !strings.Contains(r.body, `"behavior":"deny"`) {
			t.Errorf("after %v the hook gets %d %s; want a denial after a minute", took, r.status, r.body)
		}
		if q := g.get(w.id); q.Outcome != "expired" {
			t.Errorf("request %+v", q)
		}
	})
}

func TestRuleDoesNotLengthenTheWait(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		start := time.Now()
		w := g.raise(call{unix: true, body: bash("patient"), header: map[string]string{hook.HeaderRemaining: "100000", hook.HeaderOnTimeout: "deny"}})
		r := <-w.reply
		if took := time.Since(start); took != 98*time.Second || !strings.Contains(r.body, `"behavior":"deny"`) {
			t.Errorf("after %v the hook gets %d %s; want what the hook was told, when it was told", took, r.status, r.body)
		}
	})
}

func TestRuleIsNotShownAsWaiting(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		f := g.follow("")
		defer f.conn.Close()
		f.next()
		w := g.raise(call{unix: true, body: bash("fine")})
		<-w.reply
		for {
			m := f.next()
			for _, c := range m.Changes {
				if c.Request.State != "ended" {
					t.Errorf("shown as %q", c.Request.State)
				}
				if c.Request.Delivery == "delivered" {
					return
				}
			}
		}
	})
}

func TestChangedInputIsEvaluatedAgain(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("ls")})
		sum := g.get(w.id).InputSHA256
		r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sum+`","updatedInput":{"command":"forbidden"}}`)
		p := decode[struct {
			Detail, Reason string
			DecidedBy      *hook.Approver
		}](t, r.body)
		if r.status != http.StatusForbidden || p.Reason != "rule" || p.DecidedBy == nil || p.DecidedBy.ID != "no" ||
			p.Detail != `updatedInput: denied by rule "no" in /rules.yaml: use the replica` {
			t.Errorf("%d %s", r.status, r.body)
		}
		if q := g.get(w.id); q.State != "pending" {
			t.Errorf("request %+v", q)
		}
		// Anything else is the approver's own decision.
		if r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sum+`","updatedInput":{"command":"hurry"}}`); r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := <-w.reply; !strings.Contains(r.body, "hurry") {
			t.Errorf("the hook gets %s", r.body)
		}
	})
}

// book is a rulebook whose state the test changes.
type book struct {
	mu sync.Mutex
	f  hook.InForce
}

func (b *book) inForce() hook.InForce { b.mu.Lock(); defer b.mu.Unlock(); return b.f }
func (b *book) set(f hook.InForce)    { b.mu.Lock(); defer b.mu.Unlock(); b.f = f }

func TestBrokenRulesAreSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{f: hook.InForce{Allowing: true}}
		g := newRig(t, server.Config{Rules: rulebook, InForce: b.inForce})
		defer g.stop()
		f := g.follow("")
		defer f.conn.Close()
		f.next()
		rules := func() string {
			r := g.call(call{path: "/v1/rules", token: g.tokens[auth.RoleView]})
			valid(t, "Rules", r.body)
			return r.body
		}
		if r := rules(); !strings.HasPrefix(r, `{"allowing":true,"problems":[],`) {
			t.Errorf("rules %s", r)
		}
		read := func() string {
			_, m, err := f.conn.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			valid(t, "ws/Message", string(m))
			return string(m)
		}
		b.set(hook.InForce{Problems: []hook.RuleProblem{{File: "/rules.yaml", Line: 3, Column: 1, Message: "unknown key"}}})
		g.server.RulesChanged()
		if m := read(); m != `{"type":"rules","allowing":false,"problems":[{"file":"/rules.yaml","line":3,"column":1,"message":"unknown key"}]}` {
			t.Errorf("message %s", m)
		}
		if r := rules(); !strings.Contains(r, "unknown key") {
			t.Errorf("rules %s", r)
		}
		late := g.follow("")
		defer late.conn.Close()
		late.next()
		if _, m, err := late.conn.ReadMessage(); err != nil || !strings.Contains(string(m), `"allowing":false`) {
			t.Errorf("a page that comes later reads %s, %v", m, err)
		}
		b.set(hook.InForce{Allowing: true})
		g.server.RulesChanged()
		if m := read(); m != `{"type":"rules","allowing":true,"problems":[]}` {
			t.Errorf("message %s", m)
		}
	})
}
