package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
)

// withMessages runs f with a server that sends messages to sessions; all have an inbox.
func withMessages(t *testing.T, f func(t *testing.T, g *rig, s *fleet.Store)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := fleet.Open(context.Background(), fleet.Config{KV: kvtest.New(), Logf: t.Logf, Inbox: func(_ context.Context, session string) (fleet.Line, error) {
			if session == "gone" {
				return nil, fleet.ErrUnreachable
			}
			return deaf{}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		g := newRig(t, server.Config{Messages: s})
		s.Notify(g.server.MessagesChanged)
		defer func() {
			g.stop()
			_ = s.Close()
		}()
		f(t, g, s)
	})
}

// newMessage is a message of this phone, signed.
func (p *phone) newMessage(session, text string) api.NewMessage {
	m := hook.Message{
		ID: uuid.NewString(), Agent: "terminal@x", SessionID: session, Kind: hook.MessagePrompt, Prompt: text,
		ExpiresAt: time.Now().UTC().Add(time.Minute).Format(time.RFC3339),
	}
	return api.NewMessage{ID: m.ID, Agent: m.Agent, Kind: m.Kind, Prompt: m.Prompt, ExpiresAt: m.ExpiresAt, Signature: p.key.Sign(auth.MessageText(m))}
}

func (g *rig) say(session, token string, m api.NewMessage) reply {
	g.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.call(call{method: "POST", path: "/v1/sessions/" + session + "/messages", token: token, body: string(body)})
}

// Only a device of role operate that signed exactly this message, for this session, has it sent.
func TestMessagesAreSigned(t *testing.T) {
	withMessages(t, func(t *testing.T, g *rig, s *fleet.Store) {
		p, other, low := g.paired(auth.RoleOperate, "phone"), g.paired(auth.RoleOperate, "other"), g.paired(auth.RoleApprove, "low")
		edited := func(edit func(*api.NewMessage)) api.NewMessage {
			m := p.newMessage("s", "x")
			edit(&m)
			return m
		}
		for name, r := range map[string]reply{
			"a bearer alone":      g.say("s", p.bearer, edited(func(m *api.NewMessage) { m.Signature = "" })),
			"another text":        g.say("s", p.bearer, edited(func(m *api.NewMessage) { m.Prompt = "y" })),
			"another id":          g.say("s", p.bearer, edited(func(m *api.NewMessage) { m.ID = uuid.NewString() })),
			"a later end":         g.say("s", p.bearer, edited(func(m *api.NewMessage) { m.ExpiresAt = "2099-01-01T00:00:00Z" })),
			"no end":              g.say("s", p.bearer, edited(func(m *api.NewMessage) { m.ExpiresAt = "" })),
			"another session":     g.say("t", p.bearer, p.newMessage("s", "x")),
			"another device":      g.say("s", other.bearer, p.newMessage("s", "x")),
			"a device of approve": g.say("s", low.bearer, low.newMessage("s", "x")),
		} {
			if r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if n := len(s.Messages("s")) + len(s.Messages("t")); n != 0 {
			t.Fatalf("%d were recorded", n)
		}
		m := p.newMessage("s", "x")
		if r := g.say("s", p.bearer, m); r.status != http.StatusAccepted {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.say("s", p.bearer, m); r.status != http.StatusOK {
			t.Errorf("sent again: %d %s", r.status, r.body)
		}
		got, err := s.Message(m.ID)
		if err != nil || !auth.VerifyMessage(got) || got.By.Name != "phone" {
			t.Errorf("recorded %+v, %v", got, err)
		}
		if r := g.say("gone", p.bearer, p.newMessage("gone", "x")); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"unreachable"`) {
			t.Errorf("nowhere to go: %d %s", r.status, r.body)
		}
		if r := g.say("s", p.bearer, p.newMessage("s", "a\x00b")); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, `"field":"prompt"`) {
			t.Errorf("control characters: %d %s", r.status, r.body)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/sessions/t/messages/" + m.ID, token: p.bearer}); r.status != http.StatusNotFound {
			t.Errorf("by way of another session: %d %s", r.status, r.body)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/sessions/s/messages/" + m.ID, token: p.bearer}); r.status != http.StatusOK || !strings.Contains(r.body, `"state":"refused"`) {
			t.Errorf("taken back: %d %s", r.status, r.body)
		}
	})
}

// Only an admin has a message forgotten. What is left says so, without the text and what was signed with it.
func TestForgetMessage(t *testing.T) {
	withMessages(t, func(t *testing.T, g *rig, s *fleet.Store) {
		p, admin := g.paired(auth.RoleOperate, "phone"), g.paired(auth.RoleAdmin, "desk")
		m := p.newMessage("s", "correct-horse-battery")
		if r := g.say("s", p.bearer, m); r.status != http.StatusAccepted {
			t.Fatalf("%d %s", r.status, r.body)
		}
		path := "/v1/sessions/s/messages/" + m.ID
		for name, r := range map[string]reply{
			"by who sent it":            g.call(call{method: "DELETE", path: path + "/text", token: p.bearer}),
			"by way of another session": g.call(call{method: "DELETE", path: "/v1/sessions/t/messages/" + m.ID + "/text", token: admin.bearer}),
		} {
			if r.status != http.StatusForbidden && r.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if got, err := s.Message(m.ID); err != nil || got.Prompt == "" {
			t.Fatalf("it is %+v, %v", got, err)
		}
		for range 2 {
			r := g.call(call{method: "DELETE", path: path + "/text", token: admin.bearer})
			var left hook.Message
			if err := json.Unmarshal([]byte(r.body), &left); err != nil || r.status != http.StatusOK {
				t.Fatalf("%d %s", r.status, r.body)
			}
			if left.Prompt != "" || left.Signature != "" || left.PublicKey == nil || left.Forgotten == nil || left.Forgotten.By.Name != "desk" || left.State != hook.MessageRefused {
				t.Errorf("what is left: %s", r.body)
			}
		}
		if r := g.say("s", p.bearer, m); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"duplicate"`) {
			t.Errorf("sent again: %d %s", r.status, r.body)
		}
	})
}

// A device sends 20 within any minute; another is not held up, and what was sent
// before costs nothing.
func TestMessagesAreFewPerMinute(t *testing.T) {
	withMessages(t, func(t *testing.T, g *rig, _ *fleet.Store) {
		p, other := g.paired(auth.RoleOperate, "phone"), g.paired(auth.RoleOperate, "other")
		var first api.NewMessage
		for i := range 20 {
			session := fmt.Sprint("s", i)
			m := p.newMessage(session, "x")
			if i == 0 {
				first = m
			}
			if r := g.say(session, p.bearer, m); r.status != http.StatusAccepted {
				t.Fatalf("message %d: %d %s", i, r.status, r.body)
			}
		}
		if r := g.say("s", p.bearer, p.newMessage("s", "x")); r.status != http.StatusTooManyRequests {
			t.Errorf("one more: %d %s", r.status, r.body)
		}
		if r := g.say("s0", p.bearer, first); r.status != http.StatusOK {
			t.Errorf("an earlier one again: %d %s", r.status, r.body)
		}
		if r := g.say("s", other.bearer, other.newMessage("s", "x")); r.status != http.StatusAccepted {
			t.Errorf("another device: %d %s", r.status, r.body)
		}
		time.Sleep(59 * time.Second)
		if r := g.say("t", p.bearer, p.newMessage("t", "x")); r.status != http.StatusTooManyRequests {
			t.Errorf("within the minute: %d %s", r.status, r.body)
		}
		time.Sleep(time.Second)
		for i := range 20 {
			session := fmt.Sprint("later", i)
			if r := g.say(session, p.bearer, p.newMessage(session, "x")); r.status != http.StatusAccepted {
				t.Fatalf("a minute later, %d: %d %s", i, r.status, r.body)
			}
		}
	})
}

// Where verification is required of everybody, it is of who sends a message.
func TestMessagesAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := fleet.Open(context.Background(), fleet.Config{KV: kvtest.New(), Logf: t.Logf, Inbox: func(context.Context, string) (fleet.Line, error) { return deaf{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		g := newRig(t, server.Config{Messages: s, RequireVerification: func() string { return hook.VerifyDanger }})
		defer func() {
			g.stop()
			_ = s.Close()
		}()
		p := g.paired(auth.RoleAdmin, "phone")
		if r := g.say("s", p.bearer, p.newMessage("s", "x")); r.status != http.StatusForbidden || !strings.Contains(r.body, `"reason":"verification"`) {
			t.Errorf("%d %s", r.status, r.body)
		}
		if len(s.Messages("s")) != 0 {
			t.Error("it was recorded")
		}
	})
}

// The implicit agent of a terminal is spoken to like the agents of hosts, and it is the same message.
func TestMessageToATerminal(t *testing.T) {
	withMessages(t, func(t *testing.T, g *rig, s *fleet.Store) {
		p := g.paired(auth.RoleOperate, "phone")
		m := p.newMessage(aSession, "hello")
		send := func(address string, edit func(*api.NewAgentMessage)) reply {
			in := api.NewAgentMessage{ID: m.ID, SessionID: aSession, Kind: m.Kind, Prompt: m.Prompt, ExpiresAt: m.ExpiresAt, Signature: m.Signature}
			edit(&in)
			body, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			return g.call(call{method: "POST", path: "/v1/agents/" + address + "/messages", token: p.bearer, body: string(body)})
		}
		as := func(*api.NewAgentMessage) {}
		if r := send("terminal@y", as); r.status != http.StatusForbidden {
			t.Errorf("signed for another: %d %s", r.status, r.body)
		}
		if r := send("terminal@x", func(in *api.NewAgentMessage) { in.Prompt = "other" }); r.status != http.StatusForbidden {
			t.Errorf("another text: %d %s", r.status, r.body)
		}
		r := send("terminal@x", as)
		if r.status != http.StatusAccepted {
			t.Fatalf("%d %s", r.status, r.body)
		}
		valid(t, "Message", r.body)
		if r := send("terminal@x", as); r.status != http.StatusOK {
			t.Errorf("the same again: %d %s", r.status, r.body)
		}
		if r := g.say(aSession, p.bearer, m); r.status != http.StatusOK {
			t.Errorf("the same by the session's address: %d %s", r.status, r.body)
		}
		if r := g.call(call{path: "/v1/agents/terminal@x/messages/" + m.ID, token: g.tokens[auth.RoleView]}); r.status != http.StatusOK {
			t.Errorf("read: %d %s", r.status, r.body)
		}
	})
}
