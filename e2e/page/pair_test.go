package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPagePairsFromHere goes the way of a person who typed the broker's address into a phone:
// a code, a reload, a sleep while somebody types it, and a first answer.
func TestPagePairsFromHere(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	url, _ := d.Owner()
	b.Do(chromedp.Navigate(url))
	b.See(rig.PairHere, rig.Word("door.fromHere"))
	b.Looks("door")
	b.Tap(rig.PairHere)
	code := b.Code("")
	b.See("main", "assent pair "+code)
	b.Looks("code")
	if list := d.WaitingDevices(); len(list) != 1 || list[0].Code != code || !strings.Contains(b.Text("main"), list[0].Name) {
		t.Errorf("waiting %+v, the page shows %q", list, b.Text("main"))
	}

	b.Do(chromedp.Reload())
	if again := b.Code(""); again != code {
		t.Errorf("a reload made %s of the code %s", again, code)
	}
	other := b.Tab() // a second tab does not begin anew either
	other.Do(chromedp.Navigate(url))
	if again := other.Code(""); again != code {
		t.Errorf("a second tab shows %s, not %s", again, code)
	}
	other.Close()

	b.Sleep()
	d.LetIn(code)
	b.Wake()
	b.See("main", rig.Word("empty.head"))
	b.Looks("empty")

	h := d.Hook(rig.Bash("first", "npm test"))
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	devices := d.Devices()
	if len(devices) != 1 || devices[0].Role != "approve" {
		t.Fatalf("devices %+v", devices)
	}
	r := d.Settled()[0]
	if r.DecidedBy == nil || r.DecidedBy.Kind != "device" || r.DecidedBy.Name != devices[0].Name {
		t.Errorf("decided by %+v, want %+v", r.DecidedBy, devices[0])
	}
	d.Signed(r.ID)
	b.Do(chromedp.Reload()) // the key stayed
	b.See("[data-ui=link]", rig.Word("link.live"))
	b.Quiet()
}

// TestPageCodeThatComesToNothing: refused, forgotten by a restart, expired, or one too many. Each
// time the page says so, and a tap leads on.
func TestPageCodeThatComesToNothing(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t)) // the same after the restart: the page's origin
	b := rig.NewBrowser(t)
	b.Before(expiredCodes)
	url, _ := d.Owner()
	b.Do(chromedp.Navigate(url))
	b.Tap(rig.PairHere)
	code := b.Code("")
	d.Refuse(code)
	b.See("[data-ui=notice]", "The code "+code+" is no longer valid. It was refused")
	b.See(rig.PairHere, rig.Word("door.newCode"))
	b.Looks("refused")

	b.Tap(rig.PairHere)
	code = b.Code(code)
	b.Tap("main [data-action=cancel]") // Cancel
	b.See("main", rig.Word("door.head"))
	if s := b.Text("[data-ui=notice]"); s != "" {
		t.Errorf("after Cancel the page complains: %s", s)
	}
	b.Tap(rig.PairHere)
	code = b.Code(code)
	if list := d.WaitingDevices(); len(list) != 1 || list[0].Code != code {
		t.Errorf("waiting: %+v, want only %s: a new code takes the old one's place", list, code)
	}

	d.Kill()
	b.See("main [role=status]", rig.Word("door.silent"))
	b.Looks("silent")
	d.Start()
	d.Refuse(code) // it has outlived the broker
	b.See("[data-ui=notice]", "The code "+code+" is no longer valid. It was refused")
	b.Do(chromedp.Reload()) // nothing is left of it
	b.See(rig.PairHere, rig.Word("door.fromHere"))

	rig.Value(b, chromedp.Evaluate[bool](`window.expired = true`))
	b.Tap(rig.PairHere)
	code = b.Code(code)
	d.Refuse(code) // as good as forgotten
	b.See("[data-ui=notice]", "The code "+code+" has expired")
	b.Do(chromedp.Reload())

	for range 4 { // others at the same address
		d.StartPairing()
	}
	b.Tap(rig.PairHere)
	b.See("[data-ui=notice]", "assent pair")
	b.Looks("full")
	b.Quiet()
}

// expiredCodes lets codes arrive a second before their end once window.expired is set.
const expiredCodes = `{
  const real = fetch;
  window.fetch = async (path, options) => {
    const r = await real(path, options);
    if (!window.expired || path !== "/v1/pair/start") return r;
    const body = JSON.stringify({ ...(await r.json()), expiresAt: new Date().toISOString() });
    return new Response(body, { status: r.status, headers: { date: r.headers.get("date") } });
  };
}`

// TestPagePairsAgain: a link for another role in a browser that is paired already says what it did, and one that was used says
// that it did nothing.
func TestPagePairsAgain(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	before := d.Devices()[0]
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(d.Command("pair", "--role", "operate", "--json")), &link); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(link.URL))
	var now rig.Device
	rig.Eventually(t, rig.Soon, "it is paired anew", func() bool {
		for _, now = range d.Devices() {
			if now.ID != before.ID {
				return true
			}
		}
		return false
	})
	b.See("main [role=alert]", rig.Word("door.anew", now.Name, "operate", before.Name))
	b.Looks("paired-anew")
	b.Click("main [role=alert] button", rig.Word("desk.seen"))
	b.Do(chromedp.Navigate(link.URL)) // tapped a second time
	b.See("main [role=alert]", rig.Word("door.stays", now.Name, "operate"))
	if n := len(d.Devices()); n != 2 {
		t.Errorf("%d devices", n)
	}
	b.Do(chromedp.Reload())
	b.See("main", rig.Word("empty.head"))
	if b.Has("main [role=alert]") {
		t.Error("it is said again")
	}
	b.Quiet()
}
