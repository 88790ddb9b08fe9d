package page

import (
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageGoesBack: the browser's Back leads to the part of the page, and to the session, that was shown before,
// and a reload shows the same again.
func TestPageGoesBack(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	ch := d.Asks(t.Context(), "s", "/home/dev/app", "Bash", rig.Command("make"))
	b.See(rig.Open, "make")
	shown := func(part string) {
		t.Helper()
		b.See(`[data-ui=views] [aria-current]`, rig.Word("views."+part))
	}
	b.View(rig.Word("views.sessions"))
	b.Tap(`[data-ui=sessions] button[data-session="s"]`)
	b.See("[data-ui=feed]", "make")
	b.View(rig.Word("views.rules"))
	shown("rules")
	b.Do(chromedp.Reload())
	shown("rules")
	b.Do(chromedp.NavigateBack())
	shown("sessions")
	b.See("[data-ui=feed]", "make")
	b.Do(chromedp.NavigateBack())
	shown("sessions")
	b.Do(chromedp.NavigateBack())
	shown("inbox")
	b.See(rig.Open, "make")
	d.Allow(d.Pending()[0])
	<-ch
	b.Quiet()
}
