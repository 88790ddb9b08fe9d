package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageWithTheSystemsColours: with the system's own colours a button is still a button and what is
// dangerous still stands out, and with more contrast nothing is written in grey.
func TestPageWithTheSystemsColours(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command("rm -rf /var/tmp/shop ~/.cache/shop"))
	d.WaitPending(1)
	b.See(rig.Open, "rm -rf")
	for _, command := range []string{"git push origin main", "git status"} {
		n := len(d.Pending())
		d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command(command))
		d.WaitPending(n + 1)
	}
	for _, feature := range []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}, {Name: "prefers-contrast", Value: "more"}} {
		b.Do(rig.Send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{feature}}))
		for name, size := range map[string]chromedp.Action[chromedp.Void]{"phone": rig.Phone, "desktop": rig.Desktop} {
			b.Do(size)
			if !rig.Value(b, chromedp.Evaluate[bool](fmt.Sprintf(`matchMedia("(%s: %s)").matches`, feature.Name, feature.Value))) {
				t.Fatalf("the browser does not take %s", feature.Name)
			}
			bare := rig.Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[data-ui=answers] button, [data-ui=risk]")]
				.filter((e) => { const s = getComputedStyle(e); return parseFloat(s.borderLeftWidth) === 0 || s.borderLeftStyle === "none" })
				.map((e) => e.outerHTML)`))
			if len(bare) > 0 && feature.Name == "forced-colors" {
				t.Errorf("%s: nothing but a ground says what this is: %q", name, bare)
			}
			b.Shot(fmt.Sprintf("system-%s-%s.png", feature.Name, name))
		}
	}
	b.Quiet()
}
