package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// away lets a test hide the page, as behind another tab.
const away = `Object.defineProperty(Document.prototype, "hidden", {get: () => !!window.away})`

// TestPageTellsWhatItShows: the record has whose screen a request was on, once: of a card before the reader, not of one in the list beside
// it, of a page that is hidden, or of a row below the fold.
func TestPageTellsWhatItShows(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Before(away)
	b.Pair(d)
	hide := func(hidden bool) {
		t.Helper()
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`window.away = %v, document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
	}
	screens := func(r rig.Request, n int) {
		t.Helper()
		rig.Eventually(t, rig.Soon, fmt.Sprintf("%d screens of %s", n, r.ToolInput), func() bool { return len(d.Screens(r.ID)) == n })
	}
	ask := func(text string) rig.Request {
		t.Helper()
		n := len(d.Pending())
		d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command(text))
		list := d.WaitPending(n + 1)
		return list[n]
	}

	hide(true)
	first := ask("npm run hidden")
	b.See(rig.Open, "npm run hidden")
	second := ask("npm run beside")
	rig.Eventually(t, rig.Soon, "both are there", func() bool { return b.Count("[data-ui=entry]") == 2 })
	d.Deny(first, "nobody saw it")
	hide(false)
	b.See(rig.Open, "npm run beside")
	screens(second, 1)
	screens(first, 0)
	third := ask("npm run third")
	rig.Eventually(t, rig.Soon, "both are there", func() bool { return b.Count("[data-ui=entry]") == 2 })
	hide(false) // it looks again, and has told that already

	// In the list of many, what is below the fold is not on the screen until somebody scrolls.
	b.TapMany()
	var all []rig.Request
	for i := range 40 {
		all = append(all, ask(fmt.Sprintf("npm run build%d -- --one=%d", i, i)))
	}
	last := all[len(all)-1]
	rig.Eventually(t, rig.Soon, "all are there", func() bool { return b.Count("[data-ui=row]") == len(all)+2 })
	screens(third, 1)
	screens(last, 0)
	screens(second, 1)
	scrolled := time.Now()
	b.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, document.body.scrollHeight)`))
	screens(last, 1)
	if s := d.Screens(last.ID)[0]; s.By == nil || s.By.Kind != "device" || s.Time.Before(scrolled) {
		t.Errorf("recorded %+v, scrolled there %v", s, scrolled)
	}
	b.Quiet()
}
