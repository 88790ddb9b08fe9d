package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/api"
	"assent/internal/auth"
)

// What a session changed is asked of the host that is connected; who has no answer says why.
func TestADiffIsAskedOfTheHost(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		get := func(agent string) reply {
			return g.call(call{path: "/v1/agents/" + agent + "/sessions/" + aSession + "/diff", token: g.tokens[auth.RoleView]})
		}
		h, _ := g.host(coder)
		asks := func(a api.HostAnswer) reply {
			t.Helper()
			said := make(chan struct{})
			go func() {
				defer close(said)
				f := h.next()
				if f.Type != api.BrokerAsks || f.Ask == nil || *f.Ask != (api.HostAsk{What: api.AskDiff, Agent: "coder", Session: aSession}) {
					t.Errorf("the host is asked %+v", f)
				}
				h.say(api.HostFrame{Type: api.HostAnswers, ID: "another", Answer: &api.HostAnswer{Status: http.StatusNotFound}})
				h.say(api.HostFrame{Type: api.HostAnswers, ID: f.ID, Answer: &a})
			}()
			r := get("coder")
			<-said
			return r
		}
		good := func() *api.AgentDiff {
			return &api.AgentDiff{Agent: "x", SessionID: "y", Directory: "/srv/shop", Diff: "…", Files: []api.AgentChangedFile{{Path: "a", Status: "added", Added: 1}}}
		}
		r := asks(api.HostAnswer{Status: http.StatusOK, Diff: good()})
		if r.status != http.StatusOK || !strings.Contains(r.body, `"agent":"coder"`) || !strings.Contains(r.body, aSession) {
			t.Errorf("%d %s", r.status, r.body)
		}
		valid(t, "AgentDiff", r.body)
		long, odd := good(), good()
		long.Diff, odd.Files[0].Status = strings.Repeat("x", api.MaxAgentDiff+1), "moved"
		for name, c := range map[string]struct {
			answer api.HostAnswer
			status int
			body   string
		}{
			"no repository": {api.HostAnswer{Status: http.StatusConflict, Detail: "it works in no git repository"}, http.StatusConflict, `"reason":"repository"`},
			"not known":     {api.HostAnswer{Status: http.StatusNotFound}, http.StatusNotFound, ""},
			"a redirection": {api.HostAnswer{Status: http.StatusFound}, http.StatusServiceUnavailable, ""},
			"no diff":       {api.HostAnswer{Status: http.StatusOK}, http.StatusServiceUnavailable, ""},
			"too long":      {api.HostAnswer{Status: http.StatusOK, Diff: long}, http.StatusServiceUnavailable, ""},
			"no status":     {api.HostAnswer{Status: http.StatusOK, Diff: odd}, http.StatusServiceUnavailable, ""},
		} {
			if r := asks(c.answer); r.status != c.status || !strings.Contains(r.body, c.body) {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if r := get("coder"); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "did not answer") {
			t.Errorf("a host that says nothing: %d %s", r.status, r.body)
		}
		if r := get("another"); r.status != http.StatusNotFound {
			t.Errorf("no such agent: %d %s", r.status, r.body)
		}
		_ = h.conn.Close()
		synctest.Wait()
		if r := get("coder"); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "not connected") {
			t.Errorf("a host that is gone: %d %s", r.status, r.body)
		}
	})
}

// Brokers of a cluster ask each other what only the host sees; what they say is believed as little as what a host says.
func TestADiffIsAskedByAnotherBroker(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		get := func() reply {
			return g.call(call{path: "/v1/agents/coder/sessions/" + aSession + "/diff", token: g.tokens[auth.RoleView]})
		}
		h, _ := g.host(coder)
		host := g.answering()
		answers := func(question string) string {
			t.Helper()
			return string(g.answer(host, question))
		}
		for _, question := range []string{"", "{}", `{"what":"shell","agent":"coder","session":"` + aSession + `"}`, `{"what":"diff","agent":"another","session":"` + aSession + `"}`} {
			if got := answers(question); got != `{"status":404}` {
				t.Errorf("%s is answered %s", question, got)
			}
		}
		go func() {
			f := h.next()
			h.say(api.HostFrame{Type: api.HostAnswers, ID: f.ID, Answer: &api.HostAnswer{Status: http.StatusConflict, Detail: "its work tree is gone"}})
		}()
		if got := answers(`{"what":"diff","agent":"coder","session":"` + aSession + `"}`); !strings.Contains(got, "its work tree is gone") {
			t.Errorf("it is answered %s", got)
		}
		_ = h.conn.Close()
		synctest.Wait()
		if g.answering() != "" {
			t.Error("a broker answers for a host that is gone")
		}
		for name, c := range map[string]struct {
			said   string
			err    error
			status int
		}{
			"a diff":    {`{"status":200,"diff":{"directory":"/srv/shop","diff":"x"}}`, nil, http.StatusOK},
			"no answer": {"", errors.New("nobody"), http.StatusServiceUnavailable},
			"no JSON":   {"{", nil, http.StatusServiceUnavailable},
			"no diff":   {`{"status":200}`, nil, http.StatusServiceUnavailable},
			"refused":   {`{"status":409,"detail":"no repository"}`, nil, http.StatusConflict},
			"a login":   {`{"status":401}`, nil, http.StatusServiceUnavailable},
		} {
			g.other = func(asked, question string) (string, error) {
				if asked != host || question != `{"what":"diff","agent":"coder","session":"`+aSession+`"}` {
					t.Errorf("of %q is asked %s", asked, question)
				}
				return c.said, c.err
			}
			if r := get(); r.status != c.status {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
	})
}

// A host is told what to forget until it has, and what it still says of before is not published.
func TestAHostIsToForget(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		h, _ := g.host(coder)
		if err := g.agents.Forget(t.Context(), aSession); err != nil {
			t.Fatal(err)
		}
		if f := h.next(); f.Type != api.BrokerForget || fmt.Sprint(f.Sessions) != "["+aSession+"]" {
			t.Fatalf("%+v", f)
		}
		g.kill()
		h, _ = g.host(coder)
		if f := h.next(); f.Type != api.BrokerForget || fmt.Sprint(f.Sessions) != "["+aSession+"]" {
			t.Fatalf("the next broker says %+v", f)
		}
		told := func() (n int) {
			for _, p := range g.published {
				if strings.HasPrefix(p, "coder.session.") {
					n++
				}
			}
			return n
		}
		event := func(at time.Time) *api.AgentEvent {
			return &api.AgentEvent{SessionID: aSession, Agent: "coder", Kind: api.AgentProgress, Timestamp: at}
		}
		if a := h.does(api.HostFrame{Type: api.HostEvent, ID: "e1", Event: event(time.Now().Add(-time.Minute))}); !a.OK || told() != 0 {
			t.Errorf("what was before: %+v, published %v", a, g.published)
		}
		if a := h.does(api.HostFrame{Type: api.HostEvent, ID: "e2", Event: event(time.Now().Add(time.Second))}); !a.OK || told() != 1 {
			t.Errorf("what it does afterwards: %+v, published %v", a, g.published)
		}
		h.say(api.HostFrame{Type: api.HostForgot, Sessions: []string{aSession}})
		synctest.Wait()
		h.conn.Close()
		h, _ = g.host(coder)
		if a := h.does(api.HostFrame{Type: api.HostEvent, ID: "e3", Event: event(time.Now().Add(-time.Hour))}); !a.OK || told() != 2 {
			t.Errorf("nothing is to be forgotten any more: %+v, published %v", a, g.published)
		}
	})
}
