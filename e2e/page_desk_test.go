package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
)

// asks posts a request as a hook does and does not wait for its answer, which comes on the channel.
func (d *daemon) asks(ctx context.Context, session, cwd, tool, input string) <-chan string {
	d.t.Helper()
	out := make(chan string, 1)
	body := fmt.Appendf(nil, `{"session_id":%q,"transcript_path":"/t","cwd":%q,"hook_event_name":"PermissionRequest","tool_name":%q,"tool_input":%s,"permission_mode":"default"}`, session, cwd, tool, input)
	client := d.socketClient()
	go func() {
		_, answer, err := postHook(ctx, client, body)
		if err != nil {
			answer = "error: " + err.Error()
		}
		out <- answer
	}()
	return out
}

func command(text string) string { return fmt.Sprintf(`{"command":%q}`, text) }

// settledDay is a broker with something to tell of: decided by people and a rule.
func settledDay(t *testing.T) *daemon {
	t.Helper()
	d := serve(t)
	d.setRules("version: 1\nallow: [\"Bash(go test:*)\"]\nrules:\n  - id: no-force\n    action: deny\n    message: Never force.\n    match: {command: {program: git, args: [push, ...], flags: {has: [--force]}}}\n")
	project := d.dir
	for i := range 6 {
		session := fmt.Sprintf("6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c1%d", i%2)
		ch := d.asks(t.Context(), session, project, "Bash", command(fmt.Sprintf("npm run build -- shard-%d", i)))
		r := d.waitPending(1)[0]
		if i%3 == 2 {
			d.deny(r, "Not on a Friday.")
		} else {
			d.allow(r)
		}
		<-ch
	}
	<-d.asks(t.Context(), "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10", project, "Bash", command("go test ./..."))
	<-d.asks(t.Context(), "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10", project, "Bash", command("git push --force origin main"))
	return d
}

// view goes to a part of the page.
func (b *browser) view(name string) {
	b.t.Helper()
	b.click(`.tabs button`, name)
}

// click clicks the first element of those that a selector finds that shows a text; and again, if
// it is a card's button that takes no click because the card has just moved.
func (b *browser) click(selector, text string) {
	b.t.Helper()
	eventually(b.t, soon, selector+" with "+text, func() bool {
		return value(b, chromedp.Evaluate[bool](`(e => {
			e?.click();
			if (!e?.closest(".two")) return !!e;
			return new Promise((done) => setTimeout(() => done(!e.isConnected || e.ariaDisabled !== "true" || e.classList.contains("busy"))));
		})([...document.querySelectorAll(`+jsString(selector)+`)].find(e => e.innerText.includes(`+jsString(text)+`) && e.ariaDisabled !== "true"))`, chromedp.EvalAwaitPromise))
	})
}

// together does something with all that was chosen, until that is what the bar says.
func (b *browser) together(button, text, said string) {
	b.t.Helper()
	eventually(b.t, soon, text+": "+said, func() bool {
		if strings.Contains(b.text(".together p"), said) {
			return true
		}
		value(b, chromedp.Evaluate[bool](`(e => { e?.click(); return true })([...document.querySelectorAll(`+jsString(".together "+button)+`)].find(e => e.innerText.includes(`+jsString(text)+`) && e.ariaDisabled !== "true"))`))
		return false
	})
}

// chooses sets a select as a person does.
func (b *browser) chooses(selector, choice string) {
	b.t.Helper()
	eventually(b.t, soon, selector+" offers "+choice, func() bool {
		return value(b, chromedp.Evaluate[bool](`(s => {
			if (![...(s?.options ?? [])].some((o) => o.value === `+jsString(choice)+`)) return false;
			s.value = `+jsString(choice)+`;
			return s.dispatchEvent(new Event("change", {bubbles: true}));
		})(document.querySelector(`+jsString(selector)+`))`))
	})
}

// count is how many elements a selector finds.
func (b *browser) count(selector string) int {
	b.t.Helper()
	return value(b, chromedp.Evaluate[int](`document.querySelectorAll(`+jsString(selector)+`).length`))
}

// TestPageTellsWhatWasDecided: history with its filters, charts, rules; each as axe wants it.
func TestPageTellsWhatWasDecided(t *testing.T) {
	t.Parallel()
	d := settledDay(t)
	b := newBrowser(t)
	b.pair(d)

	b.view("History")
	b.see(".history", "npm run build -- shard-5")
	eventually(t, soon, "all is in the history", func() bool { return b.count(".decided") == 8 })
	b.see(".decided", "rule no-force")
	b.accessible("history")
	b.nothingCut("history")
	b.chooses(".filters select", "denied")
	eventually(t, soon, "only what was denied", func() bool { return b.count(".decided") == 3 })
	b.see(".history", "Not on a Friday.")
	b.chooses(".filters select:nth-of-type(2)", "rule")
	eventually(t, soon, "only what a rule denied", func() bool { return b.count(".decided") == 1 })
	b.chooses(".filters select", "")
	eventually(t, soon, "what rules decided", func() bool { return b.count(".decided") == 2 })
	b.click(".decided .link", "Show the request")
	b.see(".decided .fields", "git push --force origin main")
	b.chooses(".filters select:nth-of-type(2)", "")
	b.do(chromedp.SendKeys(chromedp.CSS(".filters input"), "shard-4"))
	eventually(t, soon, "what was looked for", func() bool { return b.count(".decided") == 1 })
	b.accessible("history-filtered")
	b.nothingCut("history-filtered")

	b.view("Charts")
	b.see(".charts", "8 decisions, 2 of them by rules.")
	eventually(t, soon, "the charts are drawn", func() bool { return b.count(".plot canvas") >= 2 })
	b.accessible("charts")
	b.nothingCut("charts")
	b.click("summary", "The same as a table")
	b.see(".charts .wide", "a command on the machine")
	b.see(".charts details table", "Handed back")
	b.shot("charts-table.png")

	b.view("Rules")
	b.see(".book", "no-force")
	b.see(".book", "once, last")
	b.accessible("rules")
	b.do(chromedp.SendKeys(chromedp.CSS(".find"), "go test"))
	eventually(t, soon, "one rule", func() bool { return b.count(".rule") == 1 })
	b.quiet()
}

// TestPageSettings opens every section.
func TestPageSettings(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.tap("header button.small")
	b.see(row(1), "this browser")
	b.accessible("settings-devices")
	for _, section := range []string{"Notifications", "Answering", "Keyboard"} {
		b.click(".settings .tabs button", section)
		b.see(".settings", map[string]string{"Notifications": "ring", "Answering": "3 seconds", "Keyboard": "Next request"}[section])
		b.accessible("settings-" + strings.ToLower(section))
		b.nothingCut("settings-" + strings.ToLower(section))
	}
	b.quiet()
}

// TestPageManyAtOnce decides exactly what was chosen, and nothing when that has changed meanwhile.
func TestPageManyAtOnce(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	chans := map[string]<-chan string{}
	ask := func(session, text string) {
		n := len(d.pending())
		chans[text] = d.asks(t.Context(), session, "/home/dev/"+session, "Bash", command(text))
		d.waitPending(n + 1) // in this order
	}
	for i := range 3 {
		ask("shop", fmt.Sprintf("git push origin v%d", i))
		ask("docs", fmt.Sprintf("npm install left-pad@%d", i))
	}
	long := "echo begin\n" + strings.Repeat("echo more\n", 60) + "rm -rf ~"
	ask("docs", long)
	d.waitPending(7)
	b.see("main", "git push origin v0")
	b.accessible("inbox")
	b.tap(".tools .switch")
	b.see(".alike h3", "Bash")
	eventually(t, soon, "groups by shape", func() bool { return b.count(".alike") == 3 && b.count(".one") == 7 })
	b.accessible("many")

	// All of the pushes; then one is settled elsewhere, and another one comes.
	b.choosesAlike("3 chosen")
	for _, r := range d.pending() {
		if strings.Contains(string(r.ToolInput), "v1") {
			d.deny(r, "elsewhere")
		}
	}
	<-chans["git push origin v1"]
	ask("shop", "git push origin later")
	d.waitPending(7)
	b.see(".one", "git push")
	eventually(t, soon, "the new one is shown", func() bool { return strings.Contains(b.text("main"), "origin later") })
	b.together(".allow", "Allow 3", "1 of 3 chosen requests no longer waits")
	if n := len(d.pending()); n != 7 {
		t.Fatalf("%d wait after a stale choice, want 7", n)
	}
	b.shot("many-stale.png")
	b.together(".allow", "Allow 2", "Allowed 2.")
	for _, text := range []string{"git push origin v0", "git push origin v2"} {
		if out := <-chans[text]; out != allowed {
			t.Errorf("%s: the hook printed %s", text, out)
		}
	}
	if n := len(d.pending()); n != 5 {
		t.Errorf("%d wait, want 5: what came later is not answered", n)
	}

	// What was not shown whole cannot be allowed among others; to be denied it need not be.
	all := `[...document.querySelectorAll(".one:not(.over) .pick input")].filter(i => !i.disabled)`
	eventually(t, soon, "the list is still", func() bool {
		return value(b, chromedp.Evaluate[bool](all+`.every(i => { if (!i.checked) i.click(); return i.checked })`))
	})
	b.see(".together", "5 chosen")
	b.see(".together p", "1 chosen request was not on the screen whole")
	if off := value(b, chromedp.Evaluate[string](`document.querySelector(".together .allow").ariaDisabled`)); off != "true" {
		t.Error("what was not shown can be allowed")
	}
	value(b, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`)) // so that the bar covers no half of a row
	b.accessible("many-chosen")
	b.together(".deny", "Deny 5", "Denied 5.")
	if out := <-chans[long]; !strings.Contains(out, `"deny"`) {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
}

// choosesAlike chooses the first group of alike requests, once the list stands still.
func (b *browser) choosesAlike(chosen string) {
	b.t.Helper()
	eventually(b.t, soon, chosen, func() bool {
		return value(b, chromedp.Evaluate[bool](`(i => { if (i && !i.checked) i.click(); return !!document.querySelector(".together")?.innerText.includes(`+jsString(chosen)+`) })(document.querySelector(".alike header input"))`))
	})
}

// TestPageTakesBack: an answer that waits can be taken back, and nothing was sent.
func TestPageTakesBack(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	// The three seconds are over when the test says so.
	b.before(`try { localStorage.setItem("assent.preferences", JSON.stringify({undo: true})) } catch {}
		const timeout = setTimeout;
		window.setTimeout = (f, ms, ...more) => timeout(f, ms === 3000 && !window.hurry ? 3600e3 : ms, ...more);`)
	b.pair(d)
	ch := d.asks(t.Context(), "s", "/home/dev/app", "Bash", command("make"))
	d.waitPending(1)
	next := d.asks(t.Context(), "s", "/home/dev/app", "Bash", command("next"+strings.Repeat("; x", 20)))
	d.waitPending(2)
	b.tap(open + " button.allow")
	b.see(".hold", "Allow: Run a command")
	for _, at := range []string{"0", "document.body.scrollHeight / 3", "document.body.scrollHeight"} { // the bar lies over no answer
		covered := value(b, chromedp.Evaluate[[]string](`(scrollTo(0, `+at+`), [...document.querySelectorAll(".foot button")].filter(e => {
			const box = e.getBoundingClientRect(), x = box.left + box.width / 2, y = box.bottom - 2;
			return box.bottom > 0 && box.top < innerHeight && !e.closest(".foot").contains(document.elementFromPoint(x, Math.min(y, innerHeight - 1)));
		}).map(e => e.innerText))`))
		if len(covered) > 0 {
			t.Errorf("at %s the bar covers %q", at, covered)
		}
	}
	b.see(open+" .sending", "Not sent yet.")
	b.shot("hold.png")
	b.click(".hold button", "Undo")
	b.see(".hold", "Done")
	if n := len(d.pending()); n != 2 {
		t.Fatal("an answer was sent that was taken back")
	}
	d.deny(d.pending()[1], "")
	<-next
	value(b, chromedp.Evaluate[bool](`window.hurry = true`))
	b.decide("button.deny", "Denied") // again, where the three seconds were so long that the page takes it for a sleep
	if out := <-ch; out != denied("") && !strings.Contains(out, `"deny"`) {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
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
	d := serve(t)
	b := newBrowser(t)
	b.do(desktop)
	b.pair(d)
	b.do(desktop)
	one := d.asks(t.Context(), "one", "/home/dev/one", "Bash", command("echo first"))
	d.waitPending(1)
	two := d.asks(t.Context(), "two", "/home/dev/two", "Bash", command("echo second"))
	d.waitPending(2)
	b.see("main", "echo second")
	press := func(key string) {
		t.Helper()
		b.do(keyboard(key))
	}
	focused := func(text string) {
		t.Helper()
		eventually(t, soon, "the focus is on "+text, func() bool {
			return value(b, chromedp.Evaluate[bool](`document.activeElement.matches(".card") && document.activeElement.innerText.includes(`+jsString(text)+`)`))
		})
	}
	press("a") // nothing has the focus
	press("j")
	focused("echo first")
	press("j")
	focused("echo second")
	b.shot("keys.png")
	press("k")
	focused("echo first")
	for _, text := range []string{"echo first", "echo second"} {
		press("w")
		eventually(t, soon, "only "+text+" is shown", func() bool { return b.count(".card") == 1 && strings.Contains(b.text(".card"), text) })
		focused(text)
	}
	press("m")
	b.see(open+" .reply", "Words for the agent")
	eventually(t, soon, "the focus is on the words", func() bool {
		return value(b, chromedp.Evaluate[bool](`document.activeElement.matches("textarea")`))
	})
	b.do(keyboard("add a test"))
	if got := value(b, chromedp.Evaluate[string](`document.activeElement.value`)); got != "add a test" {
		t.Fatalf("typed %q", got)
	}
	b.click(open+" button.deny", "Send back")
	if out := <-two; out != denied("add a test") {
		t.Errorf("the hook printed %s", out)
	}
	b.click(".rail button", "All")
	press("?")
	b.see(".settings", "Next request")
	b.shot("help.png")
	value(b, chromedp.Evaluate[bool](`(i => { i.value = "y"; i.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.querySelector("[aria-label='Key for: Allow']"))`))
	b.click(".settings .top button", "Close")
	eventually(t, soon, "the first one has the focus and is armed", func() bool {
		return value(b, chromedp.Evaluate[bool](`(c => { c?.focus(); return !!c && c.querySelector(".allow")?.ariaDisabled === "false" })(document.querySelector(".card:not(.over)"))`))
	})
	press("a") // not any more
	out := ""
	eventually(t, soon, "the answer to the first one", func() bool {
		press("y") // again, where the focus made the card move and it is not armed any more
		select {
		case out = <-one:
		default:
		}
		return out != ""
	})
	if out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
}

// TestPageWithoutBroker: the installed page says that the broker is away, and comes back.
func TestPageWithoutBroker(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t))
	b := newBrowser(t)
	b.pair(d)
	eventually(t, soon, "the service worker is there", func() bool {
		return value(b, chromedp.Evaluate[bool](`navigator.serviceWorker.getRegistration().then(r => !!r?.active)`, chromedp.EvalAwaitPromise))
	})
	b.before(`const every = setInterval; window.setInterval = (f, ms, ...more) => ms === 10000 ? 0 : every(f, ms, ...more)`) // it does not try by itself before it is told to
	d.kill()
	b.do(chromedp.Reload())
	b.see("main", "The broker does not answer")
	b.accessible("offline")
	d.start()
	b.click("main a", "Try again now")
	b.see(".link-state", "Live")
	b.quiet()
}

// TestPageShowsTheRequestOfALink: a notification's link leads to the very card, also of what is over.
func TestPageShowsTheRequestOfALink(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	url, _ := d.owner()
	ch := d.asks(t.Context(), "s", "/home/dev/app", "Bash", command("make once"))
	id := d.waitPending(1)[0].ID
	d.allow(d.pending()[0])
	<-ch
	b.do(chromedp.Navigate(url + "/?request=" + id))
	b.see(".card.over", "make once")
	b.see(".card.over .outcome", "Allowed by")
	if at := value(b, chromedp.Location()); strings.Contains(at, id) {
		t.Errorf("the address keeps the request: %s", at)
	}
	b.do(chromedp.Navigate(url + "/?request=" + uuid.NewString()))
	b.see("main", "There is no such request any more.")
	b.quiet()
}
