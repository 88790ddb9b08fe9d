package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
)

func TestDecisionBody(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("x")})
		sum := g.get(w.id).InputSHA256
		tests := []struct{ name, body, field string }{
			{"empty", ``, ""},
			{"not JSON", `allow`, ""},
			{"a list", `[]`, ""},
			{"text behind", `{"behavior":"allow","inputSha256":"$"}x`, ""},
			{"two objects", `{"behavior":"allow","inputSha256":"$"}{}`, ""},
			{"invalid UTF-8", "{\"behavior\":\"deny\",\"inputSha256\":\"$\",\"message\":\"\xff\"}", ""},
			{"nothing", `{}`, "behavior"},
			{"no behavior", `{"inputSha256":"$"}`, "behavior"},
			{"unknown behavior", `{"behavior":"maybe","inputSha256":"$"}`, "behavior"},
			{"Allow", `{"behavior":"Allow","inputSha256":"$"}`, "behavior"},
			{"null", `{"behavior":null,"inputSha256":"$"}`, "behavior"},
			{"another case", `{"Behavior":"allow","inputSha256":"$"}`, "Behavior"},
			{"twice", `{"behavior":"deny","inputSha256":"$","behavior":"allow"}`, "behavior"},
			{"no digest", `{"behavior":"allow"}`, "inputSha256"},
			{"short digest", `{"behavior":"allow","inputSha256":"abc"}`, "inputSha256"},
			{"upper-case digest", `{"behavior":"allow","inputSha256":"` + strings.ToUpper(sum) + `"}`, "inputSha256"},
			{"unknown field", `{"behavior":"allow","inputSha256":"$","force":true}`, "force"},
			{"message of another type", `{"behavior":"deny","inputSha256":"$","message":1}`, "message"},
			{"long message", `{"behavior":"deny","inputSha256":"$","message":"` + strings.Repeat("x", 64<<10+1) + `"}`, "message"},
			{"interrupt of another type", `{"behavior":"deny","inputSha256":"$","interrupt":"yes"}`, "interrupt"},
			{"input of another type", `{"behavior":"allow","inputSha256":"$","updatedInput":"x"}`, "updatedInput"},
			{"permissions of another type", `{"behavior":"allow","inputSha256":"$","updatedPermissions":{}}`, "updatedPermissions"},
			{"unknown permission", `{"behavior":"allow","inputSha256":"$","updatedPermissions":[{"type":"x"}]}`, "updatedPermissions[0]"},
			{"message with allow", `{"behavior":"allow","inputSha256":"$","message":"x"}`, "message"},
			{"input with deny", `{"behavior":"deny","inputSha256":"$","updatedInput":{}}`, "updatedInput"},
		}
		for _, tt := range tests {
			r := g.decide(w.id, strings.ReplaceAll(tt.body, "$", sum))
			p := decode[struct {
				Field  string
				Errors []struct{ Field, Problem string }
			}](t, r.body)
			named := p.Field == tt.field
			for _, e := range p.Errors {
				named = named || e.Field == tt.field
			}
			if r.status != http.StatusBadRequest || !named {
				t.Errorf("%s: %d %s", tt.name, r.status, r.body)
			}
		}
		if r := g.decide(w.id, strings.Repeat(" ", 4<<20+1)); r.status != http.StatusRequestEntityTooLarge {
			t.Errorf("too large: %d", r.status)
		}
		if q := g.get(w.id); q.State != "pending" {
			t.Errorf("one of them counted: %+v", q)
		}
		g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sum+`"}`)
		<-w.reply
	})
}

func TestDecisionConflicts(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("x")})
		sum := g.get(w.id).InputSHA256
		type conflict struct {
			Outcome, Reason string
			DecidedBy       *hook.Approver
		}
		other := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+strings.Repeat("0", 64)+`"}`)
		if c := decode[conflict](t, other.body); other.status != http.StatusConflict || c.Reason != "digest" {
			t.Errorf("another input: %d %s", other.status, other.body)
		}
		// The record is away: nothing is decided, and the hook goes on waiting.
		g.log.Down(true)
		if r := g.decide(w.id, `{"behavior":"deny","inputSha256":"`+sum+`"}`); r.status != http.StatusServiceUnavailable {
			t.Errorf("record away: %d %s", r.status, r.body)
		}
		g.log.Down(false)
		if q := g.get(w.id); q.State != "pending" {
			t.Fatalf("%+v", q)
		}
		// Eight race; one wins and the others hear who.
		replies := make([]reply, 8)
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() { replies[i] = g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sum+`"}`) })
		}
		wg.Wait()
		won := 0
		for _, r := range replies {
			switch c := decode[conflict](t, r.body); {
			case r.status == http.StatusOK:
				won++
			case r.status != http.StatusConflict || c.Outcome != "allowed" || c.Reason != "ended" || c.DecidedBy == nil || c.DecidedBy.Name != "approve":
				t.Errorf("a loser got %d %s", r.status, r.body)
			}
		}
		if won != 1 {
			t.Errorf("%d won", won)
		}
		if r := <-w.reply; r.body != allowed {
			t.Errorf("the hook got %s", r.body)
		}
		if r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sum+`","message":"x"}`); r.status != http.StatusConflict {
			t.Errorf("a form the agent would not take, for a request that is over: %d %s", r.status, r.body)
		}
		gone := g.raise(call{unix: true, body: bash("y")})
		gone.cancel()
		<-gone.reply
		synctest.Wait()
		r := g.decide(gone.id, `{"behavior":"allow","inputSha256":"`+g.get(gone.id).InputSHA256+`"}`)
		if c := decode[conflict](t, r.body); r.status != http.StatusConflict || c.Outcome != "withdrawn" || c.DecidedBy != nil {
			t.Errorf("withdrawn: %d %s", r.status, r.body)
		}
		for _, id := range []string{"x", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "..", "%00"} {
			r := g.decide(id, `{"behavior":"allow","inputSha256":"`+sum+`"}`)
			if r.status != http.StatusNotFound {
				t.Errorf("id %q: %d", id, r.status)
			}
		}
	})
}

func TestRequestJSON(t *testing.T) {
	payload := func(input string) string {
		return `{"session_id":"s1","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":` + input + `}`
	}
	bubble(t, func(t *testing.T, g *rig) {
		raise := func(body string) requestDoc {
			return g.get(g.raise(call{unix: true, body: body}).id)
		}
		bad := payload("{\"command\":\"ls \xff\"}")
		q := raise(bad)
		if q.Raw != "" || string(q.RawBase64) != bad || q.ToolInput != nil || q.Uninspectable == "" || q.Shown == nil {
			t.Errorf("invalid UTF-8: %+v", q)
		}
		twice := raise(payload(`{"command":"rm -rf ~","COMMAND":"ls"}`))
		if twice.Uninspectable == "" || !strings.Contains(fmt.Sprint(twice.Shown.Fields), "rm -rf ~") {
			t.Errorf("case-varied: %+v", twice)
		}
		large := payload(`{"command":"` + strings.Repeat("x", 40<<10) + `"}`)
		whole := raise(large)
		if whole.Partial || whole.Shown == nil || len(whole.ToolInput) < 40<<10 || whole.Raw != large {
			t.Errorf("the whole of a large one: partial=%v shown=%v", whole.Partial, whole.Shown != nil)
		}
		list := validList(t, "PermissionRequest", g.call(call{path: "/v1/requests?state=pending", token: g.tokens[auth.RoleView]}).body)
		if len(list) != 3 {
			t.Fatalf("%d requests", len(list))
		}
		for i, want := range []string{q.ID, twice.ID, whole.ID} {
			got := decode[requestDoc](t, string(list[i]))
			if got.ID != want || got.Raw != "" || got.RawBase64 != nil {
				t.Errorf("list[%d]: %s raw %q", i, got.ID, got.Raw)
			}
			if partial := i == 2; got.Partial != partial || (got.Shown == nil) != partial {
				t.Errorf("list[%d]: partial %v, shown %v", i, got.Partial, got.Shown != nil)
			}
		}
		trace := g.call(call{path: "/v1/requests/" + q.ID + "/trace", token: g.tokens[auth.RoleView]})
		if len(validList(t, "Record", trace.body)) != 1 {
			t.Errorf("trace: %s", trace.body)
		}
	})
}

func TestListsPage(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		var ids []string
		for i := range 5 {
			ids = append(ids, g.raise(call{unix: true, body: bash(fmt.Sprint(i))}).id)
		}
		list := func(query string) []string {
			t.Helper()
			r := g.call(call{path: "/v1/requests" + query, token: g.tokens[auth.RoleView]})
			if r.status != http.StatusOK {
				t.Fatalf("%s: %d %s", query, r.status, r.body)
			}
			var got []string
			for _, e := range validList(t, "PermissionRequest", r.body) {
				got = append(got, decode[requestDoc](t, string(e)).ID)
			}
			return got
		}
		same := func(got, want []string) {
			t.Helper()
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		same(list(""), ids)
		same(list("?limit=2"), ids[:2])
		same(list("?limit=2&after="+ids[1]), ids[2:4])
		same(list("?after="+ids[4]), nil)
		same(list("?state=ended"), nil)
		for _, id := range ids { // oldest first, and delivered records come between
			g.decide(id, `{"behavior":"deny","inputSha256":"`+g.get(id).InputSHA256+`"}`)
			time.Sleep(time.Second)
		}
		newest := []string{ids[4], ids[3], ids[2], ids[1], ids[0]}
		same(list("?state=ended"), newest)
		var paged []string
		for after := ""; ; {
			p := list("?state=ended&limit=2" + after)
			if len(p) == 0 {
				break
			}
			if paged = append(paged, p...); len(paged) > 5 {
				break
			}
			after = "&after=" + p[len(p)-1]
		}
		same(paged, newest)
		// Each is found by its number, in whatever state, and has the same one everywhere.
		for _, id := range ids {
			var r struct{ Number uint64 }
			if err := json.Unmarshal([]byte(g.call(call{path: "/v1/requests/" + id, token: g.tokens[auth.RoleView]}).body), &r); err != nil || r.Number == 0 {
				t.Fatalf("number of %s: %d, %v", id, r.Number, err)
			}
			same(list(fmt.Sprintf("?number=%d", r.Number)), []string{id})
		}
		same(list("?number=999999"), nil)
		for _, q := range []string{"?number=0", "?number=x", "?number=", "?number=-1", "?state=x", "?limit=0", "?limit=-1", "?limit=x", "?after=x", "?after=" + ids[0], "?state=ended&after=x"} {
			if r := g.call(call{path: "/v1/requests" + q, token: g.tokens[auth.RoleView]}); r.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", q, r.status, r.body)
			}
		}
	})
}

func TestSessions(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		r := g.call(call{path: "/v1/sessions", token: g.tokens[auth.RoleView]})
		if strings.TrimSpace(r.body) != "[]" {
			t.Errorf("none: %s", r.body)
		}
		odd := "a/b ü%2F"
		body, err := json.Marshal(map[string]any{"session_id": odd, "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": map[string]string{}})
		if err != nil {
			t.Fatal(err)
		}
		g.raise(call{unix: true, body: string(body)})
		g.raise(call{unix: true, body: bash("x"), header: map[string]string{hook.HeaderRequestID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", hook.HeaderHost: "box", hook.HeaderRepoBranch: "main"}})
		list := validList(t, "SessionInfo", g.call(call{path: "/v1/sessions", token: g.tokens[auth.RoleView]}).body)
		if len(list) != 2 {
			t.Fatalf("%d sessions", len(list))
		}
		one := g.call(call{path: "/v1/sessions/s1", token: g.tokens[auth.RoleView]})
		valid(t, "SessionInfo", one.body)
		got := decode[struct {
			SessionID, CWD, Host string
			QueueCount           int
			Repo                 hook.Repo
		}](t, one.body)
		if got.SessionID != "s1" || got.QueueCount != 1 || got.Host != "box" || got.Repo.Branch != "main" || got.CWD != "/home/dev/project" {
			t.Errorf("%+v", got)
		}
		if r := g.call(call{path: "/v1/sessions/a%2Fb%20%C3%BC%252F", token: g.tokens[auth.RoleView]}); r.status != http.StatusOK {
			t.Errorf("a session with an odd name: %d", r.status)
		}
	})
}
