package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/internal/outlet/notify"
)

// inOrder is the commands of the cards, as they stand.
func (b *browser) inOrder() string {
	b.t.Helper()
	return value(b, chromedp.Evaluate[string](`[...document.querySelectorAll(".card:not(.over) pre")].map(e => e.innerText.trim()).join(", ")`))
}

// TestPageOrders: the inbox is in the order of age, or of what expires first; the browser keeps
// which, and a session with what is due comes first.
func TestPageOrders(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	for i, wait := range []time.Duration{time.Hour, 10 * time.Minute, 30 * time.Minute} {
		d.asksFor(wait, fmt.Sprintf("session-%d", i), fmt.Sprintf("step-%d", i))
		d.waitPending(i + 1)
	}
	order := func(want string) {
		t.Helper()
		eventually(t, soon, "the order "+want, func() bool { return b.inOrder() == want })
	}
	order("step-0, step-1, step-2")
	b.chooses(".tools select", "deadline")
	order("step-1, step-2, step-0")
	b.do(chromedp.Reload())
	order("step-1, step-2, step-0")
	d.asksFor(5*time.Minute, "session-0", "step-3") // its session goes to the top with it
	order("step-3, step-0, step-1, step-2")
	b.accessible("deadline")
	b.chooses(".tools select", "age")
	order("step-0, step-3, step-1, step-2")
	b.quiet()
}

// asksFor raises a request for a command that waits so long.
func (d *daemon) asksFor(wait time.Duration, session, text string) {
	d.t.Helper()
	d.hook(bash(session, text), "--timeout", wait.String()) // killed when the test is over
}

// TestPageEndsWhatWasSaved lists rules and grants that were made of requests, and revokes one of
// each; the next request like it asks again.
func TestPageEndsWhatWasSaved(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	save := func(command string, how ...string) {
		t.Helper()
		h := d.hook(bash("s", command))
		d.command(append([]string{"allow", d.waitPending(1)[0].ID}, how...)...)
		h.wait()
	}
	save("npm run build", "--grant", "15m")
	save("npm test", "--times", "3")
	save("make check", "--rule", "--yes")
	if out := d.hook(bash("s", "npm test")).wait(); out != allowed {
		t.Fatalf("the grant says %q", out)
	}
	b.view("Rules")
	eventually(t, soon, "three are listed", func() bool { return b.count(".rule .ask") == 3 })
	b.see(".book", "1 of 3 used, last")
	b.see(".book", "until it is revoked")
	eventually(t, soon, "the minutes that are left", func() bool {
		for _, x := range d.grants() {
			if x.Count == 0 {
				return strings.Contains(b.text(".book"), fmt.Sprintf("for %d min more", int(time.Until(x.ExpiresAt).Minutes())))
			}
		}
		return false
	})
	b.see(".book", "not used yet")
	b.see(".book", "No rules in files yet")
	b.accessible("saved")
	b.nothingCut("saved")
	for left, sentence := range []string{"npm test", "npm run build", "make check"} {
		row := `[...document.querySelectorAll(".rule")].find(e => e.innerText.includes(` + jsString(sentence) + `) && e.querySelector(".ask, .really"))`
		eventually(t, soon, sentence+" is asked about", func() bool {
			return value(b, chromedp.Evaluate[bool](`(e => { e?.querySelector(".ask")?.click(); return !!e?.querySelector(".really") })(`+row+`)`))
		})
		b.see(".really", "Revoke now")
		if left == 0 {
			b.accessible("revoke")
		}
		eventually(t, soon, sentence+" is over", func() bool { // once the button is armed
			value(b, chromedp.Evaluate[bool](`(document.querySelector('.really .deny:not([aria-disabled="true"])')?.click(), true)`))
			return b.count(".rule:not(.gone)") == 2-left
		})
	}
	b.click("summary", "3 that are over")
	b.see(".rule.gone", "revoked")
	b.accessible("saved-over")
	h := d.hook(bash("s", "npm run build"))
	d.deny(d.waitPending(1)[0], "not any more")
	h.wait()
	b.quiet()
}

// nothingCut fails the test where a phone cuts off what a person has to read: the page scrolls to
// no side, and no way between parts or choice is wider than its place.
func (b *browser) nothingCut(name string) {
	b.t.Helper()
	var all []string
	defer func() {
		for _, cut := range all {
			b.t.Errorf("%s: cut off: %s", name, cut)
		}
	}()
	// What is drawn to its place's size is drawn again after that has changed.
	eventually(b.t, soon, name+" is shown whole", func() bool {
		all = value(b, chromedp.Evaluate[[]string](`[document.documentElement, ...document.querySelectorAll("dialog, .tabs, .filters, .where, .act-row")]
		.filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).map(e => e.className + ": " + e.innerText.slice(0, 60))
		.concat([...document.querySelectorAll("select")].filter(s => {
			const wide = s.cloneNode(true); wide.style.cssText = "position:absolute;width:auto;max-width:none;flex:none"; wide.value = s.value; s.parentNode.append(wide)
			for (const o of [...wide.options]) if (!o.selected) o.remove()
			const needs = wide.getBoundingClientRect().width; wide.remove()
			return needs > s.getBoundingClientRect().width + 1
		}).map(s => "choice " + s.selectedOptions[0]?.text))`))
		return len(all) == 0
	})
}

// TestPageTurnsOnNotifications: this browser is rung from the settings, with a test, other times
// and other sessions, and no more. Its push service is one of ours.
func TestPageTurnsOnNotifications(t *testing.T) {
	t.Parallel()
	v, allow := vendor(t)
	d := serve(t, allow)
	b := newBrowser(t)
	// Headless browsers have no push service; what the page gives it and gets from it stays.
	seed := v.Subscribe("")
	b.before(`{
		const subscriptions = { now: null, made: 0 };
		const make = key => ({ options: {applicationServerKey: key.buffer ?? key}, toJSON: () => JSON.parse(window.vendorSays ?? ` + jsString(string(seed.JSON())) + `), unsubscribe: async () => { subscriptions.now = null; return true } });
		PushManager.prototype.subscribe = async o => { subscriptions.made++; window.vendorKey = o.applicationServerKey; window.visibleOnly = o.userVisibleOnly; return subscriptions.now = make(o.applicationServerKey) };
		PushManager.prototype.getSubscription = async () => subscriptions.now;
		Notification.requestPermission = async () => window.says ?? "granted";
		Object.defineProperty(Notification, "permission", {get: () => window.says ?? "default"});
	}`)
	b.pair(d)
	d.asksFor(time.Hour, "other-session", "waits")
	d.asksFor(time.Hour, "session-of-the-same-name", "waits too")
	d.waitPending(2)
	b.tap("header button.small")
	b.click(".settings .tabs button", "Notifications")
	b.see(".notify", "This browser does not ring.")
	b.accessible("notify-off")
	b.nothingCut("notify-off")

	// The key of the broker goes to the push service, which makes an address for it.
	var key struct{ PublicKey string }
	d.must("GET", "/v1/push", d.pairBare("view").bearer(), nil, http.StatusOK, &key)
	browser := v.Subscribe(key.PublicKey)
	value(b, chromedp.Evaluate[bool](`(window.vendorSays = `+jsString(string(browser.JSON()))+`, true)`))
	b.click(".notify button", "Ring this browser")
	b.see(".notify", "This browser rings when a request waits.")
	if ok := value(b, chromedp.Evaluate[bool](`window.visibleOnly === true && btoa(String.fromCharCode(...new Uint8Array(window.vendorKey))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") === `+jsString(key.PublicKey))); !ok {
		t.Error("the push service was given another key than the broker's")
	}
	b.click(".notify button", "Send a test")
	if m := arrived(t, v, 1); m.Type != "test" {
		t.Errorf("%+v", m)
	}
	b.see(".notify", "A test is on its way.")
	b.click(".notify label", "Quiet hours")
	b.see(".notify", "Saved.")
	b.do(chromedp.WaitVisible(chromedp.CSS(`.notify input[type="time"]`)))
	b.click(".notify label", "Quiet hours")
	eventually(t, soon, "no quiet hours", func() bool { return b.count(`.notify input[type="time"]`) == 0 })
	b.chooses(".notify select", "0")
	b.see(".notify", "Saved.")
	const sessions = ".notify label:has(select) ~ label select"
	b.chooses(sessions, "only")
	b.see(".notify", "tmp …sion") // two have the same name
	b.see(".notify", "tmp …name")
	b.accessible("notify-on")
	b.nothingCut("notify-on")

	// Now no session is chosen, so nothing rings; then all do again.
	var o notify.Overview
	d.must("GET", "/v1/notifications", "", nil, http.StatusOK, &o)
	if len(o.Devices) != 1 || o.Devices[0].Trouble != "" || o.Devices[0].LastSentAt.IsZero() {
		t.Errorf("%+v", o)
	}
	h := d.hook(bash("quiet-session", "quiet"))
	d.allow(requestOf(d, "quiet"))
	h.wait()
	b.chooses(sessions, "all")
	eventually(t, soon, "all are chosen again", func() bool { return b.count(".notify .switched") == 2 })
	b.see(".notify", "Saved.")
	h = d.hook(bash("loud-session", "loud"))
	r := requestOf(d, "loud")
	if m := arrived(t, v, 2); m.Type != "asked" || m.RequestID != r.ID {
		t.Errorf("%+v, want the request of the loud session", m)
	}
	d.allow(r)
	h.wait()
	b.click(".notify button", "Stop ringing")
	b.see(".notify", "This browser does not ring.")

	// An owner who says no is told how that can be changed.
	value(b, chromedp.Evaluate[bool](`(window.says = "denied", true)`))
	b.click(".notify button", "Ring this browser")
	b.see(".notify", "The browser was told not to.")
	b.quiet()
}

// TestPageSaysThatThePushServiceIsSilent: a browser that cannot reach its push service says nothing,
// for ever. The page waits so long, says what it waited for, and lets its owner try again.
func TestPageSaysThatThePushServiceIsSilent(t *testing.T) {
	t.Parallel()
	v, allow := vendor(t)
	d := serve(t, allow)
	b := newBrowser(t)
	seed := v.Subscribe("")
	// The twenty seconds are over when the test says so.
	b.before(`{
		const timeout = setTimeout;
		window.setTimeout = (f, ms, ...more) => ms === 20000 ? (window.over = f, 0) : timeout(f, ms, ...more);
		PushManager.prototype.getSubscription = async () => null;
		PushManager.prototype.subscribe = o => window.reachable
			? Promise.resolve({ options: {applicationServerKey: o.applicationServerKey}, toJSON: () => (` + string(seed.JSON()) + `), unsubscribe: async () => true })
			: new Promise(() => undefined);
		Notification.requestPermission = async () => "granted";
		Object.defineProperty(Notification, "permission", {get: () => "default"});
	}`)
	b.pair(d)
	b.tap("header button.small")
	b.click(".settings .tabs button", "Notifications")
	b.see(".notify", "This browser does not ring.")
	b.click(".notify button", "Ring this browser")
	b.see(".notify [role=status]", "Waiting for this browser and its push service")
	b.do(chromedp.WaitVisible(chromedp.CSS(".notify .allow.busy:disabled")))
	b.shot("notify-waits")
	eventually(t, soon, "the push service was asked", func() bool { return value(b, chromedp.Evaluate[bool](`!!window.over`)) })
	value(b, chromedp.Evaluate[bool](`(over(), true)`))
	b.see(".notify [role=alert]", "push service did not answer")
	if said := b.text(".notify [role=status]"); said != "" {
		t.Errorf("it still says %q", said)
	}
	b.accessible("notify-silent")
	value(b, chromedp.Evaluate[bool](`window.reachable = true`))
	b.click(".notify button", "Ring this browser")
	b.see(".notify", "This browser rings when a request waits.")
	b.quiet()
}

// requestOf waits for the request whose command holds a text.
func requestOf(d *daemon, text string) (found request) {
	d.t.Helper()
	eventually(d.t, soon, text+" waits", func() bool {
		for _, r := range d.pending() {
			if strings.Contains(string(r.ToolInput), text) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}
