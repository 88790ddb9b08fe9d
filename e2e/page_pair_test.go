package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/internal/auth/authtest"
)

// The button that asks for a code, and the code.
const (
	pairHere  = "main > button.allow"
	shownCode = ".door .code"
)

var codePattern = regexp.MustCompile(`^[34679ACDEFGHJKMNPQRTVWXY]{4}-[34679ACDEFGHJKMNPQRTVWXY]{4}$`)

// code waits until the page shows a code other than not, and returns it.
func (b *browser) code(not string) string {
	b.t.Helper()
	var code string
	eventually(b.t, soon, "a code on the page", func() bool {
		code = strings.TrimSpace(b.text(shownCode))
		return code != "" && code != not
	})
	if !codePattern.MatchString(code) {
		b.t.Errorf("the page shows the code %q", code)
	}
	return code
}

// letIn types the code on the machine.
func (d *daemon) letIn(code string) {
	d.t.Helper()
	d.command("pair", code)
}

// refuse refuses, on the machine, the device that shows code.
func (d *daemon) refuse(code string) {
	d.t.Helper()
	status, body, err := d.try("DELETE", "/v1/pair/"+code, nil)
	if err != nil || status != http.StatusNoContent {
		d.t.Fatalf("refuse %s: %d %s %v", code, status, body, err)
	}
}

// startPairing is a device that asks to be let in.
func (d *daemon) startPairing() {
	d.t.Helper()
	status, body, err := d.as("", "POST", "/v1/pair/start", map[string]any{"publicKey": authtest.NewKey().JWK()})
	if err != nil || status != http.StatusCreated {
		d.t.Fatalf("start a pairing: %d %s %v", status, body, err)
	}
}

// signed holds the record of a decision to have been signed by its device.
func (d *daemon) signed(id string) {
	d.t.Helper()
	if out := d.command("trace", id); !strings.Contains(out, "signature verified") {
		d.t.Errorf("no verified signature in the trace of request %s:\n%s", id, out)
	}
}

type waitingDevice struct{ Code, Name string }

func (d *daemon) waitingDevices() (list []waitingDevice) {
	d.t.Helper()
	d.get("/v1/pair", &list)
	return list
}

type device struct{ ID, Name, Role string }

func (d *daemon) devices() (list []device) {
	d.t.Helper()
	d.get("/v1/devices", &list)
	return list
}

// TestPagePairsFromHere goes the way of a person who typed the broker's address into a phone:
// a code, a reload, a sleep while somebody types it, and a first answer.
func TestPagePairsFromHere(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	url, _ := d.owner()
	b.do(chromedp.Navigate(url))
	b.see(pairHere, "Pair from here")
	b.looks("door")
	b.tap(pairHere)
	code := b.code("")
	b.see("main", "assent pair "+code)
	b.looks("code")
	if list := d.waitingDevices(); len(list) != 1 || list[0].Code != code || !strings.Contains(b.text("main"), list[0].Name) {
		t.Errorf("waiting %+v, the page shows %q", list, b.text("main"))
	}

	b.do(chromedp.Reload())
	if again := b.code(""); again != code {
		t.Errorf("a reload made %s of the code %s", again, code)
	}
	other := b.tab() // a second tab does not begin anew either
	other.do(chromedp.Navigate(url))
	if again := other.code(""); again != code {
		t.Errorf("a second tab shows %s, not %s", again, code)
	}
	other.close()

	b.sleep()
	d.letIn(code)
	b.wake()
	b.see("main", "Nothing waits for you")
	b.looks("empty")

	h := d.hook(bash("first", "npm test"))
	b.tap(open + " button.allow")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	devices := d.devices()
	if len(devices) != 1 || devices[0].Role != "approve" {
		t.Fatalf("devices %+v", devices)
	}
	r := d.settled()[0]
	if r.DecidedBy == nil || r.DecidedBy.Kind != "device" || r.DecidedBy.Name != devices[0].Name {
		t.Errorf("decided by %+v, want %+v", r.DecidedBy, devices[0])
	}
	d.signed(r.ID)
	b.do(chromedp.Reload()) // the key stayed
	b.see(".link-state", "Live")
	b.quiet()
}

// TestPageCodeThatComesToNothing: refused, forgotten by a restart, expired, or one too many. Each
// time the page says so, and a tap leads on.
func TestPageCodeThatComesToNothing(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t)) // the same after the restart: the page's origin
	b := newBrowser(t)
	b.before(expiredCodes)
	url, _ := d.owner()
	b.do(chromedp.Navigate(url))
	b.tap(pairHere)
	code := b.code("")
	d.refuse(code)
	b.see(".notice", "The code "+code+" is no longer good. It was refused")
	b.see(pairHere, "New code")
	b.looks("refused")

	b.tap(pairHere)
	code = b.code(code)
	b.tap("main button.third") // Cancel
	b.see("main", "Pair this browser")
	if s := b.text(".notice"); s != "" {
		t.Errorf("after Cancel the page complains: %s", s)
	}
	b.tap(pairHere)
	code = b.code(code)
	if list := d.waitingDevices(); len(list) != 1 || list[0].Code != code {
		t.Errorf("waiting: %+v, want only %s: a new code takes the old one's place", list, code)
	}

	d.kill()
	b.see(".door .silent", "No answer from the broker")
	b.looks("silent")
	d.start()
	b.see(".notice", "or the broker was restarted")
	b.do(chromedp.Reload()) // nothing is left of it
	b.see(pairHere, "Pair from here")

	value(b, chromedp.Evaluate[bool](`window.expired = true`))
	b.tap(pairHere)
	code = b.code(code)
	d.refuse(code) // as good as forgotten
	b.see(".notice", "The code "+code+" has expired")
	b.do(chromedp.Reload())

	for range 4 { // others at the same address
		d.startPairing()
	}
	b.tap(pairHere)
	b.see(".notice", "assent pair")
	b.looks("full")
	b.quiet()
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
