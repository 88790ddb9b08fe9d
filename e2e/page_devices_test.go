package e2e

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pair lets a browser in from its own page.
func (b *browser) pair(d *daemon) {
	b.t.Helper()
	url, _ := d.owner()
	b.do(chromedp.Navigate(url))
	b.tap(pairHere)
	d.letIn(b.code(""))
	b.see(".link-state", "Live")
}

// row is the row of a device in the panel, which shows this browser first.
func row(n int) string { return ".device:nth-child(" + strconv.Itoa(n) + ")" }

// TestPageRevokesADevice takes a lost phone out from another one. The lost one must show
// nothing any more, and must know what to do.
func TestPageRevokesADevice(t *testing.T) {
	t.Parallel()
	d := serve(t)
	lost := newBrowser(t)
	lost.pair(d)
	b := lost.device()
	b.pair(d)
	h := d.hook(bash("s", "echo secret-command"))
	lost.see(open, "echo secret-command")
	b.see(open, "echo secret-command")
	d.sockets(2)

	b.tap("header button.small")
	b.see(row(1), "this browser")
	b.see(row(2), "May answer")
	b.see(".devices .more", "1 request waits")
	b.looks("devices")

	// What follows the tap stands still, and a second tap at the same place is harmless.
	before := b.box(row(2))
	button := b.box(row(2) + " .ask")
	b.tap(row(2) + " .ask")
	b.see(row(2), "Revoke now")
	b.looks("devices-sure")
	if after := b.box(row(2)); after != before {
		t.Errorf("the row moved from %v to %v", before, after)
	}
	eventually(t, soon, "a second tap at the same place", func() bool {
		return value(b, chromedp.Evaluate[bool](`!!(window.aimed = document.documentElement)`)) && b.finger(point{button.X + button.Width/2, button.Y + button.Height/2})
	})
	b.see(row(2)+" .ask", "Revoke")
	if n := len(d.devices()); n != 2 {
		t.Fatalf("a double tap left %d devices", n)
	}

	b.tap(row(2) + " .ask")
	b.tap(row(2) + " .deny")
	b.see(row(2), "Revoked")
	b.looks("devices-revoked")
	if after := b.box(row(2)); after != before {
		t.Errorf("the row moved from %v to %v", before, after)
	}

	lost.see(".door .notice", "This browser is no longer paired")
	lost.looks("revoked")
	d.sockets(1)
	if s := lost.text("body"); strings.Contains(s, "secret-command") {
		t.Errorf("the revoked browser still shows %q", s)
	}
	if title := value(lost, chromedp.Title()); title != "assent" {
		t.Errorf("its title is %q", title)
	}
	lost.keeps("")
	lost.do(chromedp.Reload())
	lost.see(pairHere, "Pair from here")
	lost.pair(d) // the way back
	lost.see(open, "echo secret-command")

	b.tap(".devices .top button")
	b.tap(open + " button.deny")
	h.wait()
	b.see(".past .outcome", "Denied")
	b.quiet()
	lost.quiet()
}

// TestPageForgetsThisBrowser: the key goes, from here and from there. Without an answer of the
// broker nothing changes.
func TestPageForgetsThisBrowser(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t)) // the same after the restart: the page's origin
	b := newBrowser(t)
	b.pair(d)
	b.keeps("this")
	forget := func() {
		b.tap(row(1) + " .ask")
		b.see(row(1), "Forget now")
		b.tap(row(1) + " .deny")
	}
	b.tap("header button.small")
	b.see(row(1)+" .ask", "Forget this browser")
	d.kill()
	forget()
	b.see(row(1), "Not forgotten: no answer from the broker.")
	b.looks("devices-failed")
	b.keeps("this")

	d.start()
	forget()
	b.see(".door .notice", "This browser is forgotten")
	b.keeps("")
	if list := d.devices(); len(list) != 0 {
		t.Errorf("the broker still knows %+v", list)
	}
	b.quiet()
}

// TestPageShowsDevicesOfOthers: their names are text, and those above this browser are not
// offered to it.
func TestPageShowsDevicesOfOthers(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.before(`Object.defineProperty(navigator, "userAgent", { get: () => "Firefox iPhone" })`)
	b.pair(d)
	const name = "<img src=x onerror=document.title='owned'> &amp;"
	admin := b.device()
	var link struct{ URL string }
	status, body, err := d.try("POST", "/v1/pair", map[string]string{"role": "admin", "name": name})
	if err != nil || status != http.StatusCreated || json.Unmarshal(body, &link) != nil {
		t.Fatalf("a pairing link: %d %s %v", status, body, err)
	}
	admin.do(chromedp.Navigate(link.URL))
	admin.see(".link-state", "Live")

	b.tap("header button.small")
	b.see(row(1), "Firefox on iPhone")
	b.see(row(2), name)
	b.see(row(2), "May answer, and revoke any device")
	if s := b.text(row(2) + " .ask"); s != "" {
		t.Errorf("an administrator's device offers %q to a browser that may answer", s)
	}
	if title := value(b, chromedp.Title()); title != "assent" {
		t.Errorf("the title is %q", title)
	}
	b.quiet()
}

type box struct{ X, Y, Width, Height float64 }

// box is where an element is.
func (b *browser) box(selector string) box {
	b.t.Helper()
	return value(b, chromedp.Evaluate[box](`(() => { const r = document.querySelector(`+jsString(selector)+`).getBoundingClientRect();
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height} })()`))
}

// keeps holds the page's database to have these keys, in order and with commas.
func (b *browser) keeps(want string) {
	b.t.Helper()
	got := value(b, chromedp.Evaluate[string](`new Promise((resolve, reject) => {
		const open = indexedDB.open("assent", 1);
		open.onerror = () => reject(open.error);
		open.onsuccess = () => {
			const all = open.result.transaction("device").objectStore("device").getAllKeys();
			all.onsuccess = () => { open.result.close(); resolve(all.result.join()); };
		};
	})`, chromedp.EvalAwaitPromise))
	if got != want {
		b.t.Errorf("the browser keeps %q, want %q", got, want)
	}
}

// sockets waits until so many WebSockets are open.
func (d *daemon) sockets(n int) {
	d.t.Helper()
	want := "\nassent_websockets " + strconv.Itoa(n) + "\n"
	eventually(d.t, soon, strconv.Itoa(n)+" open WebSockets", func() bool {
		_, body, err := d.try("GET", "/metrics", nil)
		return err == nil && strings.Contains(string(body), want)
	})
}
