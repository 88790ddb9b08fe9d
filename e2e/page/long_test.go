package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageWithLongNames: on a phone a long directory takes two lines of a card's head, and is there whole with one
// tap; and the time of a decision stays beside the long name of who decided.
func TestPageWithLongNames(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Do(rig.Phone)
	name := "begin-" + strings.Repeat("verylongname-", 15) + "end"
	ch := d.Asks(t.Context(), "s", "/home/dev/"+name, "Bash", rig.Command("make"))
	b.See(rig.Open, "make")
	const head = rig.Open + " header"
	lines := func() int {
		return rig.Value(b, chromedp.Evaluate[int](`(() => { const e = document.querySelector(`+rig.JSString(head+` [id^="session-"]`)+`); return Math.round(e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)); })()`))
	}
	text := b.Text(head)
	if strings.Contains(text, name) || !strings.Contains(text, "begin-") || !strings.Contains(text, "…") || !strings.Contains(text, "-end") {
		t.Errorf("the head says %q", text)
	}
	if n := lines(); n > 2 {
		t.Errorf("the directory takes %d lines", n)
	}
	b.Fits("cut")
	b.Tap(head + " [aria-expanded=false]")
	b.See(head, "/home/dev/"+name)
	b.Fits("whole")
	b.Tap(head + " [aria-expanded=true]")
	rig.Eventually(t, rig.Soon, "it is cut again", func() bool { return !strings.Contains(b.Text(head), name) })

	who := "The laptop of Anna beside the window on the second floor"
	r := d.WaitPending(1)[0]
	if status, body, err := d.As(d.CreateToken("approve", who), "POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256}); err != nil || status != http.StatusOK {
		t.Fatalf("decide: %d %s %v", status, body, err)
	}
	<-ch
	b.View("History")
	b.See("[data-ui=decision]", who)
	if below := rig.Value(b, chromedp.Evaluate[float64](`(() => { const d = document.querySelector("[data-ui=decision]"), top = e => d.querySelector(e).getBoundingClientRect().top; return Math.abs(top("time") - top("b")); })()`)); below > 8 {
		t.Errorf("the time stands %v px from the line that it belongs to", below)
	}
	b.Fits("history")
	b.Quiet()
}
