package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// stands has the agent's one session stand in some way.
func (h *host) stands(coder api.Agent, s api.AgentSession) {
	h.t.Helper()
	coder.Status = api.AgentIdle
	s.SessionID, s.TimeoutSeconds, s.Worktree = hostedSession, 3600, true
	if s.BudgetUSD == 0 {
		s.BudgetUSD = 5
	}
	coder.Sessions = []api.AgentSession{s}
	h.send(api.HostFrame{Type: api.HostAgents, Agents: []api.Agent{coder}})
}

// TestPageOutcome: how the last turn of a hosted session ended stands above its line, with what it cost and the
// pull request; one that was cut off is continued, and one whose budget or time is over is allowed more.
func TestPageOutcome(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	h, b, coder := hosted(t, d)
	turn := func(outcome, code, why string) *api.AgentTurn {
		return &api.AgentTurn{Message: "0d2b2fa4-68a9-4a0b-8f34-1d0e8a1b2c3d", Outcome: outcome, Code: code, Why: why}
	}
	const card = "[data-ui=last-turn]"
	pr := &api.AgentPR{URL: "https://github.com/acme/shop/pull/12", Number: 12}
	h.stands(coder, api.AgentSession{Status: api.AgentIdle, CostUSD: 1.234, ActiveSeconds: 754, Turn: turn(hook.OutcomeCompleted, "", ""), PR: pr})
	b.See(card, rig.Word("lastTurn.completed"))
	b.See(card, rig.Word("lastTurn.costOf", "$1.23", "$5"))
	b.See(card, rig.Word("lastTurn.worktree"))
	b.See(card, rig.Word("lastTurn.prUnverified"))
	if !b.Has(card + ` a[href="https://github.com/acme/shop/pull/12"][rel~=noopener][target=_blank]`) {
		t.Error("the pull request is no link")
	}
	b.Looks("outcome-completed")

	// What is no https address is not shown; the rest of the card is.
	h.stands(coder, api.AgentSession{Status: api.AgentIdle, CostUSD: 2.5, Turn: turn(hook.OutcomeCompleted, "", ""), PR: &api.AgentPR{URL: "javascript:alert(1)", Number: 12}})
	b.See(card, rig.Word("lastTurn.costOf", "$2.50", "$5"))
	if b.Has(card+" a") || strings.Contains(b.Text(card), "javascript") {
		t.Error("it is shown")
	}
	// What no browser can read as an address is text.
	h.stands(coder, api.AgentSession{Status: api.AgentIdle, Turn: turn(hook.OutcomeCompleted, "", ""), PR: &api.AgentPR{URL: "https://[github.com/12"}})
	b.See(card, "https://[github.com/12")
	if b.Has(card + " a") {
		t.Error("it is a link")
	}

	// One that was stopped says so, and why where there is more to say.
	h.stands(coder, api.AgentSession{Status: api.SessionEnded, Turn: turn(hook.OutcomeCancelled, "CANCELLED", "everything is stopped")})
	b.See(card+" h3", "Stopped")
	b.See(card, "Everything is stopped")
	h.stands(coder, api.AgentSession{Status: api.AgentIdle, Turn: turn(hook.OutcomeCancelled, "CANCELLED", "cancelled")})
	b.See(card+" h3", "Stopped")
	rig.Eventually(t, rig.Soon, "nothing more is said of it", func() bool {
		return !strings.Contains(strings.ToLower(b.Text(card)), "cancelled") && !strings.Contains(b.Text(card), "verything")
	})

	// One that was cut off has Continue; one with a process is prompted.
	h.stands(coder, api.AgentSession{Status: api.AgentIdle, Turn: turn(hook.OutcomeFailed, "INTERRUPTED", "the agent's program was killed in its turn")})
	b.See(card, "was killed in its turn")
	b.See(card+" h3", "Interrupted")
	b.Looks("outcome-interrupted")
	b.Tap(card + " [data-action=go-on]")
	if m := h.next(api.BrokerMessage).Message; m.Kind != hook.MessagePrompt || m.SessionID != hostedSession || m.Prompt != rig.Word("lastTurn.goOnPrompt") || !auth.VerifyMessage(*m) {
		t.Fatalf("the host is sent %+v", m)
	}

	// The budget is raised within its ceiling, signed.
	h.stands(coder, api.AgentSession{Status: api.SessionBlocked, CostUSD: 5.1, Turn: turn(hook.OutcomeFailed, "BUDGET", "the session has spent $5.10, by the client's own estimate")})
	b.See(card, rig.Word("lastTurn.budgetMore", "$5.10", "$5", "$3"))
	b.Looks("outcome-budget")
	b.Accessible("outcome-budget")
	b.NothingCut("outcome-budget")
	field := card + " input"
	b.Do(chromedp.SetValue(chromedp.CSS(field), ""), chromedp.SendKeys(chromedp.CSS(field), "4"))
	if !b.Has(card + " [data-action=go-on]:disabled") {
		t.Error("more than the ceiling is offered")
	}
	b.Do(chromedp.SetValue(chromedp.CSS(field), ""), chromedp.SendKeys(chromedp.CSS(field), "2.50"))
	b.See(card, rig.Word("lastTurn.budgetMore", "$5.10", "$5", "$2.50"))
	b.Tap(card + " [data-action=go-on]")
	if m := h.next(api.BrokerMessage).Message; m.Kind != hook.MessageResume || *m.Options != (hook.MessageOptions{BudgetUSD: 7.5}) || !auth.VerifyMessage(*m) {
		t.Fatalf("the host is sent %+v", m)
	}
	h.stands(coder, api.AgentSession{Status: api.SessionBlocked, BudgetUSD: 8, CostUSD: 8.02, Turn: turn(hook.OutcomeFailed, "BUDGET", "")})
	b.See(card, rig.Word("lastTurn.budgetNone", "$8", "build1"))

	h.stands(coder, api.AgentSession{Status: api.SessionBlocked, ActiveSeconds: 3600, Turn: turn(hook.OutcomeFailed, "TIMEOUT", "")})
	b.See(card, rig.Word("lastTurn.timeMore", "1 h", "1 h", "1 h"))
	b.Tap(card + " [data-action=go-on]")
	if m := h.next(api.BrokerMessage).Message; m.Kind != hook.MessageResume || *m.Options != (hook.MessageOptions{TimeoutSeconds: 7200}) || !auth.VerifyMessage(*m) {
		t.Fatalf("the host is sent %+v", m)
	}
	b.Quiet()
}
