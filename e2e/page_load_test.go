package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// TestPageScrollsAThousand: a thousand requests that wait are all in the list, and it scrolls. The
// figures are printed, not judged: the machine is shared.
func TestPageScrollsAThousand(t *testing.T) {
	t.Parallel()
	const many = 1000
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.tapMany(d)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	chans := make([]<-chan string, many)
	start := time.Now()
	for i := range chans {
		chans[i] = d.asks(ctx, fmt.Sprintf("s%d", i%10), fmt.Sprintf("/home/dev/app%d", i%10), "Bash", command(fmt.Sprintf("npm run task%d -- --number %d", i%7, i)))
	}
	eventually(t, 3*soon, "all of them are in the list", func() bool { return b.count(".one") == many+1 })
	t.Logf("%d requests in the list %v after the first was posted", many, time.Since(start).Round(time.Millisecond))
	b.shot("thousand.png")
	for name, set := range map[string]chromedp.Action[chromedp.Void]{"phone": phone, "desktop": desktop} {
		b.do(set)
		before := b.busy()
		figures := value(b, chromedp.Evaluate[string](`(async () => {
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
		after := b.busy()
		spent := func(what string) float64 { return after[what] - before[what] }
		t.Logf("%s: %s; the page's thread worked for %.2f s, of them script %.2f s, style %.2f s, layout %.2f s", name, figures, spent("ThreadTime"), spent("ScriptDuration"), spent("RecalcStyleDuration"), spent("LayoutDuration"))
	}
	// One is settled: it goes, the others stay.
	before := b.count(".one:not(.over)")
	d.allow(d.pending()[many/2])
	eventually(t, soon, "one less waits", func() bool { return b.count(".one:not(.over)") == before-1 })
	cancel()
	for _, c := range chans {
		<-c
	}
	eventually(t, 3*soon, "no ghost stays", func() bool { return b.count(".one:not(.over)") <= 1 })
	b.quiet()
}

// busy returns how long the page's thread has been at work since the first call, in seconds of its
// own time: what others do on this machine is not in it.
func (b *browser) busy() map[string]float64 {
	b.t.Helper()
	b.do(send(performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"}))
	sums := map[string]float64{}
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		got, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, m := range got.Metrics {
			sums[m.Name] = m.Value
		}
		return nil
	}))
	return sums
}

// tapMany shows alike requests together, which takes one that waits.
func (b *browser) tapMany(d *daemon) {
	b.t.Helper()
	d.asks(b.t.Context(), "first", "/home/dev/first", "Bash", command("true"))
	b.see(".card", "true")
	b.tap(".tools .switch")
	b.see(".one", "true")
}

// TestPageFirstLoad weighs what a phone fetches before it shows anything, and prints how soon that
// is on a slow line.
func TestPageFirstLoad(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	ch := d.asks(t.Context(), "s", "/home/dev/app", "Bash", command("make"))
	b.see(open, "make")
	b.do(send(network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{Latency: 150, DownloadThroughput: 1.6e6 / 8, UploadThroughput: 750e3 / 8},
	}}), send(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}),
		send(network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})) // what goes through it is counted unpacked
	b.do(chromedp.Reload())
	b.see(open, "make")
	type weight struct {
		Bytes, Files int
		Paint        float64
		All          []string
	}
	w := value(b, chromedp.Evaluate[weight](`(() => {
		const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter(e => !e.name.includes("/v1/") && !/png$|webmanifest$|svg$|sw\.js$|offline/.test(e.name));
		const paint = performance.getEntriesByName("first-contentful-paint")[0];
		return {Bytes: files.reduce((n, e) => n + e.encodedBodySize, 0), Files: files.length, Paint: paint?.startTime ?? 0, All: files.map(e => new URL(e.name).pathname + " " + e.encodedBodySize)};
	})()`))
	t.Logf("%d bytes in %d files %q, first contentful paint %.0f ms at 1.6 Mbit/s and 150 ms", w.Bytes, w.Files, w.All, w.Paint)
	if w.Bytes > 60<<10 || w.Bytes < 10<<10 {
		t.Errorf("the first load is %d bytes, want at most %d", w.Bytes, 60<<10)
	}
	b.tap(open + " button.deny")
	<-ch
	b.quiet()
}

// TestPageAfterSleep: what was settled and what came while the page slept is shown as it is, with no
// card lost and none left over, again and again.
func TestPageAfterSleep(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t))
	b := newBrowser(t)
	b.pair(d)
	cards := func(want int) {
		t.Helper()
		eventually(t, soon, fmt.Sprintf("%d cards wait", want), func() bool { return b.count(".card:not(.over)") == want })
	}
	chans := []<-chan string{}
	ask := func(text string) {
		n := len(d.pending())
		chans = append(chans, d.asks(t.Context(), "s", "/home/dev/app", "Bash", command(text)))
		d.waitPending(n + 1)
	}
	for round := range 3 {
		ask(fmt.Sprintf("stays %d", round))
		ask(fmt.Sprintf("goes %d", round))
		cards(round + 2)
		b.sleep()
		list := d.pending()
		d.allow(list[len(list)-1])
		ask(fmt.Sprintf("came %d", round))
		list = d.pending()
		d.deny(list[len(list)-1], "meanwhile")
		b.wake()
		cards(round + 1)
		b.see("main", fmt.Sprintf("stays %d", round))
	}
	cards(3)
	for _, r := range d.pending() {
		d.allow(r)
	}
	cards(0)
	for _, c := range chans {
		<-c
	}
	b.quiet()
}
