package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageSaysThatTheRulesAreBroken: the banner comes and goes with the file; what a rule answers
// is never a card, and a rule's note is on one.
func TestPageSaysThatTheRulesAreBroken(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	patient := strings.Replace(rig.SomeRules, "timeout: 1s", "timeout: 10m", 1)
	d.WriteRules(patient)
	d.Start()
	b := rig.NewBrowser(t)
	b.Do(chromedp.Navigate(d.PairingURL()))
	b.See("main", rig.Word("empty.head"))

	if out := d.Hook(rig.Bash("s1", "git status")).Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
	b.See("[data-ui=past] [data-ui=outcome]", "Allowed by the rule Bash(git status) in "+d.RulesFile())
	b.See("main", rig.Word("empty.head"))
	b.Shot("rule-allowed.png")

	d.WriteRules("version: 1\nallwo: []\n")
	b.See("[data-ui=rules-broken]", rig.Word("alarms.oldInForce"))
	b.See("[data-ui=rules-broken]", d.RulesFile()+":2:")
	h := d.Hook(rig.Bash("s1", "kubectl apply -f prod.yaml"))
	b.See(rig.Open, "a deployment to production")
	b.See(rig.Open, "rule deploy")
	b.Shot("rules-broken.png")
	d.Deny(d.WaitPending(1)[0], "no")
	h.Wait()

	d.WriteRules(patient)
	rig.Eventually(t, rig.Soon, "the banner goes", func() bool {
		return rig.Value(b, chromedp.Evaluate[int](`document.querySelectorAll("[data-ui=rules-broken]").length`)) == 0
	})
	b.Quiet()
}
