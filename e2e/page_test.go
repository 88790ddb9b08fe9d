package e2e

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is the page on a phone: headless Chromium, 390×844, with a profile of its own.
type browser struct {
	t    *testing.T
	ctx  context.Context
	said output // what the page wrote to its console, and what it threw
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := need(t, "chromium")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	profile := tempDir(t)
	ctx, cancel = chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WindowSize(390, 844),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), // it stays on this machine
		chromedp.Env("HOME="+profile),
		chromedp.WSURLReadTimeout(time.Minute),
	)
	t.Cleanup(cancel)
	b := &browser{t: t}
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	chromedp.ListenTarget(b.ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			_, _ = b.said.Write([]byte(e.ExceptionDetails.Error() + "\n"))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				_, _ = b.said.Write([]byte("console.error\n"))
			}
		}
	})
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page shows:\n%s\nand said:\n%s", b.text("body"), b.said.tail(2000))
			b.shot("failed.png")
		}
	})
	return b
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if b.ctx.Err() == nil && chromedp.FromContext(b.ctx).Browser == nil {
		ctx = b.ctx // the first action starts the browser, which must outlive it
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// text returns what an element shows, "" if it is not there.
func (b *browser) text(selector string) string {
	var s string
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Evaluate(`(document.querySelector(`+jsString(selector)+`)?.innerText ?? "")`, &s))
	return s
}

// see waits until an element shows a text.
func (b *browser) see(selector, text string) {
	b.t.Helper()
	eventually(b.t, soon, selector+" shows "+text, func() bool { return strings.Contains(b.text(selector), text) })
}

// tap taps an element in a card when its buttons are armed, as a finger does: by coordinates.
func (b *browser) tap(selector string) {
	b.t.Helper()
	sel := selector + `:not([aria-disabled="true"]):not([disabled])`
	b.do(chromedp.WaitVisible(sel, chromedp.ByQuery), chromedp.ScrollIntoView(sel, chromedp.ByQuery))
	// Scrolling may move things under the finger; the page then asks for patience again.
	b.do(chromedp.WaitVisible(sel, chromedp.ByQuery), chromedp.Click(sel, chromedp.ByQuery))
}

// shot leaves a screenshot where one is wanted.
func (b *browser) shot(name string) {
	path := artifact(b.t, name)
	if path == "" {
		return
	}
	var png []byte
	if err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		b.t.Logf("no screenshot %s: %v", name, err)
		return
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Error(err)
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

func TestPageAnswersAWaitingHook(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t)) // the same after the restart: the page's origin
	b := newBrowser(t)
	url := d.pairingURL()
	b.do(chromedp.Navigate(url))
	b.see("main", "Nothing waits for you")
	b.shot("empty.png")
	var address string
	b.do(chromedp.Location(&address))
	if strings.Contains(address, "#") {
		t.Errorf("the pairing code stays in the address %s", address)
	}

	payload, err := os.ReadFile(filepath.Join("..", "schemas", "examples", "hooks", "PermissionRequest.json"))
	if err != nil {
		t.Fatal(err)
	}
	b.allows(d, payload)
	b.deniesWithWords(d, payload)
	b.saysWhoAnswered(d, payload)
	b.saysThatTheTerminalAnswered(d, payload)
	b.showsHostileText(d)
	b.survivesARestart(d, payload)

	// The link works once.
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	b.see("main", "Pair this browser")
	if said := b.said.tail(2000); said != "" {
		t.Errorf("the page threw: %s", said)
	}
}

// freePort returns a loopback address that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// gone waits until the queue is empty again, cards of what is over included.
func (b *browser) gone() { b.t.Helper(); b.see("main", "Nothing waits for you") }

func (b *browser) allows(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(".card", "touch /home/dev/project/out.txt")
	b.see(".card", "project")
	b.shot("request.png")
	b.tap(".card button.allow")
	if out := h.wait(); out != allowed {
		b.t.Errorf("the hook printed %s", out)
	}
	b.see(".card .outcome", "Allowed")
	b.see(".card .outcome", "Delivered")
	b.shot("allowed.png")
	if r := d.settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		b.t.Errorf("decided by %+v, want the paired device", r.DecidedBy)
	}
	b.gone()
}

func (b *browser) deniesWithWords(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.tap(".card button.third")
	b.do(chromedp.SendKeys(".card textarea", "not on a Friday", chromedp.ByQuery))
	b.see(".card button.deny", "Send back")
	b.shot("words.png")
	b.tap(".card button.deny")
	if out := h.wait(); out != denied("not on a Friday") {
		b.t.Errorf("the hook printed %s", out)
	}
	b.see(".card .outcome", "Denied")
	b.gone()
}

func (b *browser) saysWhoAnswered(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(".card", "touch /home/dev/project/out.txt")
	d.allow(d.waitPending(1)[0])
	h.wait()
	b.see(".card .outcome", "Allowed by")
	b.shot("elsewhere.png")
	if s := b.text(".card button.allow"); s != "" {
		b.t.Errorf("a request that is over can still be answered: %q", s)
	}
	b.gone()
}

func (b *browser) saysThatTheTerminalAnswered(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(".card", "touch /home/dev/project/out.txt")
	if err := h.cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	_ = h.cmd.Wait() // killed
	b.see(".card .outcome", "terminal")
	b.shot("withdrawn.png")
	b.gone()
}

func (b *browser) showsHostileText(d *daemon) {
	b.t.Helper()
	const command = "echo safe \u202etxt.exe \u200b\x1b[2K <img src=x onerror=document.title='owned'> \u2066x\u2069"
	h := d.hook(bash("s\u202e", command))
	b.see(".card", "⟦U+202E⟧")
	for _, visible := range []string{"⟦U+200B⟧", "⟦U+001B⟧", "⟦U+2066⟧", "<img src=x onerror=document.title='owned'>"} {
		b.see(".card", visible)
	}
	var title string
	var raw, images int
	b.do(
		chromedp.Title(&title),
		chromedp.Evaluate(`[...document.body.innerText].filter(c => /[\u202e\u200b\u2066\u2069\x1b]/.test(c)).length`, &raw),
		chromedp.Evaluate(`document.querySelectorAll("#app img").length`, &images),
	)
	if strings.Contains(title, "owned") || images != 0 || raw != 0 {
		b.t.Errorf("title %q, %d images, %d invisible characters", title, images, raw)
	}
	b.shot("hostile.png")
	b.tap(".card button.deny")
	h.wait()
	b.gone()
}

func (b *browser) survivesARestart(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(".card", "touch /home/dev/project/out.txt")
	d.kill()
	b.see(".link-state", "No connection")
	d.start()
	b.see(".link-state", "Live")
	b.see(".card", "touch /home/dev/project/out.txt")
	b.tap(".card button.allow")
	if out := h.wait(); out != allowed {
		b.t.Errorf("the hook printed %s", out)
	}
	b.gone()
}

func TestPageWithoutPairingShowsNothing(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	h := d.hook(bash("secret-session", "echo secret-command"))
	d.waitPending(1)
	url, token := d.owner()
	b.do(chromedp.Navigate(url))
	b.see("main", "Pair this browser")
	b.shot("unpaired.png")
	if s := b.text("body"); strings.Contains(s, "secret") {
		t.Errorf("an unpaired page shows %q", s)
	}
	// A token does as well, until the page is closed.
	b.do(chromedp.SendKeys("form input", token, chromedp.ByQuery), chromedp.Click("form button", chromedp.ByQuery))
	b.see(".card", "echo secret-command")
	b.do(chromedp.Reload())
	b.see("main", "Pair this browser")
	d.allow(d.pending()[0])
	h.wait()
}
