package page

import (
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestPageStopsEverything stops, resumes and pauses from the page: signed by its device, and shown on
// another one at once.
func TestPageStopsEverything(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	other := b.Device()
	other.Pair(d)
	h := d.Hook(rig.Bash("s", "make deploy"))
	id := d.WaitPending(1)[0].ID
	b.See(rig.Open, "make deploy")

	b.Tap("[data-action=settings]")
	b.Click("[data-ui=sections] button", rig.Word("settings.sections.stop"))
	b.Tap("[data-ui=stop] [data-action=stop]")
	b.See("[data-ui=stop] [data-action=yes]", rig.Word("halt.stopNow"))
	b.Looks("stop-sure")
	b.Tap("[data-ui=stop] [data-action=yes]")
	b.See("[data-ui=stop] [data-ui=halted]", "Everything is stopped")
	if got := h.Wait(); !strings.Contains(got, "Stopped by ") {
		t.Errorf("the agent is told %q", got)
	}
	if said := d.Said("trace", id); !strings.Contains(said, "signature verified") {
		t.Errorf("the denial is not signed: %s", said)
	}
	other.See("main [data-ui=halted]", "Everything is stopped")
	other.Looks("stopped")
	other.Accessible("stopped")

	b.View("Inbox")
	b.Tap("main [data-ui=halted] [data-action=lift]")
	b.Tap("main [data-ui=halted] [data-action=yes]")
	for _, page := range []*rig.Browser{b, other} {
		rig.Eventually(t, rig.Soon, "the stop is lifted everywhere", func() bool { return !page.Has("[data-ui=halted]") })
	}

	b.Tap("[data-action=settings]")
	b.Click("[data-ui=sections] button", rig.Word("settings.sections.stop"))
	b.Tap("[data-ui=stop] [data-action=pause]")
	b.See("[data-ui=stop] [data-ui=halted]", "Everything is paused")
	if got := d.Hook(rig.Bash("s", "make test")).Wait(); got != "" {
		t.Errorf("while paused the hook prints %q", got)
	}
	other.See("main [data-ui=halted]", "Everything is paused")
	b.Tap("[data-ui=stop] [data-ui=halted] [data-action=lift]")
	b.Tap("[data-ui=stop] [data-ui=halted] [data-action=yes]")
	rig.Eventually(t, rig.Soon, "the pause is over", func() bool { return !other.Has("[data-ui=halted]") })
}
