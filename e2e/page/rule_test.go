package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestCardSavesAGrant: a proposal of the broker becomes a grant with a tap; the next request like
// it asks nobody.
func TestCardSavesAGrant(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	h := d.Hook(rig.Bash("s", "npm test"))
	b.See(rig.Open, "npm test")
	b.Mode("always")
	b.See(rig.Open+" [data-ui=obstacle]", rig.Word("answer.chooseAlways"))
	b.Tap(rig.Open + " [data-ui=suggestion][data-kind=rule] [data-ui=option]")
	b.See(rig.Open+" [data-ui=chips]:last-child", "15 minutes")
	b.See(rig.Open+" [data-ui=obstacle]", "Will be saved for 15 minutes.")
	b.Click(rig.Open+" [data-ui=choice]", "5 times")
	b.See(rig.Open+" [data-ui=obstacle]", "Will be saved for 5 times.")
	b.Click(rig.Open+" [data-ui=choice]", "15 minutes")
	b.Looks("answer-rule")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=allow]")
	b.See(rig.Over, "Saved for 15 minutes, under Rules: Run npm test")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Do(chromedp.WaitNotPresent(chromedp.CSS(rig.Open)))
	if out := d.Hook(rig.Bash("s", "npm test")).Wait(); out != rig.Allowed {
		t.Errorf("the second one printed %s", out)
	}
	if r := d.Settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "rule" {
		t.Errorf("decided by %+v, want the grant", r.DecidedBy)
	}
	b.Quiet()
}

// TestAlwaysOpensInSight: what the broker proposes comes after the panel was opened, and makes it longer than a phone's
// screen is high. It then begins at the screen's upper edge, not at the lower one.
func TestAlwaysOpensInSight(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	d.Hook(rig.Bash("s", "npm test -- "+strings.TrimSpace(strings.Repeat("checkout ", 60)))) // killed when the test is over
	b.See(rig.Open, "npm test")
	b.Mode("always")
	rig.Eventually(t, rig.Soon, "rules are proposed", func() bool { return b.Has(rig.Open + " [data-ui=suggestion][data-kind=rule]") })
	rig.Eventually(t, rig.Soon, "the panel is above the foot, or begins where the screen does", func() bool {
		panel, foot := b.Box("[data-ui=others]"), b.Box("[data-ui=foot]")
		return panel.Y >= 0 && (panel.Y+panel.Height <= foot.Y || panel.Y < 60)
	})
}
