package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// host is a host that the test plays, over the same WebSocket as the real one.
type host struct {
	t    *testing.T
	conn *websocket.Conn
	hear chan api.BrokerFrame
}

func newHost(t *testing.T, d *rig.Daemon, name string, agents ...api.Agent) *host {
	t.Helper()
	token := d.CreateToken("host", name)
	base, _ := d.Owner()
	header := http.Header{"Authorization": {"Bearer " + token}}
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+base[len("http"):]+"/v1/host/ws", header)
	if err != nil {
		t.Fatalf("%v (%v)", err, res)
	}
	h := &host{t, conn, make(chan api.BrokerFrame, 100)}
	t.Cleanup(func() { conn.Close() })
	go func() {
		defer close(h.hear)
		for {
			var f api.BrokerFrame
			if conn.ReadJSON(&f) != nil {
				return
			}
			h.hear <- f
		}
	}()
	h.send(api.HostFrame{Type: api.HostHello, Host: name, Version: "test", Agents: agents})
	if f := h.next(api.BrokerWelcome); len(f.Problems) > 0 {
		t.Fatalf("the broker leaves out %q", f.Problems)
	}
	return h
}

func (h *host) send(f api.HostFrame) {
	h.t.Helper()
	if err := h.conn.WriteJSON(f); err != nil {
		h.t.Fatal(err)
	}
}

// next returns the next frame of a type; others are passed over.
func (h *host) next(kind string) api.BrokerFrame {
	h.t.Helper()
	for f := range h.hear {
		if f.Type == kind {
			return f
		}
	}
	h.t.Fatalf("the broker closed before %s", kind)
	return api.BrokerFrame{}
}

// tell says what became of a message, and waits until that is recorded.
func (h *host) tell(kind, message, outcome string) {
	h.t.Helper()
	id := uuid.NewString()
	h.send(api.HostFrame{Type: kind, ID: id, Message: message, Outcome: outcome})
	for f := h.next(api.BrokerAck); ; f = h.next(api.BrokerAck) {
		if f.ID != id {
			continue
		}
		if !f.OK {
			h.t.Fatalf("%s: %+v", kind, f)
		}
		return
	}
}

// TestPageStartsAnAgent: a host's agent stands under the sessions; a device of role operate starts it within
// its ceiling, sees its session come up, writes to it, and stops it.
func TestPageStartsAnAgent(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	coder := api.Agent{
		Name: "coder", Hostname: "build1", HostID: "build1#0123456789abcdef", Status: api.AgentIdle,
		Executor: &api.AgentExecutor{Kind: "claude", Version: "2.1.329"},
		Project:  &api.AgentProject{Name: "shop", Path: "/srv/shop"},
		Limits:   &api.AgentLimits{BudgetUSD: 5, TimeoutSeconds: 7200, AutoPR: true, Sessions: 1},
		Worktree: true,
	}
	h := newHost(t, d, "build1", coder)
	b := rig.NewBrowser(t)
	b.PairAs(d, "operate")
	b.Rest()
	b.View("Sessions")
	b.See("[data-ui=agents]", "build1")
	b.See("[data-ui=agents] button[data-agent=coder]", rig.Word("agents.states.idle"))
	b.Looks("agents-list")
	b.Tap("[data-ui=agents] button[data-agent=coder]")
	b.See("[data-ui=start-agent]", "/srv/shop")
	b.See("[data-ui=start-agent]", rig.Word("agents.worktree"))
	b.See("[data-ui=start-agent]", rig.Word("agents.most", "120")) // in minutes, as its field is
	text := "Fix the cart's total. " + strings.Repeat("x", 200)    // no wider than the screen, wherever it stands
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=start-agent] textarea"), text))
	b.Looks("agents-start")
	b.Accessible("agents-start")
	b.NothingCut("agents-start")
	b.Do(chromedp.EmulateViewport(195, 422, chromedp.EmulateMobile, chromedp.EmulateTouch)) // a phone at 200 %
	sheet, field := b.Box("[data-ui=start-agent]"), b.Box("[data-ui=start-agent] textarea")
	if field.X+field.Width > sheet.X+sheet.Width {
		t.Errorf("on the narrowest screen the field is at %v, and its sheet at %v", field, sheet)
	}
	b.Do(rig.Phone)

	// Above a ceiling it is not sent, which is said at once.
	fill := func(field, value string) {
		field = "[data-ui=start-agent] input[name=" + field + "]"
		b.Do(chromedp.SetValue(chromedp.CSS(field), ""), chromedp.SendKeys(chromedp.CSS(field), value))
	}
	fill("minutes", "121")
	b.See("[data-ui=start-agent] [role=status]", rig.Word("agents.timeOver", "2 h"))
	fill("minutes", "90")
	fill("budget", "7")
	b.See("[data-ui=start-agent] [role=status]", rig.Word("agents.budgetOver", "$5"))
	b.Looks("agents-start-over")
	if !b.Has("[data-ui=start-agent] [data-action=start-agent]:disabled") {
		t.Error("it can be started above its ceiling")
	}
	fill("budget", "2")
	b.Tap("[data-ui=start-agent] input[type=checkbox]")
	b.Tap("[data-ui=start-agent] [data-action=start-agent]:enabled")
	m := h.next(api.BrokerMessage).Message
	if m == nil || m.Prompt != text || m.HostID != coder.HostID || m.Kind != hook.MessagePrompt || m.Options == nil || *m.Options != (hook.MessageOptions{BudgetUSD: 2, TimeoutSeconds: 5400, AutoPR: true}) || !auth.VerifyMessage(*m) {
		t.Fatalf("the host is sent %+v", m)
	}
	b.See("[data-ui=start-agent] [data-ui=message][data-state=sent]", text)
	h.tell(api.HostTaken, m.ID, "")
	b.See("[data-ui=start-agent] [data-ui=message][data-state=taken]", text)
	b.Looks("agents-starting")

	event := func(name string, more map[string]any) {
		t.Helper()
		doc := map[string]any{"session_id": m.SessionID, "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": name}
		for k, v := range more {
			doc[k] = v
		}
		d.Hook(rig.Object(t, doc)).Wait()
	}
	coder.Status, coder.Sessions = api.AgentBusy, []api.AgentSession{{SessionID: m.SessionID, Status: api.AgentBusy, CostUSD: 0.12}}
	h.send(api.HostFrame{Type: api.HostAgents, Agents: []api.Agent{coder}})
	event("SessionStart", map[string]any{"source": "startup"})
	event("UserPromptSubmit", map[string]any{"prompt": text})
	h.tell(api.HostStarted, m.ID, "")

	// The session is shown by itself, with the line to write to it.
	b.See("[data-ui=composer] [data-ui=message][data-state=started]", text)
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=composer] textarea"), "And its test."))
	b.Tap("[data-ui=composer] [data-action=say]")
	next := h.next(api.BrokerMessage).Message
	if next.Agent != "coder" || next.SessionID != m.SessionID || next.HostID != coder.HostID || next.Prompt != "And its test." || !auth.VerifyMessage(*next) {
		t.Fatalf("the host is sent %+v", next)
	}
	b.Looks("agents-session")
	b.Tap("[data-ui=composer] [data-action=stop-agent]")
	stop := h.next(api.BrokerMessage).Message
	if stop.Kind != hook.MessageCancel || stop.Prompt != "" || stop.SessionID != m.SessionID || !auth.VerifyMessage(*stop) {
		t.Fatalf("the host is sent %+v", stop)
	}
	h.tell(api.HostTaken, stop.ID, "")
	h.tell(api.HostEnded, m.ID, hook.OutcomeCancelled)
	h.tell(api.HostEnded, stop.ID, hook.OutcomeCompleted)
	b.Accessible("agents-session")
	b.NothingCut("agents-session")
	b.Looks("agents-stopped")

	// While as many sessions work as may, no other one is offered.
	b.Tap("[data-action=back]")
	b.Tap("[data-ui=agents] button[data-agent=coder]")
	b.See("[data-ui=start-agent]", "as many as its host allows")
	b.Quiet()
}

// TestPageMayNotStart: a device that may approve sees the agents, and is told what it lacks.
func TestPageMayNotStart(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	newHost(t, d, "build1", api.Agent{Name: "coder", Hostname: "build1", Status: api.AgentIdle})
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	b.View("Sessions")
	b.Tap("[data-ui=agents] button[data-agent=coder]")
	b.See("[data-ui=start-agent]", "pair --role operate")
	if b.Has("[data-ui=start-agent] form") {
		t.Error("it can start one")
	}
	b.Quiet()
}
