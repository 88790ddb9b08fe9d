package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
)

// TestCardSaysHowItStands: what became of a request, in the card itself, and never more than is
// known.
func TestCardSaysHowItStands(t *testing.T) {
	t.Parallel()
	d := serve(t, "--listen", freePort(t)) // the same after the restart: the page's origin
	b := newBrowser(t)
	b.pair(d)
	b.rest()
	input := func(command string) map[string]any {
		return map[string]any{"command": command, "description": "A test"}
	}
	ran := func(command string) {
		t.Helper()
		// A hook keeps it for later where the disk takes a second, and what is late proves nothing.
		client, id := d.socketClient(), uuid.NewString()
		eventually(t, soon, "the event is stored", func() bool { return d.send(client, id, payload("PostToolUse", "s", input(command))) })
	}
	says := func(command, words string) {
		t.Helper()
		b.see(over, command)
		b.see(over+" .outcome", words)
		if b.has(over + " .two") {
			t.Errorf("%s: what is over can still be answered", command)
		}
	}

	h := d.hook(bash("s", "echo expires"), "--timeout", "15s") // so that the page has seen it wait
	b.see(open+" .drain.soon", "s left")
	h.wait()
	says("echo expires", "Expired: nobody answered in time. The agent asks in its own terminal.")
	h = d.hook(bash("s", "echo told-no"), "--timeout", "15s", "--on-timeout", "deny")
	b.see(open, "echo told-no")
	h.wait()
	says("echo told-no", "so the agent was told no")
	b.gone()

	h = d.hook(bash("s", "echo in-terminal"))
	b.see(open, "echo in-terminal")
	ran("echo in-terminal")
	says("echo in-terminal", "Answered in the terminal: the tool ran.")
	h.wait()
	b.accessible("state-terminal")
	b.gone()

	h = d.hook(bash("s", "echo allowed"))
	b.tap(open + " button.allow")
	h.wait()
	says("echo allowed", "Delivered")
	ran("echo allowed")
	says("echo allowed", "The tool ran.")
	b.accessible("state-ran")
	b.gone()

	h = d.hook(bash("s", "echo denied"))
	b.tap(open + " button.deny")
	h.wait()
	says("echo denied", "Denied")
	ran("echo denied")
	b.see(".overruled", "was denied here and has run all the same")
	b.see(over+" .outcome", "Overruled")
	b.accessible("state-overruled")
	b.gone()
	b.see(".overruled", "was denied here and has run all the same") // until somebody has seen it
	b.tap(".overruled button")

	ctx, hangUp := context.WithCancel(t.Context())
	d.asks(ctx, "s", "/home/dev/app", "Bash", command("echo goes-away"))
	b.see(open, "echo goes-away")
	hangUp()
	b.see(over+" .outcome", "terminal")
	b.gone()

	h = d.hook(bash("s", "echo no-link"))
	b.see(open, "echo no-link")
	d.kill()
	b.see(open+" .obstacle", "No connection to the broker")
	for _, which := range []string{"allow", "deny"} {
		if !b.has(open + " button." + which + `[aria-disabled="true"]`) {
			t.Errorf("%s can be tapped without a connection", which)
		}
	}
	b.accessible("state-no-link")
	d.start()
	b.tap(open + " button.allow")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
}

// TestCardTakesNothingTooEarly: a card that has just come, or has just moved, takes neither tap nor
// key. All happens within one task of the page, so no machine is too slow for it.
func TestCardTakesNothingTooEarly(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	// Answers at once what comes, in the task that shows it.
	b.before(`addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
		const card = document.querySelector(".card:not(.over)");
		if (!card || window.early) return;
		window.early = card.querySelector(".allow").ariaDisabled;
		card.focus();
		for (const key of ["a", "d"]) card.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		for (const button of card.querySelectorAll(".two button")) button.click();
	}).observe(document, {childList: true, subtree: true}))`)
	b.pair(d)
	h := d.hook(bash("s", "echo early"))
	b.see(open, "echo early")
	if got := value(b, chromedp.Evaluate[string](`window.early`)); got != "true" {
		t.Errorf("when the card came its button was off: %q", got)
	}
	b.do(chromedp.WaitVisible(chromedp.CSS(allowable)))
	moved := value(b, chromedp.Evaluate[json.RawMessage](`(() => {
		const card = document.querySelector(".card:not(.over)");
		card.focus();
		const push = document.createElement("p");
		push.textContent = "pushes";
		document.querySelector("main").prepend(push);
		for (const key of ["a", "d"]) card.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		for (const button of card.querySelectorAll(".two button")) button.click();
		return [!!document.querySelector(".busy"), [...card.querySelectorAll(".two button")].map(e => e.className)];
	})()`))
	t.Logf("after the move: %s", moved)
	if r := d.waitPending(1)[0]; r.State != "pending" {
		t.Errorf("it is %s", r.State)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("main > p").remove()`))
	b.keyOn(open, "a")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
}

// keyOn gives a card the focus and presses a key, until it does what it does to an allowable one: a
// card that has just moved takes none.
func (b *browser) keyOn(card, key string) {
	b.t.Helper()
	eventually(b.t, soon, key+" on "+card, func() bool {
		if !b.has(card) || b.has(card+" .busy") {
			return true
		}
		if b.has(card + ` button.allow[aria-disabled="false"]`) {
			b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(`+jsString(card)+`)?.focus()`), chromedp.KeyEvent(key))
		}
		return false
	})
}

// TestCardKeepsTheFocusInSight: whoever goes through a tall card by Tab sees where he is; the foot
// that stays on the screen covers nothing that has the focus.
func TestCardKeepsTheFocusInSight(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	questions := []map[string]any{}
	for _, q := range []string{"Which database?", "Which region?", "Which size?", "Which day?"} {
		questions = append(questions, map[string]any{"question": q, "header": "Q", "multiSelect": true, "options": []map[string]string{{"label": "one", "description": "the first"}, {"label": "two", "description": ""}, {"label": "three", "description": ""}}})
	}
	h := d.hook(permission("AskUserQuestion", map[string]any{"questions": questions}, nil))
	b.see(open, "Which day?")
	for name, set := range map[string]chromedp.Action[chromedp.Void]{"phone": phone, "desktop": desktop} {
		b.do(set)
		eventually(t, soon, "the screen of a "+name, func() bool {
			return value(b, chromedp.Evaluate[bool](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done((document.documentElement.clientWidth > 1000) === `+strconv.FormatBool(name == "desktop")+`))))`, chromedp.EvalAwaitPromise))
		})
		b.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0), document.querySelector(".card").focus()`))
		inside := 0
		for _, way := range []string{"", "back"} {
			for range 25 {
				if way == "" {
					b.do(chromedp.KeyEvent("\t"))
				} else {
					b.do(chromedp.KeyEvent("\t", chromedp.KeyModifiers(chromedp.ModifierShift)))
				}
				type place struct {
					What, In    string
					Top, Bottom float64
					Foot        float64
				}
				p := value(b, chromedp.Evaluate[place](`(() => {
					const e = document.activeElement, card = e.closest(".card"), foot = document.querySelector(".card .foot");
					const r = e.getBoundingClientRect();
					return {What: e.outerHTML.slice(0, 120), In: !card || e === card ? "" : foot.contains(e) ? "foot" : "card", Top: r.top, Bottom: r.bottom, Foot: Math.min(innerHeight, foot.getBoundingClientRect().top)};
				})()`))
				if p.In != "card" {
					continue
				}
				inside++
				if p.Top < 0 || p.Bottom > p.Foot {
					t.Errorf("%s %s: from %.0f to %.0f, and the foot begins at %.0f: %s", name, way, p.Top, p.Bottom, p.Foot, p.What)
				}
			}
		}
		if inside < 20 {
			t.Errorf("%s: only %d places had the focus", name, inside)
		}
	}
	b.tap(open + " button.deny")
	h.wait()
	b.quiet()
}

// TestCardsThatAreOverHideNone: however many cards linger with their outcome, what comes is shown.
func TestCardsThatAreOverHideNone(t *testing.T) {
	t.Parallel()
	const many = 35 // more than the page shows at once
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("pointerdown"))`)) // no card goes away under a finger
	var chans []<-chan string
	for i := range many {
		chans = append(chans, d.asks(t.Context(), "s", "/home/dev/app", "Bash", command(fmt.Sprintf("make part%d", i))))
		d.waitPending(i + 1)
	}
	b.see(".queue > .more", "5 more wait")
	for _, r := range d.pending() {
		d.deny(r, "no")
	}
	for _, c := range chans {
		<-c
	}
	h := d.hook(bash("s", "echo last"))
	b.see(open, "echo last")
	if n := b.count(".card.over"); n != 30 {
		t.Errorf("%d cards linger, want 30", n)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("pointerup"))`))
	b.tap(open + " button.deny")
	h.wait()
	b.quiet()
}

// TestPageIsUnsureAfterA503: such an answer may be in the record or not. The card stays, says so,
// sends nothing by itself, and shows what the record tells.
func TestPageIsUnsureAfterA503(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.before(`window.decisions = 0;
		const real = window.fetch;
		window.fetch = async (what, ...more) => {
			if (!/decision$/.test(String(what.url ?? what))) return real(what, ...more);
			window.decisions++;
			if (window.recorded) await real(what, ...more);
			return new Response('{"title":"Service Unavailable","status":503}', { status: 503, headers: { "Content-Type": "application/problem+json" } });
		};`)
	b.pair(d)
	b.rest()
	h := d.hook(bash("s", "make"))
	b.tap(open + " button.deny")
	b.see(open, "not known")
	b.see(open+" button.allow", "Allow")
	d.allow(d.waitPending(1)[0]) // somebody else did, or it was ours after all
	b.see(over+" .outcome", "Allowed by")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	// The answer was recorded, and only the word of it was lost.
	b.gone()
	value(b, chromedp.Evaluate[bool](`window.recorded = true`))
	h = d.hook(bash("s", "make again"))
	b.tap(open + " button.deny")
	b.see(over+" .outcome", "Denied by")
	h.wait()
	if n := value(b, chromedp.Evaluate[int](`window.decisions`)); n != 2 {
		t.Errorf("%d decisions were sent, want 2", n)
	}
	b.quiet()
}
