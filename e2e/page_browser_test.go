package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	window "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"assent/e2e/freeport"
)

// browser is the page on a phone: a tab of headless Chromium, 390×844, with a profile of its own.
type browser struct {
	t    *testing.T
	ctx  context.Context
	said output // what the page threw and what its policy stopped
}

// The host resolver keeps the browser on this machine. Beside the names of loopback it knows
// insecure, so that a page of it is no secure context, and the docs' name of a broker.
const (
	insecure = "broker.test"
	resolver = "MAP " + insecure + " 127.0.0.1, MAP box.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
)

// newBrowser starts one that trusts the system's certificates and those in the files of trust.
func newBrowser(t *testing.T, trust ...string) *browser { return startBrowser(t, "{}", trust...) }

// startBrowser is newBrowser with settings as the browser's own pages would write them.
func startBrowser(t *testing.T, settings string, trust ...string) *browser {
	t.Helper()
	path := need(t, "chromium")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // outlives t.Context, for the last look
	t.Cleanup(cancel)
	profile := tempDir(t)
	trustRoots(t, profile, trust)
	if err := os.Mkdir(filepath.Join(profile, "Default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WindowSize(390, 844),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", resolver),
		chromedp.Env("HOME="+profile),
		chromedp.WSURLReadTimeout(time.Minute),
	)
	t.Cleanup(cancel)
	return newTab(t, ctx)
}

// tab opens another tab of the browser, with the same profile.
func (b *browser) tab() *browser {
	b.t.Helper()
	return newTab(b.t, b.ctx)
}

// device opens a tab with a profile of its own: to the broker it is another device.
func (b *browser) device() *browser {
	b.t.Helper()
	return newTab(b.t, b.ctx, chromedp.WithNewBrowserContext())
}

func newTab(t *testing.T, ctx context.Context, opts ...chromedp.ContextOption) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx, opts...)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Do(b.ctx); err != nil { // opens it; the first one starts the browser
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Source == "security" {
				_, _ = b.said.Write([]byte(m.String() + "\n"))
			}
		}
	}()
	b.do(phone)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page shows:\n%s\nand said:\n%s", b.text("body"), b.said.tail(2000))
			b.shot("failed.png")
		}
	})
	return b
}

// close closes the tab, and the browser with the first one. It is harmless twice.
func (b *browser) close() {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	_ = chromedp.Cancel(ctx) // waits, else the browser still writes to its profile while that is removed
}

var (
	phone   = chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile, chromedp.EmulateTouch)
	desktop = chromedp.EmulateViewport(1440, 900)
)

// colors sets what the system prefers, "light" or "dark".
func colors(scheme string) chromedp.Action[chromedp.Void] {
	return send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

// send is an action that is one command of the browser's protocol.
func send[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, command, params)
		return err
	})
}

// before runs a script in every page that is opened from now on, before its own.
func (b *browser) before(script string) {
	b.t.Helper()
	b.do(send(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
}

// patience bounds a hang of the browser. What takes it long is often the test's own: a thousand cards.
const patience = 3 * soon

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// value runs an action that has a value.
func value[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
	return v
}

// text returns what an element shows, "" if it is not there.
func (b *browser) text(selector string) string {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	// In the middle of a navigation there is nothing to look at.
	s, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector(`+jsString(selector)+`)?.innerText ?? ""`))
	return s
}

// see waits until an element shows a text.
func (b *browser) see(selector, text string) {
	b.t.Helper()
	eventually(b.t, soon, selector+" shows "+text, func() bool { return strings.Contains(b.text(selector), text) })
}

// tap taps an element when it is armed, as a finger does: by coordinates. A card below the screen,
// and what lies under its foot, is brought up first, as a person would who sees it there. Who taps
// too long, or beside what has moved meanwhile, taps again.
func (b *browser) tap(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	value(b, chromedp.Evaluate[bool](`(e => { (e?.closest(".card") ?? e)?.scrollIntoView({ block: "nearest" }); return true })(document.querySelector(`+jsString(selector)+`))`))
	eventually(b.t, soon, selector+" takes a tap", func() bool { return b.touch(selector) })
}

type point struct{ X, Y float64 }

// touch is tap, once, and says whether the element took it. A page that has gone by then had taken it.
func (b *browser) touch(selector string) bool {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[[]point](`(() => {
		const e = document.querySelector(`+jsString(selector+`:not([aria-disabled="true"]):not([disabled])`)+`);
		if (!e) return [];
		const middle = () => {
			const box = [...e.getClientRects()].find((r) => r.width > 0 && r.height > 0);
			return box && { X: box.left + box.width / 2, Y: box.top + box.height / 2 };
		};
		const free = () => {
			const at = middle();
			const top = at && document.elementFromPoint(at.X, at.Y);
			return !!top && (e.contains(top) || top.contains(e));
		};
		if (!free()) e.scrollIntoView({ block: "center" });
		if (!free()) return [];
		window.aimed = e;
		return [middle()];
	})()`))
	return err == nil && len(at) > 0 && b.finger(at[0])
}

// finger taps a point, and says whether what window.aimed is was tapped, and took it. The browser
// makes no tap of a finger that a slow machine leaves on the glass for too long; and a button takes
// none that has moved since it was looked at.
func (b *browser) finger(at point) bool {
	b.t.Helper()
	value(b, chromedp.Evaluate[bool](`(() => {
		if (window.tapped === undefined) {
			addEventListener("click", (c) => (window.tapped ||= window.aimed.contains(c.target) ? "took" : "missed"), true);
			addEventListener("click", () => {
				const e = window.aimed;
				if (e.isConnected && e.ariaDisabled === "true" && !e.classList.contains("busy")) window.tapped = "refused";
			});
		}
		window.tapped = "";
		return true;
	})()`))
	b.do(chromedp.TapXY(at.X, at.Y))
	var tapped string
	end := time.Now().Add(5 * time.Second) // of an element that is tapped in vain: then once more
	eventually(b.t, soon, "a tap", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, soon)
		defer cancel()
		var err error
		tapped, err = chromedp.Run(ctx, chromedp.Evaluate[string](`window.tapped ?? "took"`))
		return err == nil && tapped != "" || time.Now().After(end)
	})
	return tapped == "took"
}

// rest leaves a finger on the screen: no card that is over goes away under it, however slow this
// machine is to look at it.
func (b *browser) rest() {
	b.t.Helper()
	value(b, chromedp.Evaluate[bool](`(() => {
		const down = () => window.resting && dispatchEvent(new Event("pointerdown"));
		if (window.resting === undefined) for (const up of ["pointerup", "pointercancel", "blur"]) addEventListener(up, () => setTimeout(down), true);
		window.resting = true;
		return down();
	})()`))
}

// gone waits until no card is left. A finger that rests on the screen is lifted meanwhile.
func (b *browser) gone() {
	b.t.Helper()
	rested := value(b, chromedp.Evaluate[bool](`(() => {
		const rested = !!window.resting;
		if (rested) {
			window.resting = false;
			dispatchEvent(new Event("pointerup"));
		}
		return rested;
	})()`))
	eventually(b.t, soon, "the card goes", func() bool { return b.count(".card") == 0 })
	if rested {
		b.rest()
	}
}

// sleep hides and freezes the page, as a phone does in a pocket.
func (b *browser) sleep() {
	b.t.Helper()
	b.do(send(page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: page.SetWebLifecycleStateStateFrozen}))
}

// wake ends a sleep. A page that was frozen stays hidden until its window comes back.
func (b *browser) wake() {
	b.t.Helper()
	b.do(send(page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: page.SetWebLifecycleStateStateActive}))
	for _, state := range []window.WindowState{window.WindowStateMinimized, window.WindowStateNormal} {
		b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			w, err := chromedp.Call(ctx, window.GetWindowForTarget, window.GetWindowForTargetParams{})
			if err != nil {
				return err
			}
			_, err = chromedp.Call(ctx, window.SetWindowBounds, window.SetWindowBoundsParams{
				WindowID: w.WindowID, Bounds: &window.Bounds{WindowState: state},
			})
			return err
		}))
	}
}

// quiet fails the test if the page threw anything or broke its policy.
func (b *browser) quiet() {
	b.t.Helper()
	if said := b.said.tail(2000); said != "" {
		b.t.Errorf("the page threw: %s", said)
	}
}

// shot leaves a screenshot where one is wanted.
func (b *browser) shot(name string) {
	path := artifact(b.t, name)
	if path == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("no screenshot %s: %v", name, err)
		return
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Error(err)
	}
}

// looks leaves screenshots on a phone and on a desktop, light and dark.
func (b *browser) looks(name string) {
	b.t.Helper()
	if artifact(b.t, name) == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		b.do(colors(scheme), desktop)
		b.shot(name + "-desktop-" + scheme + ".png")
		b.do(phone)
		b.shot(name + "-phone-" + scheme + ".png")
	}
}

// jsString is a text as JavaScript writes it.
func jsString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a bug in the test
	}
	return string(b)
}

// freePort returns a loopback address for a server that comes back on it.
func freePort(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	return freeport.Address(ports[0])
}
