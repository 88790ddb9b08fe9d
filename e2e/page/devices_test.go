package page

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/hook"
)

// row is the row of a device in the panel, which shows this browser first.
func row(n int) string { return "[data-ui=device]:nth-child(" + strconv.Itoa(n) + ")" }

// TestPageRevokesADevice takes a lost phone out from another one. The lost one must show
// nothing any more, and must know what to do.
func TestPageRevokesADevice(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	lost := rig.NewBrowser(t)
	lost.Pair(d)
	b := lost.Device()
	b.Pair(d)
	h := d.Hook(rig.Bash("s", "echo secret-command"))
	lost.See(rig.Open, "echo secret-command")
	b.See(rig.Open, "echo secret-command")
	d.Sockets(2)

	b.Tap("[data-action=settings]")
	b.See(row(1), rig.Word("devices.thisBrowser"))
	b.See(row(2), rig.Word("devices.roles.approve"))
	b.See(row(1)+" [data-ui=code]", rig.Word("devices.code.broker"))
	b.See("[data-ui=views]", "Inbox 1") // what waits is in sight from here
	b.Looks("devices")

	// What follows the tap stands still, and a second tap at the same place is harmless.
	before := b.Box(row(2))
	button := b.Box(row(2) + " [data-action=revoke]")
	b.Tap(row(2) + " [data-action=revoke]")
	b.See(row(2), rig.Word("devices.revokeNow"))
	b.Looks("devices-sure")
	if after := b.Box(row(2)); after != before {
		t.Errorf("the row moved from %v to %v", before, after)
	}
	rig.Eventually(t, rig.Soon, "a second tap at the same place", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`!!(window.aimed = document.documentElement)`)) && b.Finger(rig.Point{X: button.X + button.Width/2, Y: button.Y + button.Height/2})
	})
	b.See(row(2)+" [data-action=revoke]", rig.Word("devices.revoke"))
	if n := len(d.Devices()); n != 2 {
		t.Fatalf("a double tap left %d devices", n)
	}

	b.Tap(row(2) + " [data-action=revoke]")
	b.Tap(row(2) + " [data-action=yes]")
	b.See(row(2), "Revoked")
	b.Looks("devices-revoked")
	if after := b.Box(row(2)); after != before {
		t.Errorf("the row moved from %v to %v", before, after)
	}

	lost.See("main [data-ui=notice]", rig.Word("door.noLongerPaired"))
	lost.Looks("revoked")
	d.Sockets(1)
	if s := lost.Text("body"); strings.Contains(s, "secret-command") {
		t.Errorf("the revoked browser still shows %q", s)
	}
	if title := rig.Value(lost, chromedp.Title()); title != "assent" {
		t.Errorf("its title is %q", title)
	}
	lost.Keeps("")
	lost.Do(chromedp.Reload())
	lost.See(rig.PairHere, rig.Word("door.fromHere"))
	lost.Pair(d) // the way back
	lost.See(rig.Open, "echo secret-command")

	b.View("Inbox")
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.See("[data-ui=past] [data-ui=outcome]", rig.Word("outcome.denied"))
	b.Quiet()
	lost.Quiet()
}

// TestPageForgetsThisBrowser: the key goes, from here and from there. Without an answer of the
// broker nothing changes.
func TestPageForgetsThisBrowser(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t)) // the same after the restart: the page's origin
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Keeps("this")
	forget := func() {
		b.Tap(row(1) + " [data-action=revoke]")
		b.See(row(1), rig.Word("devices.forgetNow"))
		b.Tap(row(1) + " [data-action=yes]")
	}
	b.Tap("[data-action=settings]")
	b.See(row(1)+" [data-action=revoke]", rig.Word("devices.forgetThis"))
	d.Kill()
	forget()
	b.See(row(1), rig.Word("devices.notForgotten", "no answer from the broker"))
	b.Looks("devices-failed")
	b.Keeps("this")

	d.Start()
	forget()
	b.See("main [data-ui=notice]", rig.Word("door.forgotten"))
	b.Keeps("")
	if list := d.Devices(); len(list) != 0 {
		t.Errorf("the broker still knows %+v", list)
	}
	b.Quiet()
}

// TestPageShowsDevicesOfOthers: their names are text, and those above this browser are not
// offered to it.
func TestPageShowsDevicesOfOthers(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Before(`Object.defineProperty(navigator, "userAgent", { get: () => "Firefox iPhone" })`)
	b.Pair(d)
	const name = "<img src=x onerror=document.title='owned'> &amp;"
	admin := b.Device()
	var link struct{ URL string }
	status, body, err := d.Try("POST", "/v1/pair", map[string]string{"role": "admin", "name": name})
	if err != nil || status != http.StatusCreated || json.Unmarshal(body, &link) != nil {
		t.Fatalf("a pairing link: %d %s %v", status, body, err)
	}
	admin.Do(chromedp.Navigate(link.URL))
	admin.See("[data-ui=link]", rig.Word("link.live"))

	b.Tap("[data-action=settings]")
	b.See(row(1), "Firefox on iPhone")
	b.See(row(2), name)
	b.See(row(2), rig.Word("devices.roles.admin"))
	if s := b.Text(row(2) + " [data-action=revoke]"); s != "" {
		t.Errorf("an administrator's device offers %q to a browser that may answer", s)
	}
	if title := rig.Value(b, chromedp.Title()); title != "assent" {
		t.Errorf("the title is %q", title)
	}
	b.Quiet()
}

// TestPageRenamesADevice gives a device another name on the page, and one by command; a name that
// another device has is refused.
func TestPageRenamesADevice(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	d.PairBare("view")
	b.Tap("[data-action=settings]")
	b.Tap(row(1) + " [data-action=rename]")
	b.Accessible("devices-rename")
	b.NothingCut("devices-rename")
	const field = " [data-ui=rename] input"
	name := func(text string) {
		t.Helper()
		rig.Value(b, chromedp.Evaluate[bool](`(document.querySelector(`+rig.JSString(row(1)+field)+`).select(), true)`))
		b.Do(chromedp.SendKeys(chromedp.CSS(row(1)+field), text))
		b.Tap(row(1) + " [data-action=save-name]")
	}
	other := ""
	for _, x := range d.Devices() {
		if x.Role == "view" {
			other = x.Name
		}
	}
	name(other)
	b.See(row(1)+" [role=alert]", "another device has this name")
	name("Anna's phone")
	b.See(row(1)+" b", "Anna's phone")
	if said := d.Command("device", "rename", "Anna's phone", "kitchen"); !strings.Contains(said, "Anna's phone is now kitchen") {
		t.Errorf("the command says %q", said)
	}
	if said := d.Command("device", "list"); !strings.Contains(said, "kitchen") {
		t.Errorf("the list says %q", said)
	}
	b.Quiet()
}

// TestPageLetsADeviceIn: a device of role admin lets in a further one that may send messages, by the code that
// it shows and its own signature; nobody else can. It refuses one, too.
func TestPageLetsADeviceIn(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.PairAs(d, "admin")
	b.Tap("[data-action=settings]")
	b.See(row(1), rig.Word("devices.thisBrowser"))
	other := b.Device()
	url, _ := d.Owner()
	other.Do(chromedp.Navigate(url))
	other.Tap(rig.PairHere)
	code := other.Code("")
	d.Refused(4, "pair", code, "--role", "operate")
	d.Refused(4, "pair", "--role", "admin")
	waiting := `[data-ui=waiting][data-code="` + code + `"]`
	b.See(waiting, code)
	b.See(waiting+" [data-ui=code]", rig.Word("devices.code.broker"))
	own := d.StartsAs("own", hook.CodeIndependent)
	b.See(`[data-ui=waiting][data-code="`+own.Code+`"] [data-ui=code]`, rig.Word("devices.code.independent"))
	b.Do(chromedp.SetValue(chromedp.CSS(waiting+" select"), "operate"))
	b.Accessible("let-in")
	b.NothingCut("let-in")
	b.Looks("let-in")
	b.Tap(waiting + " [data-action=let-in]")
	b.Tap(waiting + " [data-action=yes]")
	other.See("[data-ui=link]", rig.Word("link.live"))
	b.See(row(2), rig.Word("devices.roles.operate"))
	third := b.Device()
	third.Do(chromedp.Navigate(url))
	third.Tap(rig.PairHere)
	for _, code := range []string{third.Code(""), own.Code} {
		b.Tap(`[data-code="` + code + `"] [data-action=refuse]`)
	}
	rig.Eventually(t, rig.Soon, "nobody waits", func() bool { return len(d.WaitingDevices()) == 0 })
	if n := len(d.Devices()); n != 2 {
		t.Errorf("%d devices are paired", n)
	}
	b.Quiet()
}
