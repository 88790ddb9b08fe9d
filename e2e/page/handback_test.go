package page

import (
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestHandBackOnThePage leaves requests to the terminal from the menu and by key: the hook prints nothing,
// the record says which device it was, and what has no terminal offers no such answer.
func TestHandBackOnThePage(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	h := d.Hook(rig.Bash("s", "git push origin main"))
	first := d.WaitPending(1)[0].ID
	b.See(rig.Open, "git push")
	b.Mode("handback")
	b.See(rig.Open+" [data-ui=others]", "Neither allows nor denies it")
	if b.Has(rig.Open + " [data-ui=answers] [data-action=allow]") {
		t.Error("it can be allowed by the same button")
	}
	b.Tap(rig.Open + " [data-action=handback]")
	if got := h.Wait(); got != "" {
		t.Errorf("the hook prints %q", got)
	}
	b.See(rig.Over, rig.Word("outcome.left"))
	b.Shot("handback-toast.png")
	r := d.Request(first)
	if r.Outcome != "handed_back" || r.Reason != "person" {
		t.Errorf("%+v", r)
	}
	d.Signed(first)

	h = d.Hook(rig.Bash("s", "git push origin two"))
	second := d.WaitPending(1)[0].ID
	b.See(rig.Open, "origin two")
	rig.Eventually(t, rig.Soon, "the key opens that answer", func() bool {
		if b.Has(rig.Open + " [data-action=handback]") {
			return true
		}
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(`+rig.JSString(rig.Open)+`)?.focus()`), chromedp.KeyEvent("t"))
		return false
	})
	b.Tap(rig.Open + " [data-action=handback]")
	if got := h.Wait(); got != "" {
		t.Errorf("the hook prints %q", got)
	}
	if r := d.Request(second); r.Outcome != "handed_back" {
		t.Errorf("%+v", r)
	}
	b.Quiet()
}
