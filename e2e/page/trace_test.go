package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// otherTrace has the broker answer with a trace of a request that was tampered with, once its page asks for that.
const otherTrace = `(() => {
	const real = fetch;
	window.fetch = (url, ...rest) => !window.tampered || !String(url).endsWith("/audit") ? real(url, ...rest) : Promise.resolve(new Response(JSON.stringify({
		requestId: "x",
		steps: [
			{step: "asked", time: "2026-11-28T08:19:50Z", seq: 1, place: "before"},
			{step: "shown", time: "2026-11-28T08:19:55Z", seq: 2, by: {kind: "device", id: "e", name: "laptop"}, key: "thumbprint", place: "none"},
			{step: "shown", time: "2026-11-28T08:19:57Z", seq: 2, by: {kind: "device", id: "d", name: "phone\u202e"}, shown: "not JSON", signature: "BAD", key: "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s", place: "missing"},
			{step: "decided", time: "2026-11-28T08:19:58Z", seq: 2, by: {kind: "device", id: "d", name: "phone\u202e", codeOrigin: "independent"}, outcome: "allowed", signature: "BAD", key: "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s", place: "missing"},
			{step: "delivered", time: "2026-11-28T08:19:59Z", seq: 3, place: "waits"},
			{step: "refused", time: "2026-11-28T08:20:00Z", seq: 4, failure: "nobody signed it", place: "none"},
		],
		tree: {origin: "assent/0", size: 1, time: "2026-11-28T08:20:00Z", wrong: "an entry was put in later", stopped: "entry 2 is another"},
	}), {status: 200, headers: {"content-type": "application/json"}}));
})()`

// TestPageTraces: from the history each request opens its trace: asked, shown, decided, delivered, ran, each with its time,
// its signature and its place in the tree; and it says where the proof is to be had.
func TestPageTraces(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Before(otherTrace)
	b.Pair(d)
	h := d.Hook(rig.Bash("s", "touch out.txt"))
	b.See(rig.Open, "touch out.txt")
	r := d.WaitPending(1)[0]
	rig.Eventually(t, rig.Soon, "it is recorded that this page shows it", func() bool { return len(d.Screens(r.ID)) == 1 })
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Fatalf("the hook says %q", out)
	}
	b.View("History")
	const row = "[data-ui=decision]"
	b.See(row, "touch out.txt")
	b.Tap(row + " [data-action=trace]")
	const trace = row + " [data-ui=trace]"
	b.See(trace, rig.Word("trace.steps.delivered"))
	steps := rig.Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[data-ui=trace] li")].map(e => [e.dataset.step, e.dataset.signature, e.dataset.place].join(" "))`))
	if got := strings.Join(steps, ", "); got != "asked none tree, shown none tree, shown good tree, decided good tree, delivered none tree" {
		t.Errorf("the steps are %s", got)
	}
	if n := b.Count(trace + " time[datetime]"); n != 5 {
		t.Errorf("%d times", n)
	}
	b.See(trace+" [data-step=decided]", rig.Word("trace.signatures.good"))
	b.See(trace+" [data-step=decided]", rig.Word("trace.code.broker"))
	b.See(trace+" [data-step=decided] [data-ui=place]", rig.Word("trace.leaf", "3")[:4])
	b.See(trace+" [data-step=asked]", rig.Word("trace.unsigned.broker"))
	const onScreen, signed = trace + " [data-step=shown][data-signature=none]", trace + " [data-step=shown][data-signature=good]"
	b.See(onScreen, "says the broker")
	b.See(onScreen, rig.Word("trace.unsigned.device"))
	b.See(signed, "Bash")
	b.See(signed, rig.Word("trace.all"))
	b.See(trace, rig.Word("trace.word"))
	b.See(trace, "assent audit verify")
	b.Accessible("trace")
	b.NothingCut("trace")
	b.Looks("trace")

	// What a person has to see: a signature that does not fit, and entries that the tree has not, and never will have.
	rig.Value(b, chromedp.Evaluate[bool](`window.tampered = true`))
	b.Tap(row + " [data-action=trace]")
	rig.Eventually(t, rig.Soon, "the trace is gone", func() bool { return !b.Has(trace) })
	b.Tap(row + " [data-action=trace]")
	for step, words := range map[string][]string{
		"asked":                      {rig.Word("trace.places.before")},
		"shown][data-signature=none": {rig.Word("trace.onScreen", "laptop")},
		"shown][data-signature=BAD":  {rig.Word("trace.signatures.BAD"), "not JSON", "phone⟦U+202E⟧"},
		"decided":                    {rig.Word("trace.signatures.BAD"), rig.Word("trace.places.missing"), rig.Word("trace.code.independent")},
		"delivered":                  {rig.Word("trace.places.stopped")},
		"refused":                    {rig.Word("trace.places.none"), "nobody signed it"},
	} {
		for _, text := range words {
			b.See(trace+" [data-step="+step+"]", text)
		}
	}
	b.See(trace, rig.Word("trace.wrong", "an entry was put in later"))
	b.See(trace, rig.Word("trace.stopped", "entry 2 is another"))
	b.Accessible("trace-wrong")
	b.NothingCut("trace-wrong")
	b.Looks("trace-wrong")

	// A decision that came from a terminal is by nobody.
	rig.Value(b, chromedp.Evaluate[bool](`(window.tampered = false, true)`))
	d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command("make"))
	d.Command("allow", d.WaitPending(1)[0].ID)
	b.View("Inbox")
	b.View("History")
	b.See(row, "make")
	b.Tap(row + " [data-action=trace]")
	b.See(trace+" [data-step=decided]", "Allowed "+rig.Word("history.fromTerminal"))
	b.Quiet()
}
