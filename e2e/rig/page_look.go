package rig

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// axeVersion is that of web/package.json.
const axeVersion = "4.14.1"

// axeScript is the text of axe-core, from web's packages, or fetched once with npm.
var axeScript = sync.OnceValues(func() (string, error) {
	read := func(dir string) (string, error) {
		b, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
		return string(b), err
	}
	if text, err := read(filepath.Join(root, "web")); !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "axe-"+axeVersion)
	if text, err := read(dir); !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, "axe-core@"+axeVersion).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install axe-core: %w\n%s", err, out)
	}
	return read(dir)
})

// Accessible fails the test for whatever axe finds on the page, on a phone and on a desktop, light
// and dark; and leaves the four pictures.
func (b *Browser) Accessible(name string) {
	b.t.Helper()
	Need(b.t, "axe")
	script, err := axeScript()
	if err != nil {
		b.t.Fatal(err)
	}
	Value(b, chromedp.Evaluate[bool](script+"\n;true"))
	for _, scheme := range []string{"light", "dark"} {
		for size, set := range map[string]chromedp.Action[chromedp.Void]{"phone": Phone, "desktop": Desktop} {
			b.Do(Colors(scheme), set)
			// What is half behind a foot that sticks to the screen's edge is a scroll away from being whole.
			b.Do(chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll("[data-ui=foot]")) e.style.position = "relative"`))
			found := Value(b, chromedp.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(r => r.violations.map(v =>
				v.id + ": " + v.help + "\n" + v.nodes.slice(0, 4).map(n => "    " + n.html.slice(0, 200) + "\n      " + n.failureSummary.replaceAll("\n", " ")).join("\n")))`, chromedp.EvalAwaitPromise))
			b.Do(chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll("[data-ui=foot]")) e.style.position = ""`))
			for _, v := range found {
				b.t.Errorf("%s, %s %s: %s", name, size, scheme, v)
			}
			b.Shot(strings.Join([]string{name, size, scheme}, "-") + ".png")
		}
	}
	b.Do(Colors("light"), Phone)
}

// Has says whether the page has such an element now.
func (b *Browser) Has(selector string) bool {
	return Value(b, chromedp.Evaluate[bool](`!!document.querySelector(`+JSString(selector)+`)`))
}

// Asks posts a request as a hook does and does not wait for its answer, which comes on the channel.
func (d *Daemon) Asks(ctx context.Context, session, cwd, tool, input string) <-chan string {
	d.T.Helper()
	out := make(chan string, 1)
	body := fmt.Appendf(nil, `{"session_id":%q,"transcript_path":"/t","cwd":%q,"hook_event_name":"PermissionRequest","tool_name":%q,"tool_input":%s,"permission_mode":"default"}`, session, cwd, tool, input)
	client := d.SocketClient()
	go func() {
		_, answer, err := PostHook(ctx, client, body)
		if err != nil {
			answer = "error: " + err.Error()
		}
		out <- answer
	}()
	return out
}

// Command is the input of a call of Bash, as JSON.
func Command(text string) string { return fmt.Sprintf(`{"command":%q}`, text) }

// View goes to a part of the page.
func (b *Browser) View(name string) {
	b.t.Helper()
	if name == "Charts" { // a part of the history
		b.Click(`[data-ui=views] button`, Word("views.history"))
		b.Tap("[data-action=charts]")
		return
	}
	b.Click(`[data-ui=views] button`, name)
}

// Click clicks the first element of those that a selector finds that shows a text; and again, if
// it is a card's button that takes no click because the card has just moved.
func (b *Browser) Click(selector, text string) {
	b.t.Helper()
	Eventually(b.t, Soon, selector+" with "+text, func() bool {
		return Value(b, chromedp.Evaluate[bool](`(e => {
			e?.click();
			if (!e?.closest("[data-ui=answers]")) return !!e;
			return new Promise((done) => setTimeout(() => done(!e.isConnected || e.ariaDisabled !== "true" || e.dataset.state === "busy")));
		})([...document.querySelectorAll(`+JSString(selector)+`)].find(e => e.innerText.includes(`+JSString(text)+`) && e.ariaDisabled !== "true"))`, chromedp.EvalAwaitPromise))
	})
}

// Together does something with all that was chosen, until that is what the bar says.
func (b *Browser) Together(button, text, said string) {
	b.t.Helper()
	Eventually(b.t, Soon, text+": "+said, func() bool {
		if strings.Contains(b.Text("[data-ui=together] p"), said) {
			return true
		}
		Value(b, chromedp.Evaluate[bool](`(e => { e?.click(); return true })([...document.querySelectorAll(`+JSString("[data-ui=together] "+button)+`)].find(e => e.innerText.includes(`+JSString(text)+`) && e.ariaDisabled !== "true"))`))
		return false
	})
}

// Chooses sets a select as a person does.
func (b *Browser) Chooses(selector, choice string) {
	b.t.Helper()
	Eventually(b.t, Soon, selector+" offers "+choice, func() bool {
		return Value(b, chromedp.Evaluate[bool](`(s => {
			if (![...(s?.options ?? [])].some((o) => o.value === `+JSString(choice)+`)) return false;
			s.value = `+JSString(choice)+`;
			return s.dispatchEvent(new Event("change", {bubbles: true}));
		})(document.querySelector(`+JSString(selector)+`))`))
	})
}

// Count is how many elements a selector finds.
func (b *Browser) Count(selector string) int {
	b.t.Helper()
	return Value(b, chromedp.Evaluate[int](`document.querySelectorAll(`+JSString(selector)+`).length`))
}

// ChoosesAlike chooses the first group of alike requests, once the list stands still.
func (b *Browser) ChoosesAlike(chosen string) {
	b.t.Helper()
	Eventually(b.t, Soon, chosen, func() bool {
		return Value(b, chromedp.Evaluate[bool](`(i => { if (i && !i.checked) i.click(); return !!document.querySelector("[data-ui=together]")?.innerText.includes(`+JSString(chosen)+`) })(document.querySelector("[data-ui=alike] header input"))`))
	})
}

// SeeAll scrolls the card through, until nothing of it is left to be seen.
func (b *Browser) SeeAll() {
	b.t.Helper()
	Eventually(b.t, Soon, "all of the card was seen", func() bool {
		return !Value(b, chromedp.Evaluate[bool](lookThere(Open), chromedp.EvalAwaitPromise))
	})
}

// lookThere is a script that goes to what was not seen, if the foot of a card has a link there, and
// says whether it had. What is on the screen is looked at frame by frame.
func lookThere(card string) string {
	return `new Promise((done) => {
		const obstacle = document.querySelector(` + JSString(card+" [data-ui=obstacle]") + `);
		const link = ["not seen yet", ` + JSString(Word("card.below")) + `, "folded"].some((text) => obstacle?.textContent.includes(text)) ? obstacle.querySelector("button") : null;
		link?.click();
		requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(!!link))));
	})`
}

var update = flag.Bool("update", false, "write the pictures of the README into docs/images")

const maxImage = 200 << 10

// ProperFont gives the page a font as phones and desktops have it, for pictures: servers have none that
// is made for screens.
func (b *Browser) ProperFont() {
	b.t.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`document.documentElement.style.setProperty("--sans", "Inter, system-ui, sans-serif")`))
}

// Image takes a picture of the page, and keeps it where that is asked for.
func (b *Browser) Image(name string) {
	b.t.Helper()
	b.SaveImage(name, Value(b, chromedp.CaptureScreenshot()))
}

// SaveImage looks whether a picture has a reasonable size, and keeps it where that is asked for.
func (b *Browser) SaveImage(name string, data []byte) {
	b.t.Helper()
	if len(data) > maxImage || len(data) < 10<<10 {
		b.t.Errorf("%s has %d bytes, want 10 KiB to %d KiB", name, len(data), maxImage>>10)
	}
	if !*update {
		return
	}
	dir := filepath.Join(root, "docs", "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// Busy returns how long the page's thread has been at work since the first call, in seconds of its
// own time: what others do on this machine is not in it.
func (b *Browser) Busy() map[string]float64 {
	b.t.Helper()
	b.Do(Send(performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"}))
	sums := map[string]float64{}
	b.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		got, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, m := range got.Metrics {
			sums[m.Name] = m.Value
		}
		return nil
	}))
	return sums
}

// TapMany shows alike requests together, from here on.
func (b *Browser) TapMany() {
	b.t.Helper()
	Value(b, chromedp.Evaluate[bool](`(localStorage.setItem("assent.preferences", JSON.stringify({many: true})), true)`))
	b.Do(chromedp.Reload())
	b.See("[data-ui=link]", Word("link.live"))
}

// All shows the list of what waits, where the screen has no room for it beside a request.
func (b *Browser) All() {
	b.t.Helper()
	b.Tap("[data-ui=place] [data-action=all]")
}

// Recent unfolds what was settled last, and returns its selector. The inbox is empty, or shows its list.
func (b *Browser) Recent() string {
	b.t.Helper()
	const first = "[data-ui=past]:first-child"
	b.Tap(first + " button")
	return first
}

// Fits fails the test where something is wider than the screen or its card, or where a text of
// several letters has a line for each.
func (b *Browser) Fits(name string) {
	b.t.Helper()
	var wrong []string
	defer func() {
		if b.t.Failed() {
			b.t.Logf("%s does not fit: %q", name, wrong)
		}
	}()
	Eventually(b.t, Soon, name+" fits", func() bool {
		wrong = Value(b, chromedp.Evaluate[[]string](`[
			...[document.documentElement].filter(e => e.scrollWidth > innerWidth).map(e => "the page is " + e.scrollWidth + " wide"),
			...[...document.querySelectorAll("main button, main select, dialog button, #app > header button, main textarea")].filter(e => {
				const box = e.getBoundingClientRect();
				return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1);
			}).map(e => "cut: " + (e.innerText || e.tagName) + ", " + e.scrollWidth + " in " + e.clientWidth),
			...[...document.querySelectorAll("main h2, main h3, main .where > *, main .label, main .value-of, main button, dialog button")].filter(e => {
				const box = e.getBoundingClientRect(), text = e.innerText.trim();
				return box.width > 0 && text.length > 3 && box.height > parseFloat(getComputedStyle(e).fontSize) * 1.2 * text.length;
			}).map(e => "a column: " + e.innerText),
		]`))
		return len(wrong) == 0
	})
}

// InOrder is the commands of the list's requests, as they stand.
func (b *Browser) InOrder(d *Daemon) string {
	b.t.Helper()
	commands := map[string]string{}
	for _, r := range d.Pending() {
		var input struct{ Command string }
		if err := json.Unmarshal(r.ToolInput, &input); err != nil {
			b.t.Fatal(err)
		}
		commands[r.ID] = input.Command
	}
	var out []string
	for _, id := range Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[data-ui=entry]")].map(e => e.dataset.request)`)) {
		out = append(out, commands[id])
	}
	return strings.Join(out, ", ")
}

// AsksFor raises a request for a command that waits so long.
func (d *Daemon) AsksFor(wait time.Duration, session, text string) {
	d.T.Helper()
	d.Hook(Bash(session, text), "--timeout", wait.String()) // killed when the test is over
}

// NothingCut fails the test where a phone cuts off what a person has to read: the page scrolls to
// no side, and no way between parts or choice is wider than its place.
func (b *Browser) NothingCut(name string) {
	b.t.Helper()
	var all []string
	defer func() {
		for _, cut := range all {
			b.t.Errorf("%s: cut off: %s", name, cut)
		}
	}()
	// What is drawn to its place's size is drawn again after that has changed.
	Eventually(b.t, Soon, name+" is shown whole", func() bool {
		all = Value(b, chromedp.Evaluate[[]string](`[document.documentElement, ...document.querySelectorAll("dialog, [data-ui=views], [data-ui=sections], [data-ui=filters], .where, .act-row")]
		.filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).map(e => e.tagName + ": " + e.innerText.slice(0, 60))
		.concat([...document.querySelectorAll("select")].filter(s => {
			const wide = s.cloneNode(true); wide.style.cssText = "position:absolute;width:auto;max-width:none;flex:none"; wide.value = s.value; s.parentNode.append(wide)
			for (const o of [...wide.options]) if (!o.selected) o.remove()
			const needs = wide.getBoundingClientRect().width; wide.remove()
			return needs > s.getBoundingClientRect().width + 1
		}).map(s => "choice " + s.selectedOptions[0]?.text))`))
		return len(all) == 0
	})
}

// KeyOn gives a card the focus and presses a key, until it does what it does to an allowable one: a
// card that has just moved takes none.
func (b *Browser) KeyOn(card, key string) {
	b.t.Helper()
	Eventually(b.t, Soon, key+" on "+card, func() bool {
		if !b.Has(card) || b.Has(card+" "+State("busy")) {
			return true
		}
		if b.Has(card + ` [data-action=allow][aria-disabled="false"]`) {
			b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(`+JSString(card)+`)?.focus()`), chromedp.KeyEvent(key))
		}
		return false
	})
}
