package e2e

import (
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPageWithAClockAnHourOff: ages, deadlines and codes go by the broker's clock.
func TestPageWithAClockAnHourOff(t *testing.T) {
	t.Parallel()
	d := serve(t)
	first := newBrowser(t)
	for _, off := range []string{"3600e3", "-3600e3"} {
		b := first.device()
		b.before(`{
			const Real = Date, off = ` + off + `;
			window.Date = class extends Real {
				constructor(...args) { args.length ? super(...args) : super(Real.now() + off); }
				static now() { return Real.now() + off; }
			};
		}`)
		url, _ := d.owner()
		b.do(chromedp.Navigate(url))
		start := time.Now()
		b.tap(pairHere)
		code := b.code("")
		s := b.text(".door")
		took := time.Since(start)
		m := regexp.MustCompile(`good for (\d+):(\d\d)`).FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("clock off by %s ms: a fresh code shows %q", off, s)
		}
		left, err := time.ParseDuration(m[1] + "m" + m[2] + "s")
		if err != nil || left < 4*time.Minute+50*time.Second-took || left > 5*time.Minute+time.Second+took {
			t.Errorf("clock off by %s ms: a code that is %v old shows %q", off, took, s)
		}
		b.do(chromedp.Reload())
		b.code("")
		d.letIn(code)
		b.see(".link-state", "Live")
		h := d.hook(bash("s", "npm test"), "--timeout", "60s")
		b.see(open, "npm test")
		b.see(open+" .drain", "s left") // a minute of it, not an hour
		if age := b.text(open + " .age"); age != "now" && !strings.HasSuffix(age, " s") {
			t.Errorf("clock off by %s ms: a new request is %q old", off, age)
		}
		if left := b.text(open + " .drain"); strings.HasPrefix(left, "0 ") {
			t.Errorf("clock off by %s ms: %q of a new request", off, left)
		}
		b.tap(open + " button.allow")
		if out := h.wait(); out != allowed {
			t.Errorf("the hook printed %s", out)
		}
		d.signed(d.settled()[0].ID)
		b.tap("header button.small")
		b.see(row(1), "paired just now")
		b.quiet()
		b.close()
	}
}

// TestPageInABrowserThatKeepsNothing: it can be paired for as long as the page is open, and says
// so. The browser is told to block site data, as people do who want to leave no traces.
func TestPageInABrowserThatKeepsNothing(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := startBrowser(t, `{"profile":{"default_content_setting_values":{"cookies":2}}}`)
	url, _ := d.owner()
	b.do(chromedp.Navigate(url))
	b.see(".door", "This browser keeps nothing")
	b.looks("keeps-nothing")
	b.tap(pairHere)
	d.letIn(b.code(""))
	h := d.hook(bash("s", "npm test"))
	b.tap(open + " button.allow")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.tap("header button.small")
	b.see(".devices", "until the page is closed")
	b.tap(row(1) + " .ask")
	b.tap(row(1) + " .deny")
	b.see(".door .notice", "forgotten")
	b.quiet()
}

// TestPageOverPlainHTTP is opened under a name that is not the machine itself. Browsers have no
// keys there; the page says why, and the ways out.
func TestPageOverPlainHTTP(t *testing.T) {
	t.Parallel()
	address := freePort(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, "--listen", address, "--public-url", "https://"+net.JoinHostPort(insecure, port))
	b := newBrowser(t)
	b.do(chromedp.Navigate("http://" + net.JoinHostPort(insecure, port)))
	b.see(".door .notice", "plain http")
	b.see(".door", "docs/phone.md")
	b.looks("plain-http")
	if s := b.text(pairHere); s != "" {
		t.Errorf("the page offers %q", s)
	}
	b.quiet()
}
