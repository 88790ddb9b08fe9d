package server_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

// newToken makes one more token of role submit.
func (g *rig) newToken(name string) (secret, id string) {
	g.t.Helper()
	secret, token, err := g.auth.CreateToken(context.Background(), auth.RoleSubmit, name, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	return secret, token.ID
}

// Who brought an event is what the broker found out, on the stream and in the record, whatever the
// event says of itself.
func TestSubmitterIsTheBrokersFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{HostID: "h1"})
		defer g.stop()
		claims := map[string]string{hook.HeaderSubmitter: "token:another", hook.HeaderHost: "h2"}
		secret, id := g.newToken("b")
		local := server.Local(uint32(os.Getuid()), "h1") // a pipe does not say whose it is
		for i, tt := range []struct {
			c    call
			want string
		}{{call{unix: true}, local}, {call{unix: true, token: secret}, local}, {call{token: secret}, "token:" + id}, {call{token: g.tokens[auth.RoleSubmit]}, "token:" + g.ids[auth.RoleSubmit]}} {
			tt.c.body, tt.c.header = bash("x"), map[string]string{hook.HeaderRequestID: uuid.NewString()}
			for k, v := range claims {
				tt.c.header[k] = v
			}
			w := g.raise(tt.c)
			if got := g.published()[i].Submitter; got != tt.want {
				t.Errorf("%d: the event is %s's, want %s", i, got, tt.want)
			}
			recs, err := g.log.Records(t.Context(), w.id)
			if err != nil || len(recs) != 1 || recs[0].Request.Submitter != tt.want {
				t.Errorf("%d: %v %+v", i, err, recs)
			}
			if r := g.call(call{path: "/v1/requests/" + w.id, token: g.tokens[auth.RoleView]}); !strings.Contains(r.body, `"submitter":"`+tt.want+`"`) {
				t.Errorf("%d: %s", i, r.body)
			}
		}
	})
}

// The answer is for the hook that asked. Its secret is kept as a hash, and shown to nobody.
func TestReattachNeedsTheSecret(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		id, secret := uuid.NewString(), strings.Repeat("5ec7e7", 10)
		c := func(secret string) call {
			h := map[string]string{hook.HeaderRequestID: id, hook.HeaderAttempt: "2"}
			if secret != "" {
				h[hook.HeaderReattachSecret] = secret
			}
			return call{method: "POST", path: "/v1/hooks", token: g.tokens[auth.RoleSubmit], body: bash("x"), header: h}
		}
		first := g.raise(c(secret))
		stranger, _ := g.newToken("b")
		refused := func(when string) {
			t.Helper()
			for _, s := range []string{"", "guess", strings.ToUpper(secret)} {
				for _, token := range []string{g.tokens[auth.RoleSubmit], stranger} {
					k := c(s)
					k.token = token
					if r := g.call(k); r.status != http.StatusConflict {
						t.Errorf("%s, with %q: %d %s", when, s, r.status, r.body)
					}
				}
				if r := g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: bash("x"), header: c(s).header}); r.status != http.StatusConflict {
					t.Errorf("%s, on the socket with %q: %d %s", when, s, r.status, r.body)
				}
			}
		}
		refused("while it waits")
		if q := g.get(id); q.State != "pending" || q.Detached {
			t.Fatalf("strangers changed it: %+v", q)
		}
		g.decide(id, `{"behavior":"allow","inputSha256":"`+g.get(id).InputSHA256+`"}`)
		if r := <-first.reply; r.body != allowed {
			t.Errorf("the hook got %d %s", r.status, r.body)
		}
		synctest.Wait()
		refused("once it is decided")
		if r := g.call(c(secret)); r.body != allowed {
			t.Errorf("the hook that came back got %d %s", r.status, r.body)
		}
		for _, path := range []string{"/v1/requests/" + id, "/v1/requests/" + id + "/trace", "/v1/requests?state=ended"} {
			if r := g.call(call{path: path, token: g.tokens[auth.RoleAdmin]}); r.status != 200 || strings.Contains(strings.ToLower(r.body), "reattach") || strings.Contains(r.body, secret) {
				t.Errorf("%s tells of the secret: %d %s", path, r.status, r.body)
			}
		}
		if strings.Contains(g.lines.String(), secret) {
			t.Error("the secret is in the log")
		}
		time.Sleep(time.Until(g.get(id).Deadline) + 3*time.Second)
		if r := g.call(c(secret)); r.status != http.StatusConflict {
			t.Errorf("after the deadline: %d %s", r.status, r.body)
		}
	})
}

// What another submitter tells of a session says nothing about the calls of this one.
func TestCallsOfOthersNameNothing(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		stranger, _ := g.newToken("b")
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		for _, kind := range []string{"PreToolUse", "PostToolUse", "SessionEnd"} {
			for _, id := range []string{"t1", "t2"} {
				if r := g.call(call{method: "POST", path: "/v1/hooks", token: stranger, body: toolEvent(kind, id, "ls")}); r.status != http.StatusNoContent {
					t.Fatal(r.status)
				}
			}
		}
		first, second := g.hook("ls"), g.tool("t1", "ls")
		g.wantPending(first)
		g.decide(first.id, `{"behavior":"allow","inputSha256":"`+g.get(first.id).InputSHA256+`"}`)
		if a, b := <-first.reply, <-second.reply; a.body != allowed || b.body != allowed {
			t.Errorf("%s and %s", a.body, b.body)
		}
	})
}
