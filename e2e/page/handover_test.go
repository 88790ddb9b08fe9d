package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// TestPageHandsOver: a session of a host is handed over to a terminal, which the page asks about first; it shows
// the command to copy, and what is written then goes on with the session.
func TestPageHandsOver(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	h, b, _ := hosted(t, d)
	const part = "[data-ui=handover]"
	b.Tap(part + " [data-action=handover]")
	b.See(part, rig.Word("handover.ask"))
	b.Looks("handover-ask")
	b.Tap(part + " [data-action=confirm-handover]")
	m := h.next(api.BrokerMessage).Message
	if m.Kind != hook.MessageHandover || m.Prompt != "" || m.Options != nil || m.SessionID != hostedSession || !auth.VerifyMessage(*m) {
		t.Fatalf("the host is sent %+v", m)
	}
	h.tell(api.HostTaken, m.ID, "")
	b.See(part, rig.Word("handover.waiting"))
	const command = "cd /srv/shop && claude --resume " + hostedSession
	id := uuid.NewString()
	h.send(api.HostFrame{Type: api.HostEnded, ID: id, Message: m.ID, Outcome: hook.OutcomeCompleted, Command: command})
	b.See(part, command)
	b.See(part, rig.Word("handover.back"))
	b.Tap(part + " [data-action=copy-command]")
	b.See(part+" [role=status]", "opied")
	b.Looks("handover-ready")
	b.Accessible("handover")
	b.NothingCut("handover")

	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=composer] textarea"), "Go on here"))
	b.Tap("[data-ui=composer] [data-action=say]")
	if m := h.next(api.BrokerMessage).Message; m.Kind != hook.MessageResume || m.Prompt != "Go on here" || !auth.VerifyMessage(*m) {
		t.Fatalf("the host is sent %+v", m)
	}
	b.Quiet()
}
