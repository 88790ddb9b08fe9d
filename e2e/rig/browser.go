package rig

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	window "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"assent/internal/freeport"
)

// Browser is the page on a phone: a tab of headless Chromium, 390×844, with a profile of its own.
type Browser struct {
	t    *testing.T
	ctx  context.Context
	said Output // what the page threw and what its policy stopped
}

// Tab opens another tab of the browser, with the same profile.
func (b *Browser) Tab() *Browser {
	b.t.Helper()
	return newTab(b.t, b.ctx)
}

// Device opens a tab with a profile of its own: to the broker it is another device.
func (b *Browser) Device() *Browser {
	b.t.Helper()
	return newTab(b.t, b.ctx, chromedp.WithNewBrowserContext())
}

func newTab(t *testing.T, ctx context.Context, opts ...chromedp.ContextOption) *Browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx, opts...)
	t.Cleanup(cancel)
	b := &Browser{t: t, ctx: ctx}
	if err := chromedp.Do(b.ctx); err != nil { // opens it; the first one starts the browser
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
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
	b.Do(Phone)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page shows:\n%s\nand said:\n%s", b.Text("body"), b.said.Tail(2000))
			b.Shot("failed.png")
		}
	})
	return b
}

// Close closes the tab, and the browser with the first one. It is harmless twice.
func (b *Browser) Close() {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	_ = chromedp.Cancel(ctx) // waits, else the browser still writes to its profile while that is removed
}

var (
	Phone   = chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile, chromedp.EmulateTouch)
	Desktop = chromedp.EmulateViewport(1440, 900)
)

// Colors sets what the system prefers, "light" or "dark".
func Colors(scheme string) chromedp.Action[chromedp.Void] {
	return Send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

// Send is an action that is one command of the browser's protocol.
func Send[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, command, params)
		return err
	})
}

// Before runs a script in every page that is opened from now on, before its own.
func (b *Browser) Before(script string) {
	b.t.Helper()
	b.Do(Send(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
}

// actionTimeout bounds a hang of the browser. What takes it long is often the test's own: a thousand cards.
const actionTimeout = 3 * Soon

// Do runs actions one after the other; an error fails the test.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, actionTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// Value runs an action that has a value.
func Value[T any](b *Browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, actionTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
	return v
}

// Text returns what an element shows, "" if it is not there.
func (b *Browser) Text(selector string) string {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	// In the middle of a navigation there is nothing to look at.
	s, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector(`+JSString(selector)+`)?.innerText ?? ""`))
	return s
}

// See waits until an element shows a text.
func (b *Browser) See(selector, text string) {
	b.t.Helper()
	Eventually(b.t, Soon, selector+" shows "+text, func() bool { return strings.Contains(b.Text(selector), text) })
}

// Tap taps an element when it is armed, as a finger does: by coordinates. What wants to be held is held. A card below the screen,
// and what lies under its foot, is brought up first, as a person would who sees it there. Who taps
// too long, or beside what has moved meanwhile, taps again.
func (b *Browser) Tap(selector string) {
	b.t.Helper()
	b.Do(chromedp.WaitVisible(chromedp.CSS(selector)))
	Value(b, chromedp.Evaluate[bool](`(e => { (e?.closest("[data-ui=card]") ?? e)?.scrollIntoView({ block: "nearest" }); return true })(document.querySelector(`+JSString(selector)+`))`))
	Eventually(b.t, Soon, selector+" takes a tap", func() bool { return b.touch(selector) })
}

// Point is a place on the screen, in CSS pixels.
type Point struct{ X, Y float64 }

// touch is tap, once, and says whether the element took it. A page that has gone by then had taken it.
func (b *Browser) touch(selector string) bool {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Soon)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[[]Point](`(() => {
		const e = document.querySelector(`+JSString(selector+`:not([aria-disabled="true"]):not([disabled])`)+`);
		if (!e) { // a card's buttons work where they can be seen
			const off = document.querySelector(`+JSString(selector)+`), box = off?.getBoundingClientRect();
			if (box && (box.bottom < 0 || box.top > innerHeight)) off.scrollIntoView({ block: "center" });
			return [];
		}
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
	if err != nil || len(at) == 0 {
		return false
	}
	if Value(b, chromedp.Evaluate[bool](`window.aimed.dataset.press === "hold"`)) {
		return b.hold(at[0])
	}
	return b.Finger(at[0])
}

// hold presses what window.aimed is until it is full, and says whether it took it.
func (b *Browser) hold(at Point) bool {
	b.t.Helper()
	b.Touch(input.DispatchTouchEventTypeTouchStart, at)
	defer b.Touch(input.DispatchTouchEventTypeTouchEnd)
	var state string
	Eventually(b.t, Soon, "the end of a hold", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, Soon)
		defer cancel()
		var err error
		state, err = chromedp.Run(ctx, chromedp.Evaluate[string](`window.aimed.isConnected ? window.aimed.dataset.state ?? "" : "busy"`))
		return err == nil && state != "holding"
	})
	return state == "busy"
}

// Touch is one step of what a finger does: it comes down on a point, moves to one, or goes up.
func (b *Browser) Touch(step input.DispatchTouchEventType, at ...Point) {
	b.t.Helper()
	points := make([]*input.TouchPoint, 0, len(at))
	for _, p := range at {
		points = append(points, &input.TouchPoint{X: p.X, Y: p.Y})
	}
	b.Do(Send(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: step, TouchPoints: points}))
}

// Finger taps a point, and says whether what window.aimed is was tapped, and took it. The browser
// makes no tap of a finger that a slow machine leaves on the glass for too long; and a button takes
// none that has moved since it was looked at.
func (b *Browser) Finger(at Point) bool {
	b.t.Helper()
	Value(b, chromedp.Evaluate[bool](`(() => {
		if (window.tapped === undefined) {
			addEventListener("click", (c) => (window.tapped ||= window.aimed.contains(c.target) ? "took" : "missed"), true);
			addEventListener("click", () => {
				const e = window.aimed;
				if (e.isConnected && e.ariaDisabled === "true" && e.dataset.state !== "busy") window.tapped = "refused";
			});
		}
		window.tapped = "";
		return true;
	})()`))
	b.Do(chromedp.TapXY(at.X, at.Y))
	var tapped string
	end := time.Now().Add(5 * time.Second) // of an element that is tapped in vain: then once more
	Eventually(b.t, Soon, "a tap", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, Soon)
		defer cancel()
		var err error
		tapped, err = chromedp.Run(ctx, chromedp.Evaluate[string](`window.tapped ?? "took"`))
		return err == nil && tapped != "" || time.Now().After(end)
	})
	return tapped == "took"
}

// Rest leaves a finger on the screen: no card that is over goes away under it, however slow this
// machine is to look at it.
func (b *Browser) Rest() {
	b.t.Helper()
	Value(b, chromedp.Evaluate[bool](`(() => {
		const down = () => window.resting && dispatchEvent(new Event("pointerdown"));
		if (window.resting === undefined) for (const up of ["pointerup", "pointercancel", "blur"]) addEventListener(up, () => setTimeout(down), true);
		window.resting = true;
		return down();
	})()`))
}

// Gone waits until no card is left. A finger that rests on the screen is lifted meanwhile.
func (b *Browser) Gone() {
	b.t.Helper()
	rested := Value(b, chromedp.Evaluate[bool](`(() => {
		const rested = !!window.resting;
		if (rested) {
			window.resting = false;
			dispatchEvent(new Event("pointerup"));
		}
		return rested;
	})()`))
	Eventually(b.t, Soon, "the card goes", func() bool { return b.Count("[data-ui=card]") == 0 })
	if rested {
		b.Rest()
	}
}

// Sleep hides and freezes the page, as a phone does in a pocket.
func (b *Browser) Sleep() {
	b.t.Helper()
	b.Do(Send(page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: page.SetWebLifecycleStateStateFrozen}))
}

// Wake ends a sleep. A page that was frozen stays hidden until its window comes back.
func (b *Browser) Wake() {
	b.t.Helper()
	b.Do(Send(page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: page.SetWebLifecycleStateStateActive}))
	for _, state := range []window.WindowState{window.WindowStateMinimized, window.WindowStateNormal} {
		b.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
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

// Quiet fails the test if the page threw anything or broke its policy.
func (b *Browser) Quiet() {
	b.t.Helper()
	if said := b.said.Tail(2000); said != "" {
		b.t.Errorf("the page threw: %s", said)
	}
}

// Shot leaves a screenshot where one is wanted.
func (b *Browser) Shot(name string) {
	path := Artifact(b.t, name)
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

// Looks leaves screenshots on a phone and on a desktop, light and dark.
func (b *Browser) Looks(name string) {
	b.t.Helper()
	if Artifact(b.t, name) == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		b.Do(Colors(scheme), Desktop)
		b.Shot(name + "-desktop-" + scheme + ".png")
		b.Do(Phone)
		b.Shot(name + "-phone-" + scheme + ".png")
	}
}

// JSString is a text as JavaScript writes it.
func JSString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a bug in the test
	}
	return string(b)
}

// FreePort returns a loopback address for a server that comes back on it.
func FreePort(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	return freeport.Address(ports[0])
}
