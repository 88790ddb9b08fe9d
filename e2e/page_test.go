package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/modelserver"
)

func TestPageAnswersAWaitingHook(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t)) // the same after the restart: the page's origin
	b := newBrowser(t)
	url := d.pairingURL()
	b.do(chromedp.Navigate(url))
	b.see("main", "Nothing waits for you")
	b.rest()
	b.shot("empty.png")
	if address := value(b, chromedp.Location()); strings.Contains(address, "#") {
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

	b.gone() // the cards of what is over go away by themselves
	b.see("main", "Nothing waits for you")

	// The link works once. Another name of the host is another origin, without this one's key.
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(strings.Replace(url, "127.0.0.1", "localhost", 1)))
	b.see("main", "Pair this browser")
	b.quiet()
}

// The card of what waits, and the newest of those that are over and linger a while.
const (
	open = ".card:not(.over)"
	over = ".card.over:last-of-type"
)

func (b *browser) allows(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(open, "touch /home/dev/project/out.txt")
	b.see(open, "project")
	b.shot("request.png")
	b.tap(open + " button.allow")
	if out := h.wait(); out != allowed {
		b.t.Errorf("the hook printed %s", out)
	}
	b.see(over+" .outcome", "Allowed")
	b.see(over+" .outcome", "Delivered")
	b.shot("allowed.png")
	if r := d.settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		b.t.Errorf("decided by %+v, want the paired device", r.DecidedBy)
	}
}

func (b *browser) deniesWithWords(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.tap(open + " button.third")
	b.do(chromedp.SendKeys(chromedp.CSS(open+" textarea"), "not on a Friday"))
	b.see(open+" button.deny", "Send back")
	b.see(open+" .reply", "with a denial only")
	if off := value(b, chromedp.Evaluate[string](`document.querySelector(`+jsString(open+" button.allow")+`).ariaDisabled`)); off != "true" {
		b.t.Error("words can be lost by a tap on Allow")
	}
	b.shot("words.png")
	b.tap(open + " button.deny")
	if out := h.wait(); out != denied("not on a Friday") {
		b.t.Errorf("the hook printed %s", out)
	}
	b.see(over+" .outcome", "Denied")
}

func (b *browser) saysWhoAnswered(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(open, "touch /home/dev/project/out.txt")
	d.allow(d.waitPending(1)[0])
	h.wait()
	b.see(over+" .outcome", "Allowed by")
	b.do(chromedp.ScrollIntoView(chromedp.CSS(over)))
	b.shot("elsewhere.png")
	if s := b.text(over + " button.allow"); s != "" {
		b.t.Errorf("a request that is over can still be answered: %q", s)
	}
}

func (b *browser) saysThatTheTerminalAnswered(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(open, "touch /home/dev/project/out.txt")
	if err := h.cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	_ = h.cmd.Wait() // killed
	b.see(over+" .outcome", "terminal")
	b.do(chromedp.ScrollIntoView(chromedp.CSS(over)))
	b.shot("withdrawn.png")
}

func (b *browser) showsHostileText(d *daemon) {
	b.t.Helper()
	const command = "echo safe \u202etxt.exe \u200b\x1b[2K <img src=x onerror=document.title='owned'> \u2066x\u2069"
	h := d.hook(bash("s\u202e", command))
	b.see(open, "⟦U+202E⟧")
	for _, visible := range []string{"⟦U+200B⟧", "⟦U+001B⟧", "⟦U+2066⟧", "<img src=x onerror=document.title='owned'>"} {
		b.see(open, visible)
	}
	title := value(b, chromedp.Title())
	raw := value(b, chromedp.Evaluate[int](`[...document.body.innerText].filter(c => /[\u202e\u200b\u2066\u2069\x1b]/.test(c)).length`))
	images := value(b, chromedp.Evaluate[int](`document.querySelectorAll("#app img").length`))
	if strings.Contains(title, "owned") || images != 0 || raw != 0 {
		b.t.Errorf("title %q, %d images, %d invisible characters", title, images, raw)
	}
	b.shot("hostile.png")
	b.tap(open + " button.deny")
	h.wait()
}

func (b *browser) survivesARestart(d *daemon, payload []byte) {
	b.t.Helper()
	h := d.hook(payload)
	b.see(open, "touch /home/dev/project/out.txt")
	d.kill()
	b.see(".link-state", "No connection")
	b.shot("away.png")
	d.start()
	b.see(".link-state", "Live")
	b.see(open, "touch /home/dev/project/out.txt")
	b.tap(open + " button.allow")
	if out := h.wait(); out != allowed {
		b.t.Errorf("the hook printed %s", out)
	}
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
	b.do(chromedp.SendKeys(chromedp.CSS("form input"), token))
	b.tap("form button")
	b.see(open, "echo secret-command")
	b.do(chromedp.Reload())
	b.see("main", "Pair this browser")
	d.allow(d.pending()[0])
	h.wait()
}

// TestPageUnfoldsWhatWasSettled: a long command is not cut for good when it is over.
func TestPageUnfoldsWhatWasSettled(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	h := d.hook(bash("s", "set -e\n"+strings.Repeat("make target\n", 8)+"rm -rf build"))
	b.tap(open + " button.deny")
	h.wait()
	b.see(".past .summary", "set -e …")
	if s := b.text(".past .summary"); strings.Contains(s, "rm -rf") {
		t.Errorf("folded it shows %q", s)
	}
	b.looks("folded")
	b.tap(".past .link")
	b.see(".past .summary", "rm -rf build")
	b.looks("unfolded")
	b.tap(".past .link")
	b.see(".past .link", "Show all")
	b.quiet()
}

// TestPageAnswersClaude goes the whole way: the real client asks, a thumb on the page answers,
// and the record can prove whose it was.
func TestPageAnswersClaude(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	b := newBrowser(t)
	b.pair(a.daemon)
	b.rest()
	term := a.terminal([]modelserver.Use{a.touch("out.txt")})
	b.see(open, "touch "+a.path("out.txt"))
	a.dialog(term)
	b.tap(open + " button.allow")
	b.see(over+" .outcome", "Allowed")
	if res := a.modelDone(); len(res) != 1 || res[0].IsError {
		t.Errorf("the model read %+v", res)
	}
	if !a.exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	r := a.settled()[0]
	a.until(r.ID, "confirmed", func(r request) bool { return r.Delivery == "confirmed" })
	a.signed(r.ID)
	b.quiet()
}
