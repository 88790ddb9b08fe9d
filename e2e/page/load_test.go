package page

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageScrollsAThousand: a thousand requests that wait are all in the list, and it scrolls. The
// figures are printed, not judged: the machine is shared.
func TestPageScrollsAThousand(t *testing.T) {
	t.Parallel()
	const many = 1000
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.TapMany()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	chans := make([]<-chan string, many)
	start := time.Now()
	for i := range chans {
		chans[i] = d.Asks(ctx, fmt.Sprintf("s%d", i%10), fmt.Sprintf("/home/dev/app%d", i%10), "Bash", rig.Command(fmt.Sprintf("npm run task%d -- --number %d", i%7, i)))
	}
	rig.Eventually(t, 3*rig.Soon, "all of them are in the list", func() bool { return b.Count("[data-ui=row]") == many })
	t.Logf("%d requests in the list %v after the first was posted", many, time.Since(start).Round(time.Millisecond))
	b.Shot("thousand.png")
	for name, set := range map[string]chromedp.Action[chromedp.Void]{"phone": rig.Phone, "desktop": rig.Desktop} {
		b.Do(set)
		before := b.Busy()
		figures := rig.Value(b, chromedp.Evaluate[string](`(async () => {
			const gaps = [];
			scrollTo(0, 0);
			await new Promise(r => setTimeout(r, 300));
			let last = performance.now(), y = 0;
			for (;;) {
				await new Promise(requestAnimationFrame);
				const now = performance.now();
				gaps.push(now - last);
				last = now;
				y += 400;
				scrollTo(0, y);
				if (scrollY < y - 401) break;
			}
			gaps.sort((a, b) => a - b);
			const q = p => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * p))].toFixed(1);
			return gaps.length + " frames, ms a frame: median " + q(.5) + ", p95 " + q(.95) + ", worst " + q(1) + "; page " + document.documentElement.scrollHeight + " px";
		})()`, chromedp.EvalAwaitPromise))
		after := b.Busy()
		spent := func(what string) float64 { return after[what] - before[what] }
		t.Logf("%s: %s; the page's thread worked for %.2f s, of them script %.2f s, style %.2f s, layout %.2f s", name, figures, spent("ThreadTime"), spent("ScriptDuration"), spent("RecalcStyleDuration"), spent("LayoutDuration"))
	}
	// One is settled: it goes, the others stay.
	before := b.Count("[data-ui=row]:not([data-state=over])")
	d.Allow(d.Pending()[many/2])
	rig.Eventually(t, rig.Soon, "one less waits", func() bool { return b.Count("[data-ui=row]:not([data-state=over])") == before-1 })
	cancel()
	for _, c := range chans {
		<-c
	}
	rig.Eventually(t, 3*rig.Soon, "no ghost stays", func() bool { return b.Count("[data-ui=row]:not([data-state=over])") <= 1 })
	b.Quiet()
}

// TestPageFirstLoad weighs what a phone fetches before it shows anything, and prints how soon that
// is on a slow line.
func TestPageFirstLoad(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	ch := d.Asks(t.Context(), "s", "/home/dev/app", "Bash", rig.Command("make"))
	b.See(rig.Open, "make")
	b.Do(rig.Send(network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{Latency: 150, DownloadThroughput: 1.6e6 / 8, UploadThroughput: 750e3 / 8},
	}}), rig.Send(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}),
		rig.Send(network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})) // what goes through it is counted unpacked
	b.Do(chromedp.Reload())
	b.See(rig.Open, "make")
	type weight struct {
		Bytes, Files int
		Paint        float64
		All          []string
	}
	w := rig.Value(b, chromedp.Evaluate[weight](`(() => {
		const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter(e => !e.name.includes("/v1/") && !/png$|webmanifest$|svg$|sw\.js$|offline|record-/.test(e.name)); // what comes when all is shown is not counted
		const paint = performance.getEntriesByName("first-contentful-paint")[0];
		return {Bytes: files.reduce((n, e) => n + e.encodedBodySize, 0), Files: files.length, Paint: paint?.startTime ?? 0, All: files.map(e => new URL(e.name).pathname + " " + e.encodedBodySize)};
	})()`))
	t.Logf("%d bytes in %d files %q, first contentful paint %.0f ms at 1.6 Mbit/s and 150 ms", w.Bytes, w.Files, w.All, w.Paint)
	if w.Bytes > 60<<10 || w.Bytes < 10<<10 {
		t.Errorf("the first load is %d bytes, want at most %d", w.Bytes, 60<<10)
	}
	b.Tap(rig.Open + " [data-action=deny]")
	<-ch
	b.Quiet()
}

// TestPageAfterSleep: what was settled and what came while the page slept is shown as it is, with no
// card lost and none left over, again and again.
func TestPageAfterSleep(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t))
	b := rig.NewBrowser(t)
	b.Pair(d)
	cards := func(want int) {
		t.Helper()
		rig.Eventually(t, rig.Soon, fmt.Sprintf("%d wait", want), func() bool { return b.Count("[data-ui=entry]") == want && (b.Count(rig.Open) == 1) == (want > 0) })
	}
	chans := []<-chan string{}
	ask := func(text string) {
		n := len(d.Pending())
		chans = append(chans, d.Asks(t.Context(), "s", "/home/dev/app", "Bash", rig.Command(text)))
		d.WaitPending(n + 1)
	}
	for round := range 3 {
		ask(fmt.Sprintf("stays %d", round))
		ask(fmt.Sprintf("goes %d", round))
		cards(round + 2)
		b.Sleep()
		list := d.Pending()
		d.Allow(list[len(list)-1])
		ask(fmt.Sprintf("came %d", round))
		list = d.Pending()
		d.Deny(list[len(list)-1], "meanwhile")
		b.Wake()
		cards(round + 1)
		b.See("main", "stays 0")
	}
	cards(3)
	for _, r := range d.Pending() {
		d.Allow(r)
	}
	cards(0)
	for _, c := range chans {
		<-c
	}
	b.Quiet()
}
