package page

import (
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageAtTwiceTheSize: on the narrowest screens, and with letters of twice the size, all of it
// can be read and reached: nothing is wider than the screen, and no text is a column of letters.
func TestPageAtTwiceTheSize(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.StartBrowser(t, `{"webkit":{"webprefs":{"default_font_size":32}}}`)
	b.Pair(d)
	d.Asks(t.Context(), "s1", "/home/dev/checkout", "Bash", rig.Command("set -e; npm test -- --grep 'cart total' && rm -rf /var/tmp/shop-build-cache"))
	d.WaitPending(1)
	d.Asks(t.Context(), "s2", "/home/dev/shop", "mcp__github__create_issue", `{"a_name_that_somebody_else_has_chosen_for_it":"x","title":"Checkout"}`)
	d.WaitPending(2)
	b.See("main", "rm -rf")
	if size := rig.Value(b, chromedp.Evaluate[string](`getComputedStyle(document.querySelector("[data-ui=card] [data-ui=shell]")).fontSize`)); size != "28px" {
		t.Errorf("letters of a card are %s, want twice 14px", size)
	}
	sizes := map[string][2]int64{"320": {320, 568}, "390": {390, 844}}
	check := func(name string) {
		t.Helper()
		for at, size := range sizes {
			b.Do(chromedp.EmulateViewport(size[0], size[1], chromedp.EmulateMobile, chromedp.EmulateTouch))
			b.Fits(name + " at " + at)
		}
	}
	// Half the pixels with letters of the usual size are the same as these with twice the size; both
	// at once are more than anybody has.
	check("inbox")
	b.Click("[data-ui=card] [data-action=other]", "⋯")
	check("menu")
	b.Click(`[data-ui=card] [data-mode="edit"]`, "Edit")
	check("edit")
	b.All()
	check("list")
	b.Tap("[data-ui=entry][aria-current=false]")
	b.See("main", "Checkout")
	check("arguments")
	b.View("History")
	check("history")
	b.View("Inbox")
	b.View("You")
	b.See("[data-ui=settings]", rig.Word("settings.sections.answering"))
	check("settings")
	b.Quiet()
}
