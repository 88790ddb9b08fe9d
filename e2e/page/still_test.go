package page

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageStandsStill: while a request waits the page draws when its clock ticks, and not in between. An
// animation that never ends would have a phone draw sixty times a second for as long as the page is open.
func TestPageStandsStill(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	d.AsksFor(10*time.Minute, "still", "make still")
	b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + " [data-ui=drain]")))
	// What moves because the card has just come comes to its end; so three ticks in a row count, not the first.
	moves := rig.Value(b, chromedp.Evaluate[[]string](`new Promise((done) => {
		let still = 0, looks = 0;
		const watch = new MutationObserver(() => requestAnimationFrame(() => {
			const moves = document.getAnimations().map((a) => a.effect.target.outerHTML.slice(0, 80));
			still = moves.length ? 0 : still + 1;
			if (still < 3 && ++looks < 20) return;
			watch.disconnect();
			done(moves);
		}));
		watch.observe(document.querySelector(`+rig.JSString(rig.Open+" [data-ui=drain]")+`), { attributes: true, childList: true, subtree: true });
	})`, chromedp.EvalAwaitPromise))
	if len(moves) > 0 {
		t.Errorf("the page moves all the time: %q", moves)
	}
	b.Quiet()
}
