package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/gorilla/websocket"
)

// page measures from a hook's POST to the frame in which the paired page shows the request's card,
// against the same way to a bare WebSocket client plus one change of an element in that browser.
func (b *bench) page() ([]row, error) {
	const what, runs = "a hook posts → the request is on the screen, p50", 60
	missing := func(err error) ([]row, error) {
		return []row{{what, fmt.Sprintf("%v: %v", errMissing, err), "≤ 100 ms", false}}, nil
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		return missing(err)
	}
	s, err := b.serve("")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var link struct{ URL string }
	if status, err := s.call("POST", "/v1/pair", map[string]string{"role": "approve", "name": "bench"}, &link); err != nil {
		return nil, fmt.Errorf("a pairing link: %w", err)
	} else if status != http.StatusCreated {
		return nil, fmt.Errorf("a pairing link: status %d", status)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	profile := filepath.Join(b.dir, "profile")
	if err := os.Mkdir(profile, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel = chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WindowSize(390, 844),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Env("HOME="+profile))
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(link.URL), chromedp.WaitVisible(chromedp.CSS("[data-ui=link][data-state=live]"))); err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	defer func() { _ = chromedp.Cancel(ctx) }()
	conns, err := dial(1, "ws"+strings.TrimPrefix(s.url, "http")+"/v1/ws", http.Header{"Authorization": {"Bearer " + s.token}})
	if err != nil {
		return nil, err
	}
	defer conns[0].Close()

	// The time of the frame after a change, by the machine's clock in ms.
	const frame = `const shown = () => new Promise(r => requestAnimationFrame(() => setTimeout(() => r(performance.timeOrigin + performance.now()))));`
	var seen, socket, frames []time.Duration
	since := func(start time.Time, at float64) time.Duration {
		return time.Duration((at - float64(start.UnixMicro())/1000) * float64(time.Millisecond))
	}
	for i := range runs + 5 {
		took, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`(async () => { `+frame+` const t = performance.now(); const p = document.createElement("p"); p.textContent = t; document.body.append(p); await shown(); p.remove(); return performance.now() - t; })()`, chromedp.EvalAwaitPromise))
		if err != nil {
			return nil, err
		}
		if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](`(() => { `+frame+` window.shownAt = new Promise(r => {
			const o = new MutationObserver(() => document.querySelector("[data-ui=card]:not([data-state=over]) [data-ui=answers]") && (o.disconnect(), shown().then(r)));
			o.observe(document.body, {childList: true, subtree: true});
		}) })()`)); err != nil {
			return nil, err
		}
		got := make(chan time.Time, 1)
		go func() { got <- nextRequest(conns[0]) }()
		start := time.Now()
		h, err := s.ask(i)
		if err != nil {
			return nil, err
		}
		at, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`window.shownAt`, chromedp.EvalAwaitPromise))
		if err != nil {
			return nil, err
		}
		arrived := <-got
		h.conn.Close() // the agent is gone
		if err := s.waitGauge(0, 10*time.Second); err != nil {
			return nil, err
		}
		if err := chromedp.Do(ctx, chromedp.WaitNotPresent(chromedp.CSS("[data-ui=card]:not([data-state=over])"))); err != nil {
			return nil, err
		}
		if i < 5 {
			continue // warming up
		}
		seen, socket, frames = append(seen, since(start, at)), append(socket, arrived.Sub(start)), append(frames, time.Duration(took*float64(time.Millisecond)))
	}
	p50 := quantile(seen, 0.5)
	base := quantile(socket, 0.5) + quantile(frames, 0.5)
	slices.Sort(seen)
	return []row{{what + fmt.Sprintf(" (p95: %.2f×; against a bare WebSocket client and a frame of the same browser: %.1f×)", ratio(quantile(seen, 0.95), 100*time.Millisecond), ratio(p50, base)),
		fmt.Sprintf("%.2f× of 100 ms", ratio(p50, 100*time.Millisecond)), "≤ 1×", p50 <= 100*time.Millisecond}}, nil
}

// nextRequest returns when the next message about a request arrived.
func nextRequest(c *websocket.Conn) time.Time {
	for {
		_, m, err := c.ReadMessage()
		if err != nil || strings.Contains(string(m), `"pending"`) {
			return time.Now()
		}
	}
}
