package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/outlet/notify"
)

// TestPageOrders: the inbox is in the order of age, or of what expires first; the browser keeps
// which, and a session with what is due comes first.
func TestPageOrders(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	for i, wait := range []time.Duration{time.Hour, 10 * time.Minute, 30 * time.Minute} {
		d.AsksFor(wait, fmt.Sprintf("session-%d", i), fmt.Sprintf("step-%d", i))
		d.WaitPending(i + 1)
	}
	order := func(want string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the order "+want, func() bool { return b.InOrder(d) == want })
	}
	b.All()
	order("step-0, step-1, step-2")
	b.Chooses("[data-ui=tools] select", "deadline")
	order("step-1, step-2, step-0")
	b.Do(chromedp.Reload())
	b.All()
	order("step-1, step-2, step-0")
	d.AsksFor(5*time.Minute, "session-0", "step-3")
	order("step-3, step-1, step-2, step-0")
	b.Accessible("deadline")
	b.Chooses("[data-ui=tools] select", "age")
	order("step-0, step-1, step-2, step-3")
	b.Quiet()
}

// TestPageEndsWhatWasSaved lists rules and grants that were made of requests, and revokes one of
// each; the next request like it asks again.
func TestPageEndsWhatWasSaved(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	save := func(command string, how ...string) {
		t.Helper()
		h := d.Hook(rig.Bash("s", command))
		d.Command(append([]string{"allow", d.WaitPending(1)[0].ID}, how...)...)
		h.Wait()
	}
	save("npm run build", "--grant", "15m")
	save("npm test", "--times", "3")
	save("make check", "--rule", "--yes")
	if out := d.Hook(rig.Bash("s", "npm test")).Wait(); out != rig.Allowed {
		t.Fatalf("the grant says %q", out)
	}
	b.View("Rules")
	rig.Eventually(t, rig.Soon, "three are listed", func() bool { return b.Count("[data-ui=rule] [data-action=revoke]") == 3 })
	b.See("[data-ui=book]", "1 of 3 used, last")
	b.See("[data-ui=book]", rig.Word("book.forGood"))
	rig.Eventually(t, rig.Soon, "the minutes that are left", func() bool {
		for _, x := range d.Grants() {
			if x.Count == 0 {
				return strings.Contains(b.Text("[data-ui=book]"), fmt.Sprintf("for %d min more", int(time.Until(x.ExpiresAt).Minutes())))
			}
		}
		return false
	})
	b.See("[data-ui=book]", rig.Word("book.unused"))
	b.See("[data-ui=book]", "No rules in files yet")
	b.Accessible("saved")
	b.NothingCut("saved")
	for left, sentence := range []string{"npm test", "npm run build", "make check"} {
		row := `[...document.querySelectorAll("[data-ui=rule]")].find(e => e.innerText.includes(` + rig.JSString(sentence) + `) && e.querySelector("[data-action=revoke], [data-ui=sure]"))`
		rig.Eventually(t, rig.Soon, sentence+" is asked about", func() bool {
			return rig.Value(b, chromedp.Evaluate[bool](`(e => { e?.querySelector("[data-action=revoke]")?.click(); return !!e?.querySelector("[data-ui=sure]") })(`+row+`)`))
		})
		b.See("[data-ui=sure]", rig.Word("book.revokeNow"))
		if left == 0 {
			b.Accessible("revoke")
		}
		rig.Eventually(t, rig.Soon, sentence+" is over", func() bool { // once the button is armed
			rig.Value(b, chromedp.Evaluate[bool](`(document.querySelector('[data-ui=sure] [data-action=yes]:not([aria-disabled="true"])')?.click(), true)`))
			return b.Count("[data-ui=rule]:not([data-state=gone])") == 2-left
		})
	}
	b.Click("summary", rig.Word("book.over", "3"))
	b.See("[data-ui=rule][data-state=gone]", rig.Word("book.grantStates.revoked"))
	b.Accessible("saved-over")
	h := d.Hook(rig.Bash("s", "npm run build"))
	d.Deny(d.WaitPending(1)[0], "not any more")
	h.Wait()
	b.Quiet()
}

// TestPageTurnsOnNotifications: this browser is rung from the settings, with a test, other times
// and other sessions, and no more. Its push service is one of ours.
func TestPageTurnsOnNotifications(t *testing.T) {
	t.Parallel()
	v, allow := rig.Vendor(t)
	d := rig.Serve(t, allow)
	b := rig.NewBrowser(t)
	// Headless browsers have no push service; what the page gives it and gets from it stays.
	seed := v.Subscribe("")
	b.Before(`{
		const subscriptions = { now: null, made: 0 };
		const make = key => ({ options: {applicationServerKey: key.buffer ?? key}, toJSON: () => JSON.parse(window.vendorSays ?? ` + rig.JSString(string(seed.JSON())) + `), unsubscribe: async () => { subscriptions.now = null; return true } });
		PushManager.prototype.subscribe = async o => { subscriptions.made++; window.vendorKey = o.applicationServerKey; window.visibleOnly = o.userVisibleOnly; return subscriptions.now = make(o.applicationServerKey) };
		PushManager.prototype.getSubscription = async () => subscriptions.now;
		Notification.requestPermission = async () => window.says ?? "granted";
		Object.defineProperty(Notification, "permission", {get: () => window.says ?? "default"});
	}`)
	b.Pair(d)
	d.AsksFor(time.Hour, "other-session", "waits")
	d.AsksFor(time.Hour, "session-of-the-same-name", "waits too")
	d.WaitPending(2)
	b.Tap("[data-action=settings]")
	b.Click("[data-ui=sections] button", "Notifications")
	b.See("[data-ui=notify]", rig.Word("notify.off"))
	b.Accessible("notify-off")
	b.NothingCut("notify-off")

	// The key of the broker goes to the push service, which makes an address for it.
	var key struct{ PublicKey string }
	d.Must("GET", "/v1/push", d.PairBare("view").Bearer(), nil, http.StatusOK, &key)
	browser := v.Subscribe(key.PublicKey)
	rig.Value(b, chromedp.Evaluate[bool](`(window.vendorSays = `+rig.JSString(string(browser.JSON()))+`, true)`))
	b.Click("[data-ui=notify] button", "Turn on notifications")
	b.See("[data-ui=notify]", rig.Word("notify.on"))
	if ok := rig.Value(b, chromedp.Evaluate[bool](`window.visibleOnly === true && btoa(String.fromCharCode(...new Uint8Array(window.vendorKey))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") === `+rig.JSString(key.PublicKey))); !ok {
		t.Error("the push service was given another key than the broker's")
	}
	b.Click("[data-ui=notify] button", "Send a test")
	if m := rig.Arrived(t, v, 1); m.Type != "test" {
		t.Errorf("%+v", m)
	}
	b.See("[data-ui=notify]", rig.Word("notify.tested"))
	b.Click("[data-ui=notify] label", "Quiet hours")
	b.See("[data-ui=notify]", rig.Word("notify.saved"))
	b.Do(chromedp.WaitVisible(chromedp.CSS(`[data-ui=notify] input[type="time"]`)))
	b.Click("[data-ui=notify] label", "Quiet hours")
	rig.Eventually(t, rig.Soon, "no quiet hours", func() bool { return b.Count(`[data-ui=notify] input[type="time"]`) == 0 })
	b.Chooses("[data-ui=notify] select", "0")
	b.See("[data-ui=notify]", rig.Word("notify.saved"))
	const sessions = "[data-ui=notify] label:has(select) ~ label select"
	b.Chooses(sessions, "only")
	b.See("[data-ui=notify]", "tmp …sion") // two have the same name
	b.See("[data-ui=notify]", "tmp …name")
	b.Accessible("notify-on")
	b.NothingCut("notify-on")

	// Now no session is chosen, so nothing rings; then all do again.
	var o notify.Overview
	d.Must("GET", "/v1/notifications", "", nil, http.StatusOK, &o)
	if len(o.Devices) != 1 || o.Devices[0].Trouble != "" || o.Devices[0].LastSentAt.IsZero() {
		t.Errorf("%+v", o)
	}
	b.Click("[data-ui=notify] label", rig.Word("notify.showContent"))
	b.See("[data-ui=notify]", rig.Word("notify.showSentence"))
	b.Accessible("notify-content")
	b.NothingCut("notify-content")
	b.Click("[data-ui=notify] label", rig.Word("notify.showContent"))
	rig.Eventually(t, rig.Soon, "no sentence without the content", func() bool { return !strings.Contains(b.Text("[data-ui=notify]"), rig.Word("notify.showSentence")) })
	h := d.Hook(rig.Bash("quiet-session", "quiet"))
	d.Allow(requestOf(d, "quiet"))
	h.Wait()
	b.Chooses(sessions, "all")
	rig.Eventually(t, rig.Soon, "all are chosen again", func() bool { return b.Count("[data-ui=notify] [data-ui=switch]") == 6 })
	b.See("[data-ui=notify]", rig.Word("notify.saved"))
	h = d.Hook(rig.Bash("loud-session", "loud"))
	r := requestOf(d, "loud")
	if m := rig.Arrived(t, v, 2); m.Type != "asked" || m.RequestID != r.ID {
		t.Errorf("%+v, want the request of the loud session", m)
	}
	d.Allow(r)
	h.Wait()
	b.Click("[data-ui=notify] button", "Turn off notifications")
	b.See("[data-ui=notify]", rig.Word("notify.off"))

	// An owner who says no is told how that can be changed.
	rig.Value(b, chromedp.Evaluate[bool](`(window.says = "denied", true)`))
	b.Click("[data-ui=notify] button", "Turn on notifications")
	b.See("[data-ui=notify]", rig.Word("notify.errors.NotAllowedError"))
	b.Quiet()
}

// TestPageSaysThatThePushServiceIsSilent: a browser that cannot reach its push service says nothing,
// for ever. The page waits so long, says what it waited for, and lets its owner try again.
func TestPageSaysThatThePushServiceIsSilent(t *testing.T) {
	t.Parallel()
	v, allow := rig.Vendor(t)
	d := rig.Serve(t, allow)
	b := rig.NewBrowser(t)
	seed := v.Subscribe("")
	// The twenty seconds are over when the test says so.
	b.Before(`{
		const timeout = setTimeout;
		window.setTimeout = (f, ms, ...more) => ms === 20000 ? (window.over = f, 0) : timeout(f, ms, ...more);
		PushManager.prototype.getSubscription = async () => null;
		PushManager.prototype.subscribe = o => window.reachable
			? Promise.resolve({ options: {applicationServerKey: o.applicationServerKey}, toJSON: () => (` + string(seed.JSON()) + `), unsubscribe: async () => true })
			: new Promise(() => undefined);
		Notification.requestPermission = async () => "granted";
		Object.defineProperty(Notification, "permission", {get: () => "default"});
	}`)
	b.Pair(d)
	b.Tap("[data-action=settings]")
	b.Click("[data-ui=sections] button", "Notifications")
	b.See("[data-ui=notify]", rig.Word("notify.off"))
	b.Click("[data-ui=notify] button", "Turn on notifications")
	b.See("[data-ui=notify] [role=status]", rig.Word("notify.turning"))
	b.Do(chromedp.WaitVisible(chromedp.CSS("[data-ui=notify] [data-action=ring][data-state=busy]:disabled")))
	b.Shot("notify-waits")
	rig.Eventually(t, rig.Soon, "the push service was asked", func() bool { return rig.Value(b, chromedp.Evaluate[bool](`!!window.over`)) })
	rig.Value(b, chromedp.Evaluate[bool](`(over(), true)`))
	b.See("[data-ui=notify] [role=alert]", "push service did not answer")
	if said := b.Text("[data-ui=notify] [role=status]"); said != "" {
		t.Errorf("it still says %q", said)
	}
	b.Accessible("notify-silent")
	rig.Value(b, chromedp.Evaluate[bool](`window.reachable = true`))
	b.Click("[data-ui=notify] button", "Turn on notifications")
	b.See("[data-ui=notify]", rig.Word("notify.on"))
	b.Quiet()
}

// requestOf waits for the request whose command holds a text.
func requestOf(d *rig.Daemon, text string) (found rig.Request) {
	d.T.Helper()
	rig.Eventually(d.T, rig.Soon, text+" waits", func() bool {
		for _, r := range d.Pending() {
			if strings.Contains(string(r.ToolInput), text) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}
