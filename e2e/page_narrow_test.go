package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPageAtTwiceTheSize: on the narrowest screens, and with letters of twice the size, all of it
// can be read and reached: nothing is wider than the screen, and no text is a column of letters.
func TestPageAtTwiceTheSize(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := startBrowser(t, `{"webkit":{"webprefs":{"default_font_size":32}}}`)
	b.pair(d)
	d.asks(t.Context(), "s1", "/home/dev/checkout", "Bash", command("set -e; npm test -- --grep 'cart total' && rm -rf /var/tmp/shop-build-cache"))
	d.asks(t.Context(), "s2", "/home/dev/shop", "mcp__github__create_issue", `{"a_name_that_somebody_else_has_chosen_for_it":"x","title":"Checkout"}`)
	d.waitPending(2)
	b.see("main", "rm -rf")
	b.see("main", "Checkout")
	if size := value(b, chromedp.Evaluate[string](`getComputedStyle(document.querySelector(".card .units li")).fontSize`)); size != "28px" {
		t.Errorf("letters of a card are %s, want twice 14px", size)
	}
	sizes := map[string][2]int64{"320": {320, 568}, "390": {390, 844}}
	check := func(name string) {
		t.Helper()
		for at, size := range sizes {
			b.do(chromedp.EmulateViewport(size[0], size[1], chromedp.EmulateMobile, chromedp.EmulateTouch))
			b.fits(name + " at " + at)
		}
	}
	// Half the pixels with letters of the usual size are the same as these with twice the size; both
	// at once are more than anybody has.
	check("inbox")
	b.click(".card .third", "More answers")
	b.click(`.card [data-mode="edit"]`, "Edit")
	check("edit")
	b.view("History")
	check("history")
	b.view("Inbox")
	b.click("header.top > .small", "Settings")
	b.see(".settings", "Answering")
	check("settings")
	b.quiet()
}

// fits fails the test where something is wider than the screen or its card, or where a text of
// several letters has a line for each.
func (b *browser) fits(name string) {
	b.t.Helper()
	var wrong []string
	eventually(b.t, soon, name+" fits", func() bool {
		wrong = value(b, chromedp.Evaluate[[]string](`[
			...[document.documentElement].filter(e => e.scrollWidth > innerWidth).map(e => "the page is " + e.scrollWidth + " wide"),
			...[...document.querySelectorAll("main button, main select, dialog button, header.top button, main textarea")].filter(e => {
				const box = e.getBoundingClientRect();
				return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1);
			}).map(e => "cut: " + (e.innerText || e.tagName)),
			...[...document.querySelectorAll("main h2, main h3, main .where > *, main .label, main .value-of, main button, dialog button")].filter(e => {
				const box = e.getBoundingClientRect(), text = e.innerText.trim();
				return box.width > 0 && text.length > 3 && box.height > parseFloat(getComputedStyle(e).fontSize) * 1.2 * text.length;
			}).map(e => "a column: " + e.innerText),
		]`))
		return len(wrong) == 0
	})
	_ = wrong
}
