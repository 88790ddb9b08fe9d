package server_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/text/digest"
)

const wanted = `{"session_id":"s1","cwd":"/p","hook_event_name":"Elicitation","mcp_server_name":"lab","message":"Who?","mode":"form",` +
	`"requested_schema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// watch opens a WebSocket as the page does.
func (g *rig) watch(token string) (closes func()) {
	g.t.Helper()
	conn, _, err := g.socket("", token, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	synctest.Wait()
	return func() {
		_ = conn.Close()
		synctest.Wait()
	}
}

// TestFormIsAnsweredByASignedDecision: what the agent is told is what the device signed for this
// very form, and the broker has held it against the form.
func TestFormIsAnsweredByASignedDecision(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p := g.paired(auth.RoleApprove, "phone")
		defer g.watch(p.bearer)()
		w := g.raise(call{unix: true, body: wanted})
		r := g.call(call{path: "/v1/requests/" + w.id, token: p.bearer})
		valid(t, "PermissionRequest", r.body)
		if !strings.Contains(r.body, `"event":"Elicitation"`) || !strings.Contains(r.body, `"toolInput":{"mcp_server_name":"lab","message":"Who?","mode":"form","requested_schema":`) {
			t.Errorf("the form is %s", r.body)
		}
		decide := func(d hook.Decision, members string) reply {
			return g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: p.bearer, body: p.signed(w.id, d, members)})
		}
		sum := g.get(w.id).InputSHA256
		accept := func(content string) hook.Decision {
			return hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: sum, UpdatedInput: hook.JSON(content)}
		}
		if r := decide(accept(`{"name":"Ada"}`), `,"updatedInput":{"name":"Eve"}`); r.status != http.StatusForbidden {
			t.Errorf("another content than was signed: %d %s", r.status, r.body)
		}
		if r := decide(accept(`{"name":7}`), `,"updatedInput":{"name":7}`); r.status != http.StatusBadRequest || !strings.Contains(r.body, "name is no text") {
			t.Errorf("a number for a text: %d %s", r.status, r.body)
		}
		other := accept(`{"name":"Ada"}`)
		other.InputSHA256 = strings.Repeat("0", 64)
		if r := decide(other, `,"updatedInput":{"name":"Ada"}`); r.status != http.StatusConflict {
			t.Errorf("signed for another form: %d %s", r.status, r.body)
		}
		if r := decide(accept(`{ "name": "Ada" }`), `,"updatedInput":{ "name": "Ada" }`); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if got := <-w.reply; got.status != http.StatusOK || got.body != `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"name":"Ada"}}}` {
			t.Errorf("the hook got %d %s", got.status, got.body)
		}
		valid(t, "ElicitationResponse", string(g.get(w.id).Response))
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: p.bearer}).body
		if n := len(validList(t, "Record", trace)); n < 2 || !strings.Contains(trace, `"signature"`) {
			t.Errorf("the record is %s", trace)
		}
	})
}

// TestFormIsHeldOnlyWhereSomebodyCanAnswer: the agent shows its own form only after the hook.
func TestFormIsHeldOnlyWhereSomebodyCanAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		left := func(why string, c call) {
			t.Helper()
			before := g.log.Len()
			w := g.raise(c)
			select {
			case got := <-w.reply:
				if got.status != http.StatusNoContent {
					t.Errorf("%s: %d %s", why, got.status, got.body)
				}
			default:
				t.Errorf("%s: it is held", why)
				w.cancel()
			}
			if n := g.log.Len() - before; n != 0 {
				t.Errorf("%s: %d records", why, n)
			}
		}
		left("no page", call{unix: true, body: wanted})
		viewer := g.paired(auth.RoleView, "viewer")
		defer g.watch(viewer.bearer)()
		defer g.watch(g.tokens[auth.RoleAdmin])()
		left("one may only look, the other is no page", call{unix: true, body: wanted})
		phone := g.paired(auth.RoleApprove, "phone")
		leaves := g.watch(phone.bearer)
		left("an address", call{unix: true, body: strings.Replace(wanted, `"mode":"form"`, `"mode":"url"`, 1)})
		left("an unknown keyword", call{unix: true, body: strings.Replace(wanted, `"type":"string"`, `"type":"string","pattern":"x"`, 1)})
		left("spooled", call{unix: true, body: wanted, header: map[string]string{hook.HeaderSpooled: "1"}})
		left("told by hookd", call{unix: true, body: wanted, header: map[string]string{hook.HeaderEmitted: "1"}})
		left("an agent without a codec", call{unix: true, body: wanted, header: map[string]string{hook.HeaderAgent: "gemini"}})
		left("a permission prompt tool, which sends no events", call{unix: true, body: wanted, header: map[string]string{hook.HeaderSource: hook.SourceMCP}})
		left("two messages", call{unix: true, body: strings.Replace(wanted, `"message"`, `"Message":"x","message"`, 1)})

		// Nobody answers: it goes back to the agent, whatever the hook was told about requests.
		w := g.raise(call{unix: true, body: wanted, header: map[string]string{hook.HeaderRemaining: "86400000", hook.HeaderOnTimeout: "deny"}})
		time.Sleep(hook.ElicitationWait - time.Second)
		synctest.Wait()
		if q := g.get(w.id); q.State != "pending" {
			t.Errorf("before its time: %+v", q)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := <-w.reply; got.status != http.StatusNoContent || got.body != "" {
			t.Errorf("the hook got %d %s", got.status, got.body)
		}
		if q := g.get(w.id); q.Outcome != "expired" {
			t.Errorf("afterwards: %+v", q)
		}
		leaves()
		left("the page was closed", call{unix: true, body: wanted})
		if n := len(g.published()); n != 10 {
			t.Errorf("%d events published, want every one", n)
		}
	})
}

// TestFormIsSignedWhole: whatever else the event holds, the digest that is signed is that of all of it.
func TestFormIsSignedWhole(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p := g.paired(auth.RoleApprove, "phone")
		defer g.watch(p.bearer)()
		body := strings.Replace(wanted, `"mode"`, `"tool_name":"Bash","tool_input":{"command":"ls"},"mode"`, 1)
		w := g.raise(call{unix: true, body: body})
		if got, want := g.get(w.id).InputSHA256, digest.Of([]byte(body)); got != want {
			t.Errorf("signed is %s, want the event's own %s", got, want)
		}
		w.cancel()
	})
}

// TestNoRuleAnswersAForm: neither one that allows everything nor one that denies it.
func TestNoRuleAnswersAForm(t *testing.T) {
	for _, action := range []hook.Action{hook.ActionAllow, hook.ActionDeny} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, server.Config{Rules: func(*hook.Request, hook.JSON) hook.Verdict { return hook.Verdict{Action: action, Rule: "all"} }})
			defer g.stop()
			p := g.paired(auth.RoleApprove, "phone")
			defer g.watch(p.bearer)()
			w := g.raise(call{unix: true, body: wanted})
			d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: g.get(w.id).InputSHA256, UpdatedInput: hook.JSON(`{"name":"Ada"}`)}
			r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: p.bearer, body: p.signed(w.id, d, `,"updatedInput":{"name":"Ada"}`)})
			if r.status != http.StatusOK {
				t.Errorf("%s: %d %s", action, r.status, r.body)
			}
			<-w.reply
		})
	}
}

// No agent asks its permission prompt tool about a form, and nobody is asked twice about one.
func TestFormComesFromAHook(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p := g.paired(auth.RoleApprove, "phone")
		defer g.watch(p.bearer)()
		r := g.call(call{unix: true, method: http.MethodPost, path: "/v1/hooks", body: wanted, header: map[string]string{hook.HeaderSource: hook.SourceMCP}})
		if r.status != http.StatusNoContent || len(g.published()) != 0 {
			t.Errorf("%d %s, %d events", r.status, r.body, len(g.published()))
		}
	})
}
