package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestCardSavesAGrant: a proposal of the broker becomes a grant with a tap; the next request like
// it asks nobody.
func TestCardSavesAGrant(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.rest()
	h := d.hook(bash("s", "npm test"))
	b.see(open, "npm test")
	b.tap(open + " button.third")
	b.tap(open + ` [data-mode="rule"]`)
	b.see(open+" .obstacle", "Choose a rule")
	b.tap(open + " .suggestion .option")
	b.see(open+" .chips:last-child", "15 minutes")
	b.see(open+" .obstacle", "Will be saved for 15 minutes.")
	b.click(open+" .choice", "5 times")
	b.see(open+" .obstacle", "Will be saved for 5 times.")
	b.click(open+" .choice", "15 minutes")
	b.looks("answer-rule")
	b.do(phone)
	b.tap(open + " button.allow")
	b.see(over+" .said", "Saved for 15 minutes, under Rules: Run npm test")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.do(chromedp.WaitNotPresent(chromedp.CSS(open)))
	if out := d.hook(bash("s", "npm test")).wait(); out != allowed {
		t.Errorf("the second one printed %s", out)
	}
	if r := d.settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "rule" {
		t.Errorf("decided by %+v, want the grant", r.DecidedBy)
	}
	b.quiet()
}
