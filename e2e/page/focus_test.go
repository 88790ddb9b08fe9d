package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"assent/e2e/rig"
	"assent/internal/api"
)

// focus puts the focus on an element, as Tab does.
func focus(b *rig.Browser, selector string) {
	b.Do(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Evaluate[chromedp.Void](`document.querySelector(`+rig.JSString(selector)+`).focus()`))
}

// TestPageSheetsByKeys: what opens in place of a button takes the focus, Escape closes it, and the focus goes back to the
// button. What somebody wrote is not thrown away by one key.
func TestPageSheetsByKeys(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	newHost(t, d, "build1", api.Agent{Name: "coder", Hostname: "build1", HostID: "build1#0123456789abcdef", Status: api.AgentIdle, Project: &api.AgentProject{Name: "shop", Path: "/srv/shop"}})
	b := rig.NewBrowser(t)
	b.PairAs(d, "operate")
	d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command("git status"))
	d.WaitPending(1)
	b.See(rig.Open, "git status")
	at := func(what, selector string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the focus is on "+what, func() bool {
			return rig.Value(b, chromedp.Evaluate[bool](`document.activeElement.matches(`+rig.JSString(selector)+`)`))
		})
	}
	press := func(key string) { b.Do(chromedp.KeyEvent(key)) }

	focus(b, rig.Open+" [data-action=other]")
	press(kb.Enter)
	at("the menu", "[data-ui=menu] button")
	focus(b, `[data-ui=menu] [data-mode=edit]`)
	press(kb.Enter)
	at("what is edited", "[data-ui=others], [data-ui=others] *")
	press(kb.Escape)
	at("the menu's button", rig.Open+" [data-action=other]")

	b.View("Sessions")
	const agent = "[data-ui=agents] button[data-agent=coder]"
	for _, size := range []chromedp.Action[chromedp.Void]{rig.Phone, rig.Desktop} {
		b.Do(size)
		focus(b, agent)
		press(kb.Enter)
		at("the sheet", "[data-ui=start-agent] h2")
		press(kb.Tab)
		at("its text", "[data-ui=start-agent] textarea")
		press("Fix it")
		press(kb.Escape)
		at("its text, still", "[data-ui=start-agent] textarea")
		for range "Fix it" {
			press(kb.Backspace)
		}
		press(kb.Escape)
		at("the agent", agent)
	}

	b.View("You")
	for _, action := range []string{"revoke", "rename"} {
		button := "[data-ui=device] [data-action=" + action + "]"
		focus(b, button)
		press(kb.Enter)
		at("what opened", "[data-ui=sure] button, [data-ui=rename] input")
		press(kb.Escape)
		at(action, button)
	}
	b.Quiet()
}
