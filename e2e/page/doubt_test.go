package page

import (
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageWithAClockAnHourOff: ages, deadlines and codes go by the broker's clock.
func TestPageWithAClockAnHourOff(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	first := rig.NewBrowser(t)
	for _, off := range []string{"3600e3", "-3600e3"} {
		b := first.Device()
		b.Before(`{
			const Real = Date, off = ` + off + `;
			window.Date = class extends Real {
				constructor(...args) { args.length ? super(...args) : super(Real.now() + off); }
				static now() { return Real.now() + off; }
			};
		}`)
		url, _ := d.Owner()
		b.Do(chromedp.Navigate(url))
		start := time.Now()
		b.Tap(rig.PairHere)
		code := b.Code("")
		s := b.Text("main")
		took := time.Since(start)
		m := regexp.MustCompile(`valid for (\d+):(\d\d)`).FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("clock off by %s ms: a fresh code shows %q", off, s)
		}
		left, err := time.ParseDuration(m[1] + "m" + m[2] + "s")
		if err != nil || left < 4*time.Minute+50*time.Second-took || left > 5*time.Minute+time.Second+took {
			t.Errorf("clock off by %s ms: a code that is %v old shows %q", off, took, s)
		}
		b.Do(chromedp.Reload())
		b.Code("")
		d.LetIn(code)
		b.See("[data-ui=link]", rig.Word("link.live"))
		h := d.Hook(rig.Bash("s", "npm test"), "--timeout", "60s")
		b.See(rig.Open, "npm test")
		b.See(rig.Open+" [data-ui=drain]", "s left") // a minute of it, not an hour
		if age := b.Text(rig.Open + " [data-ui=age]"); age != "asked just now" && !strings.HasSuffix(age, " s ago") {
			t.Errorf("clock off by %s ms: a new request is %q old", off, age)
		}
		if left := b.Text(rig.Open + " [data-ui=drain]"); strings.HasPrefix(left, "0 ") {
			t.Errorf("clock off by %s ms: %q of a new request", off, left)
		}
		b.Tap(rig.Open + " [data-action=allow]")
		if out := h.Wait(); out != rig.Allowed {
			t.Errorf("the hook printed %s", out)
		}
		d.Signed(d.Settled()[0].ID)
		b.Tap("[data-action=settings]")
		b.See(row(1), "paired just now")
		b.Quiet()
		b.Close()
	}
}

// TestPageInABrowserThatKeepsNothing: it can be paired for as long as the page is open, and says
// so. The browser is told to block site data, as people do who want to leave no traces.
func TestPageInABrowserThatKeepsNothing(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.StartBrowser(t, `{"profile":{"default_content_setting_values":{"cookies":2}}}`)
	url, _ := d.Owner()
	b.Do(chromedp.Navigate(url))
	b.See("main", "This browser stores nothing")
	b.Looks("keeps-nothing")
	b.Tap(rig.PairHere)
	d.LetIn(b.Code(""))
	h := d.Hook(rig.Bash("s", "npm test"))
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Tap("[data-action=settings]")
	b.See("[data-ui=settings]", "until the page is closed")
	b.Tap(row(1) + " [data-action=revoke]")
	b.Tap(row(1) + " [data-action=yes]")
	b.See("main [data-ui=notice]", "forgotten")
	b.Quiet()
}

// TestPageOverPlainHTTP is opened under a name that is not the machine itself. Browsers have no
// keys there; the page says why, and the ways out.
func TestPageOverPlainHTTP(t *testing.T) {
	t.Parallel()
	address := rig.FreePort(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	rig.Serve(t, "--listen", address, "--public-url", "https://"+net.JoinHostPort(rig.Insecure, port))
	b := rig.NewBrowser(t)
	b.Do(chromedp.Navigate("http://" + net.JoinHostPort(rig.Insecure, port)))
	b.See("main [data-ui=notice]", rig.Word("door.noKeys"))
	b.See("main", "docs/phone.md")
	b.Looks("plain-http")
	if s := b.Text(rig.PairHere); s != "" {
		t.Errorf("the page offers %q", s)
	}
	b.Quiet()
}
