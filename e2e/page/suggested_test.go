package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageSuggestsARule: what an administrator allowed again and again is offered as a rule, put off or
// used, and the next request like it is answered by that rule.
func TestPageSuggestsARule(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.PairAs(d, "admin")
	for _, command := range []string{"make test", "make test", "make test", "npm run build", "npm run build", "npm run build", "rm -rf old"} {
		h := d.Hook(rig.Bash("s", command))
		r := d.WaitPending(1)[0]
		if command == "rm -rf old" {
			d.Deny(r, "no")
		} else {
			d.Allow(r)
		}
		h.Wait()
	}
	rig.Eventually(t, rig.Soon, "all of it is in the history", func() bool { // what the broker found it keeps for minutes
		return strings.Count(d.Command("rules", "suggest"), "id: suggested-") == 2
	})
	b.View("Rules")
	b.See("[data-ui=book]", "make test")
	b.See("[data-ui=book]", rig.Word("book.suggested"))
	b.Accessible("suggested")
	b.NothingCut("suggested")
	b.Fits("suggested")
	b.Shot("suggested-phone.png")
	b.Do(rig.Desktop)
	b.Shot("suggested-desk.png")
	b.Do(rig.Phone)

	row := func(name, then string) string {
		return `(e => ` + then + `)([...document.querySelectorAll("[data-ui=suggested]")].find(e => e.innerText.includes(` + rig.JSString(name) + `)))`
	}
	rig.Value(b, chromedp.Evaluate[bool](row("npm run build", `(e.querySelector("[data-action=not-now]").click(), true)`)))
	rig.Eventually(t, rig.Soon, "one is put off", func() bool { return b.Count("[data-ui=suggested]") == 1 })
	rig.Value(b, chromedp.Evaluate[bool](row("make test", `(e.querySelector("[data-action=use]").click(), true)`)))
	b.See("[data-ui=suggested] [data-ui=sure]", rig.Word("book.save"))
	b.Accessible("suggested-sure")
	b.NothingCut("suggested-sure")
	b.Shot("suggested-sure-phone.png")
	rig.Eventually(t, rig.Soon, "it is saved", func() bool { // once the button is armed
		rig.Value(b, chromedp.Evaluate[bool](`(document.querySelector('[data-ui=sure] [data-action=yes]:not([aria-disabled="true"])')?.click(), true)`))
		return b.Count("[data-ui=suggested]") == 0
	})
	b.See("[data-ui=rule]", "make test")
	if out := d.Hook(rig.Bash("s", "make test")).Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
	b.Do(chromedp.Reload())
	b.View("Rules")
	b.See("[data-ui=rule]", "make test")
	if b.Count("[data-ui=suggested]") != 0 {
		t.Error("what was put off is offered again")
	}
	b.Quiet()
}
