package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPageSaysThatTheRulesAreBroken: the banner comes and goes with the file; what a rule answers
// is never a card, and a rule's note is on one.
func TestPageSaysThatTheRulesAreBroken(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	patient := strings.Replace(someRules, "timeout: 1s", "timeout: 10m", 1)
	d.writeRules(patient)
	d.start()
	b := newBrowser(t)
	b.do(chromedp.Navigate(d.pairingURL()))
	b.see("main", "Nothing waits for you")

	if out := d.hook(bash("s1", "git status")).wait(); out != allowed {
		t.Errorf("the hook printed %q", out)
	}
	b.see(".past .outcome", "Allowed by the rule Bash(git status) in "+d.rulesFile())
	b.see("main", "Nothing waits for you")
	b.shot("rule-allowed.png")

	d.writeRules("version: 1\nallwo: []\n")
	b.see(".rules-broken", "A file of rules cannot be used as it is now.")
	b.see(".rules-broken", d.rulesFile()+":2:")
	h := d.hook(bash("s1", "kubectl apply -f prod.yaml"))
	b.see(open, "a deployment to production")
	b.see(open, "rule deploy")
	b.shot("rules-broken.png")
	d.deny(d.waitPending(1)[0], "no")
	h.wait()

	d.writeRules(patient)
	eventually(t, soon, "the banner goes", func() bool {
		return value(b, chromedp.Evaluate[int](`document.querySelectorAll(".rules-broken").length`)) == 0
	})
	b.quiet()
}
