package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

const hostedSession = "7d0a6c3e-5b0f-4b0e-9d35-0a4f5d0c2b11"

// hosted is a session of the agent coder of a host that the test plays, open in a browser of a device of
// role operate.
func hosted(t *testing.T, d *rig.Daemon) (*host, *rig.Browser, api.Agent) {
	t.Helper()
	coder := api.Agent{
		Name: "coder", Hostname: "build1", Status: api.AgentBusy,
		Project:  &api.AgentProject{Name: "shop", Path: "/srv/shop"},
		Limits:   &api.AgentLimits{BudgetUSD: 8, TimeoutSeconds: 7200, Sessions: 2},
		Sessions: []api.AgentSession{{SessionID: hostedSession, Status: api.AgentBusy, CostUSD: 0.12}},
	}
	h := newHost(t, d, "build1", coder)
	for _, e := range []map[string]any{
		{"hook_event_name": "SessionStart", "source": "startup"},
		{"hook_event_name": "UserPromptSubmit", "prompt": "Fix the cart's total"},
	} {
		e["session_id"], e["cwd"], e["permission_mode"] = hostedSession, "/srv/shop", "default"
		d.Hook(rig.Object(t, e)).Wait()
	}
	b := rig.NewBrowser(t)
	b.PairAs(d, "operate")
	b.Rest()
	b.View("Sessions")
	b.Tap(fmt.Sprintf(`[data-ui=sessions] button[data-session="%s"]`, hostedSession))
	b.See("[data-ui=composer]", rig.Word("say.send"))
	return h, b, coder
}

// TestPageQueue: messages that nobody has taken yet are listed in their order; each is changed, which puts it
// at the end, or deleted, until it is taken, by keyboard and by touch.
func TestPageQueue(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	h, b, _ := hosted(t, d)
	const field = "[data-ui=composer] textarea"
	say := func(text string) *hook.Message {
		t.Helper()
		b.Do(chromedp.SendKeys(chromedp.CSS(field), text))
		b.Tap("[data-ui=composer] [data-action=say]")
		m := h.next(api.BrokerMessage).Message
		if m.Prompt != text || !auth.VerifyMessage(*m) {
			t.Fatalf("the host is sent %+v", m)
		}
		return m
	}
	item := func(n int) string { return fmt.Sprintf("[data-ui=queued] > li:nth-child(%d)", n) }
	first := say("Also fix the rounding of the tax.")
	second := say("Then run all tests of the cart, and say in a table which of them failed before and after.")
	say("Delete me")
	b.See(item(3), "Delete me")
	b.Looks("queue")

	// Deleted.
	b.Tap(item(3) + " [data-action=take-back]")
	b.See("[data-ui=composer] [role=status]", rig.Word("say.deleted"))
	b.See("[data-ui=composer] [data-ui=message][data-state=refused]", "Delete me")

	// Changed: taken back, and sent anew at the end.
	b.Tap(item(1) + " [data-action=edit-message]")
	b.See("[data-ui=editing]", rig.Word("say.editHint"))
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=editing] textarea"), " And of the shipping."))
	b.Looks("queue-edit")
	b.Accessible("queue-edit")
	b.NothingCut("queue-edit")
	b.Tap("[data-ui=editing] [data-action=save-edit]")
	changed := h.next(api.BrokerMessage).Message
	if changed.ID == first.ID || changed.Prompt != first.Prompt+" And of the shipping." || changed.Kind != hook.MessagePrompt || !auth.VerifyMessage(*changed) {
		t.Fatalf("the host is sent %+v", changed)
	}
	b.See("[data-ui=composer] [role=status]", rig.Word("say.savedLast"))
	b.See(item(1), "Then run all tests")
	b.See(item(2), "And of the shipping.")
	var list []hook.Message
	d.Get("/v1/sessions/"+hostedSession+"/messages", &list)
	for _, m := range list {
		if m.ID == first.ID && m.State != hook.MessageRefused {
			t.Errorf("what was changed is now %s", m.State)
		}
	}

	// By keys: up in the empty line changes the last one, Escape leaves it as it is.
	b.Do(chromedp.Focus(chromedp.CSS(field)), chromedp.KeyEvent(kb.ArrowUp))
	b.See("[data-ui=editing]", rig.Word("say.editHint"))
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.See(item(2), "And of the shipping.")
	rig.Eventually(t, rig.Soon, "the focus is on Edit again", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`document.activeElement?.dataset.action === "edit-message"`))
	})

	// Taken while it is being changed: it goes as it was, and the new text is kept.
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=editing] textarea"), " Or not."))
	h.tell(api.HostTaken, second.ID, "")
	h.tell(api.HostTaken, changed.ID, "")
	b.See("[data-ui=editing]", rig.Word("say.takenMeanwhile"))
	b.Looks("queue-taken")
	b.Tap("[data-ui=editing] [data-action=save-edit]")
	if m := h.next(api.BrokerMessage).Message; m.Prompt != changed.Prompt+" Or not." {
		t.Fatalf("the host is sent %+v", m)
	}
	b.See(item(1), "Or not.")
	b.See("[data-ui=composer] [data-ui=message]:nth-child(3)[data-state=taken]", "And of the shipping.")
	b.Quiet()
}

// TestPageStopsAgents: stop everything says that it is for hosts' agents, too, and their host is told.
func TestPageStopsAgents(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	h, b, _ := hosted(t, d)
	b.Tap("[data-action=settings]")
	b.Click("[data-ui=sections] button", rig.Word("settings.sections.stop"))
	b.See("[data-ui=stop]", rig.Word("halt.agentsToo"))
	b.Tap("[data-ui=stop] [data-action=stop]")
	b.Looks("stop-agents")
	b.Tap("[data-ui=stop] [data-action=yes]")
	if f := h.next(api.BrokerHalt); !f.Stopped {
		t.Fatalf("the host is told %+v", f)
	}
	b.Quiet()
}
