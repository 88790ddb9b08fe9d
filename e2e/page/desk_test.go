package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"assent/e2e/rig"
)

// settledDay is a broker with something to tell of: decided by people and a rule.
func settledDay(t *testing.T) *rig.Daemon {
	t.Helper()
	d := rig.Serve(t)
	d.SetRules("version: 1\nallow: [\"Bash(go test:*)\"]\nrules:\n  - id: no-force\n    action: deny\n    message: Never force.\n    match: {command: {program: git, args: [push, ...], flags: {has: [--force]}}}\n")
	project := d.Dir
	for i := range 6 {
		session := fmt.Sprintf("6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c1%d", i%2)
		ch := d.Asks(t.Context(), session, project, "Bash", rig.Command(fmt.Sprintf("npm run build -- shard-%d", i)))
		r := d.WaitPending(1)[0]
		if i%3 == 2 {
			d.Deny(r, "Not on a Friday.")
		} else {
			d.Allow(r)
		}
		<-ch
	}
	<-d.Asks(t.Context(), "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10", project, "Bash", rig.Command("go test ./..."))
	<-d.Asks(t.Context(), "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10", project, "Bash", rig.Command("git push --force origin main"))
	return d
}

// TestPageTellsWhatWasDecided: history with its filters, charts, rules; each as axe wants it.
func TestPageTellsWhatWasDecided(t *testing.T) {
	t.Parallel()
	d := settledDay(t)
	b := rig.NewBrowser(t)
	b.Pair(d)

	b.View("History")
	b.See("[data-ui=history]", "npm run build -- shard-5")
	rig.Eventually(t, rig.Soon, "all is in the history", func() bool { return b.Count("[data-ui=decision]") == 8 })
	b.See("[data-ui=decision]", "rule no-force")
	b.Accessible("history")
	b.NothingCut("history")
	b.Chooses("[data-ui=filters] select", "denied")
	rig.Eventually(t, rig.Soon, "only what was denied", func() bool { return b.Count("[data-ui=decision]") == 3 })
	b.See("[data-ui=history]", "Not on a Friday.")
	b.Chooses("[data-ui=filters] select:nth-of-type(2)", "rule")
	rig.Eventually(t, rig.Soon, "only what a rule denied", func() bool { return b.Count("[data-ui=decision]") == 1 })
	b.Chooses("[data-ui=filters] select", "")
	rig.Eventually(t, rig.Soon, "what rules decided", func() bool { return b.Count("[data-ui=decision]") == 2 })
	b.Click("[data-ui=decision] button", "Show the request")
	b.See("[data-ui=decision] [data-ui=fields]", "git push --force origin main")
	b.Chooses("[data-ui=filters] select:nth-of-type(2)", "")
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=filters] input"), "shard-4"))
	rig.Eventually(t, rig.Soon, "what was looked for", func() bool { return b.Count("[data-ui=decision]") == 1 })
	b.Accessible("history-filtered")
	b.NothingCut("history-filtered")

	b.View("Charts")
	b.See("[data-ui=charts]", "8 decisions, 2 of them by rules.")
	rig.Eventually(t, rig.Soon, "the charts are drawn", func() bool { return b.Count("[data-ui=plot] canvas") >= 2 })
	b.Accessible("charts")
	b.NothingCut("charts")
	b.Click("summary", "Show as a table")
	b.See("[data-ui=charts] [data-ui=table]", rig.Word("outcome.ownerCli"))
	b.See("[data-ui=charts] details table", "Handed back")
	b.Shot("charts-table.png")

	b.View("Rules")
	b.See("[data-ui=book]", "no-force")
	b.See("[data-ui=book]", "once, last")
	b.Accessible("rules")
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=find]"), "go test"))
	rig.Eventually(t, rig.Soon, "one rule", func() bool { return b.Count("[data-ui=rule]") == 1 })
	b.Quiet()
}

// TestPageSettings opens every section.
func TestPageSettings(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Tap("[data-action=settings]")
	b.See(row(1), rig.Word("devices.thisBrowser"))
	b.Accessible("settings-devices")
	if s := b.Text("[data-ui=sections]"); strings.Contains(s, rig.Word("settings.sections.keyboard")) {
		t.Errorf("a phone has %q", s)
	}
	b.Do(rig.Desktop, chromedp.Reload())
	b.Tap("[data-action=settings]")
	for _, section := range []string{"Notifications", "Answering", "Keyboard"} {
		b.Do(rig.Desktop)
		b.Click("[data-ui=sections] button", section)
		b.See("[data-ui=settings]", map[string]string{"Notifications": "ring", "Answering": "3 seconds", "Keyboard": "Next request"}[section])
		b.Accessible("settings-" + strings.ToLower(section))
		b.NothingCut("settings-" + strings.ToLower(section))
	}
	b.Quiet()
}

// TestPageManyAtOnce decides exactly what was chosen, and nothing when that has changed meanwhile.
func TestPageManyAtOnce(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	chans := map[string]<-chan string{}
	ask := func(session, text string) {
		n := len(d.Pending())
		chans[text] = d.Asks(t.Context(), session, "/home/dev/"+session, "Bash", rig.Command(text))
		d.WaitPending(n + 1) // in this order
	}
	for i := range 3 {
		ask("shop", fmt.Sprintf("git push origin v%d", i))
		ask("docs", fmt.Sprintf("npm install left-pad@%d", i))
	}
	long := "echo begin\n" + strings.Repeat("echo more\n", 60) + "npm publish"
	ask("docs", long)
	d.WaitPending(7)
	b.See("main", "git push origin v0")
	b.Accessible("inbox")
	b.All()
	b.Tap("[data-action=many]")
	b.See("[data-ui=alike] h3", "Bash")
	rig.Eventually(t, rig.Soon, "groups by shape", func() bool { return b.Count("[data-ui=alike]") == 3 && b.Count("[data-ui=row]") == 7 })
	rig.Value(b, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`)) // so that the bar covers no half of a row
	b.Accessible("many")
	b.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))

	// All of the pushes; then one is settled elsewhere, and another one comes.
	b.ChoosesAlike("3 chosen")
	for _, r := range d.Pending() {
		if strings.Contains(string(r.ToolInput), "v1") {
			d.Deny(r, "elsewhere")
		}
	}
	<-chans["git push origin v1"]
	ask("shop", "git push origin later")
	d.WaitPending(7)
	b.See("[data-ui=row]", "git push")
	rig.Eventually(t, rig.Soon, "the new one is shown", func() bool { return strings.Contains(b.Text("main"), "origin later") })
	b.Together("[data-action=allow]", "Allow 3", "1 of 3 chosen requests no longer waits")
	if n := len(d.Pending()); n != 7 {
		t.Fatalf("%d wait after a stale choice, want 7", n)
	}
	b.Shot("many-stale.png")
	b.Together("[data-action=allow]", "Allow 2", "Allowed 2.")
	for _, text := range []string{"git push origin v0", "git push origin v2"} {
		if out := <-chans[text]; out != rig.Allowed {
			t.Errorf("%s: the hook printed %s", text, out)
		}
	}
	if n := len(d.Pending()); n != 5 {
		t.Errorf("%d wait, want 5: what came later is not answered", n)
	}

	// What was not shown whole cannot be allowed among others; to be denied it need not be.
	all := `[...document.querySelectorAll("[data-ui=row]:not([data-state=over]) input[type=checkbox]")].filter(i => !i.disabled)`
	rig.Eventually(t, rig.Soon, "the list is still", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](all+`.every(i => { if (!i.checked) i.click(); return i.checked })`))
	})
	b.See("[data-ui=together]", rig.Word("inbox.chosen", "5"))
	b.See("[data-ui=together] p", "1 chosen request has not been read yet")
	if off := rig.Value(b, chromedp.Evaluate[string](`document.querySelector("[data-ui=together] [data-action=allow]").ariaDisabled`)); off != "true" {
		t.Error("what was not shown can be allowed")
	}
	rig.Value(b, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`)) // so that the bar covers no half of a row
	b.Accessible("many-chosen")
	b.Together("[data-action=deny]", "Deny 5", "Denied 5.")
	if out := <-chans[long]; !strings.Contains(out, `"deny"`) {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// TestPageTakesBack: an answer that waits can be taken back, and nothing was sent.
func TestPageTakesBack(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	// The three seconds are over when the test says so, and so are those in which the bar says what became of it.
	b.Before(`try { localStorage.setItem("assent.preferences", JSON.stringify({undo: true})) } catch {}
		const timeout = setTimeout;
		window.later = [];
		window.setTimeout = (f, ms, ...more) => ms === 700 && !window.hurry ? window.later.push(f) : timeout(f, ms === 3000 && !window.hurry ? 3600e3 : ms, ...more);`)
	b.Pair(d)
	ch := d.Asks(t.Context(), "s", "/home/dev/app", "Bash", rig.Command("make"))
	d.WaitPending(1)
	next := d.Asks(t.Context(), "s", "/home/dev/app", "Bash", rig.Command("next"+strings.Repeat("; x", 20)))
	d.WaitPending(2)
	b.Tap(rig.Open + " [data-action=allow]")
	b.See("[data-ui=hold]", "Allow: ")
	b.See(rig.Open, "next")                                                                            // at once
	for _, at := range []string{"0", "document.body.scrollHeight / 3", "document.body.scrollHeight"} { // the bar lies over no answer
		covered := rig.Value(b, chromedp.Evaluate[[]string](`(scrollTo(0, `+at+`), [...document.querySelectorAll("[data-ui=foot] button")].filter(e => {
			const box = e.getBoundingClientRect(), x = box.left + box.width / 2, y = box.bottom - 2;
			return box.bottom > 0 && box.top < innerHeight && !e.closest("[data-ui=foot]").contains(document.elementFromPoint(x, Math.min(y, innerHeight - 1)));
		}).map(e => e.innerText))`))
		if len(covered) > 0 {
			t.Errorf("at %s the bar covers %q", at, covered)
		}
	}
	b.See("[data-ui=hold]", rig.Word("hold.soon"))
	b.Shot("hold.png")
	b.Click("[data-ui=hold] button", "Undo")
	b.See("[data-ui=hold]", rig.Word("hold.over"))
	b.See(rig.Open, "make") // it is back
	if n := len(d.Pending()); n != 2 {
		t.Fatal("an answer was sent that was taken back")
	}
	d.Deny(d.Pending()[1], "")
	<-next
	rig.Value(b, chromedp.Evaluate[bool](`(window.later.splice(0).forEach(f => f()), window.hurry = true)`))
	b.Decide("[data-action=deny]", "Denied") // again, where the three seconds were so long that the page takes it for a sleep
	if out := <-ch; out != rig.Denied("") && !strings.Contains(out, `"deny"`) {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// keyboard presses and releases keys as a keyboard does. What chromedp.KeyEvent sends is no raw key,
// so the page could not keep its letter from whatever gets the focus meanwhile.
func keyboard(keys string) chromedp.Action[chromedp.Void] {
	return chromedp.KeyEvent(keys, func(p *input.DispatchKeyEventParams) {
		if p.Type == input.DispatchKeyEventTypeKeyDown {
			p.Type = input.DispatchKeyEventTypeRawKeyDown
		}
	})
}

// TestPageByKeys answers with the keyboard alone; keys can be changed and switched off.
func TestPageByKeys(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Do(rig.Desktop)
	b.Pair(d)
	b.Do(rig.Desktop)
	one := d.Asks(t.Context(), "one", "/home/dev/one", "Bash", rig.Command("echo first"))
	d.WaitPending(1)
	two := d.Asks(t.Context(), "two", "/home/dev/two", "Bash", rig.Command("echo second"))
	d.WaitPending(2)
	rig.Eventually(t, rig.Soon, "both are in the list", func() bool { return b.Count("[data-ui=entry]") == 2 })
	press := func(key string) {
		t.Helper()
		b.Do(keyboard(key))
	}
	focused := func(text string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the focus is on "+text, func() bool {
			return rig.Value(b, chromedp.Evaluate[bool](`document.activeElement.matches("[data-ui=card]") && document.activeElement.innerText.includes(`+rig.JSString(text)+`)`))
		})
	}
	press("a") // nothing has the focus
	press("j")
	focused("echo first")
	press("j")
	focused("echo second")
	b.Shot("keys.png")
	press("k")
	focused("echo first")
	for _, text := range []string{"echo second", "echo first", "echo second"} {
		press("w")
		focused(text)
	}
	press("m")
	rig.Eventually(t, rig.Soon, "the focus is on the note", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`document.activeElement.matches("textarea")`))
	})
	b.Do(keyboard("add a test"))
	if got := rig.Value(b, chromedp.Evaluate[string](`document.activeElement.value`)); got != "add a test" {
		t.Fatalf("typed %q", got)
	}
	b.Click(rig.Open+" [data-action=deny]", "Deny with note")
	if out := <-two; out != rig.Denied("add a test") {
		t.Errorf("the hook printed %s", out)
	}
	focused("echo first") // what follows comes up, for the keyboard too
	press("?")
	b.See("[data-ui=settings]", rig.Word("settings.actions.next"))
	b.Shot("help.png")
	rig.Value(b, chromedp.Evaluate[bool](`(i => { i.value = "y"; i.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.querySelector("[aria-label='Key for: Allow']"))`))
	b.View("Inbox")
	rig.Eventually(t, rig.Soon, "the first one has the focus and is armed", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`(c => { c?.focus(); return !!c && c.querySelector("[data-action=allow]")?.ariaDisabled === "false" })(document.querySelector("[data-ui=card]:not([data-state=over])"))`))
	})
	press("a") // not any more
	out := ""
	rig.Eventually(t, rig.Soon, "the answer to the first one", func() bool {
		press("y") // again, where the focus made the card move and it is not armed any more
		select {
		case out = <-one:
		default:
		}
		return out != ""
	})
	if out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// TestPageWithoutBroker: the installed page says that the broker is away, and comes back.
func TestPageWithoutBroker(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t))
	b := rig.NewBrowser(t)
	b.Pair(d)
	rig.Eventually(t, rig.Soon, "the service worker is there", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`navigator.serviceWorker.getRegistration().then(r => !!r?.active)`, chromedp.EvalAwaitPromise))
	})
	b.Before(`const every = setInterval; window.setInterval = (f, ms, ...more) => ms === 10000 ? 0 : every(f, ms, ...more)`) // it does not try by itself before it is told to
	d.Kill()
	b.Do(chromedp.Reload())
	b.See("main", "The broker does not answer")
	b.Accessible("offline")
	d.Start()
	b.Click("main a", "Try again now")
	b.See("[data-ui=link]", rig.Word("link.live"))
	b.Quiet()
}

// TestPageShowsTheRequestOfALink: a notification's link leads to the very card, also of what is over.
func TestPageShowsTheRequestOfALink(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	url, _ := d.Owner()
	ch := d.Asks(t.Context(), "s", "/home/dev/app", "Bash", rig.Command("make once"))
	id := d.WaitPending(1)[0].ID
	d.Allow(d.Pending()[0])
	<-ch
	b.Do(chromedp.Navigate(url + "/?request=" + id))
	b.See("[data-ui=card][data-state=over]", "make once")
	b.See("[data-ui=card][data-state=over] [data-ui=outcome]", "Allowed from the terminal")
	b.Tap("[data-action=next]")
	b.See("main", rig.Word("empty.head"))
	if at := rig.Value(b, chromedp.Location()); strings.Contains(at, id) {
		t.Errorf("the address keeps the request: %s", at)
	}
	b.Do(chromedp.Navigate(url + "/?request=" + uuid.NewString()))
	b.See("main", rig.Word("news.noRequest"))
	b.Quiet()
}

// TestPageScrollsOnce: on a wide screen a long list scrolls by itself, and the page does not scroll beside it.
func TestPageScrollsOnce(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	for i := range 30 {
		d.Asks(t.Context(), "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10", d.Dir, "Bash", rig.Command(fmt.Sprintf("npm run build -- shard-%d", i)))
	}
	d.WaitPending(30)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Do(rig.Desktop)
	rig.Eventually(t, rig.Soon, "the list is longer than the screen", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`(l => !!l && l.scrollHeight > l.clientHeight)(document.querySelector("`+rig.Part("list")+`"))`))
	})
	if over := rig.Value(b, chromedp.Evaluate[float64](`document.documentElement.scrollHeight - innerHeight`)); over > 0 {
		t.Errorf("the page is %v px longer than the screen, and its list scrolls too", over)
	}
}
