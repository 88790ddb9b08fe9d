package page

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"assent/e2e/rig"
)

// TestPageSaysHowItStands: what became of a request, as soon as it leaves, and never more than is
// known.
func TestPageSaysHowItStands(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t)) // the same after the restart: the page's origin
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	input := func(command string) map[string]any {
		return map[string]any{"command": command, "description": "A test"}
	}
	ran := func(command string) {
		t.Helper()
		// A hook keeps it for later where the disk takes a second, and what is late proves nothing.
		client, id := d.SocketClient(), uuid.NewString()
		rig.Eventually(t, rig.Soon, "the event is stored", func() bool { return d.Send(client, id, rig.Payload("PostToolUse", "s", input(command))) })
	}
	says := func(command, words string) {
		t.Helper()
		b.See(rig.Over+" [data-ui=outcome]", words)
		b.See("[data-ui=past]:first-child", command)
		if b.Has("[data-ui=answers]") {
			t.Errorf("%s: what is over can still be answered", command)
		}
	}

	h := d.Hook(rig.Bash("s", "echo expires"), "--timeout", "15s") // so that the page has seen it wait
	b.See(rig.Open+" [data-ui=drain][data-state=soon]", "s left")
	h.Wait()
	says("echo expires", "Expired: nobody answered in time. The agent asks in its own terminal.")
	h = d.Hook(rig.Bash("s", "echo told-no"), "--timeout", "15s", "--on-timeout", "deny")
	b.See(rig.Open, "echo told-no")
	h.Wait()
	says("echo told-no", "so the agent was told no")
	b.Gone()

	h = d.Hook(rig.Bash("s", "echo in-terminal"))
	b.See(rig.Open, "echo in-terminal")
	ran("echo in-terminal")
	says("echo in-terminal", "Answered in the terminal: the tool ran.")
	h.Wait()
	b.Accessible("state-terminal")
	b.Gone()

	h = d.Hook(rig.Bash("s", "echo allowed"))
	b.Tap(rig.Open + " [data-action=allow]")
	h.Wait()
	says("echo allowed", "Delivered")
	ran("echo allowed")
	says("echo allowed", "The tool ran.")
	b.Accessible("state-ran")
	b.Gone()

	h = d.Hook(rig.Bash("s", "echo denied"))
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	says("echo denied", "Denied")
	ran("echo denied")
	b.See("[data-ui=overruled]", "was denied here, but ran anyway")
	b.See(rig.Over+" [data-ui=outcome]", "Overruled")
	b.Accessible("state-overruled")
	b.Gone()
	b.See("[data-ui=overruled]", "was denied here, but ran anyway") // until somebody has seen it
	b.Tap("[data-ui=overruled] button")

	ctx, hangUp := context.WithCancel(t.Context())
	d.Asks(ctx, "s", "/home/dev/app", "Bash", rig.Command("echo goes-away"))
	b.See(rig.Open, "echo goes-away")
	hangUp()
	b.See(rig.Over+" [data-ui=outcome]", "terminal")
	b.Gone()

	h = d.Hook(rig.Bash("s", "echo no-link"))
	b.See(rig.Open, "echo no-link")
	d.Kill()
	b.See(rig.Open+" [data-ui=obstacle]", rig.Word("answer.noLink"))
	for _, which := range []string{"allow", "deny"} {
		if !b.Has(rig.Open + " button." + which + `[aria-disabled="true"]`) {
			t.Errorf("%s can be tapped without a connection", which)
		}
	}
	b.Accessible("state-no-link")
	d.Start()
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// TestCardTakesNothingTooEarly: a card that has just come, or has just moved, takes neither tap nor
// key. All happens within one task of the page, so no machine is too slow for it.
func TestCardTakesNothingTooEarly(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	// Answers at once what comes, in the task that shows it.
	b.Before(`addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
		const card = document.querySelector("[data-ui=card]:not([data-state=over])");
		if (!card || window.early) return;
		window.early = card.querySelector("[data-action=allow]").ariaDisabled;
		card.focus();
		for (const key of ["a", "d"]) card.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		for (const button of card.querySelectorAll("[data-ui=answers] button")) button.click();
	}).observe(document, {childList: true, subtree: true}))`)
	b.Pair(d)
	h := d.Hook(rig.Bash("s", "echo early"))
	b.See(rig.Open, "echo early")
	if got := rig.Value(b, chromedp.Evaluate[string](`window.early`)); got != "true" {
		t.Errorf("when the card came its button was off: %q", got)
	}
	b.Do(chromedp.WaitVisible(chromedp.CSS(allowable)))
	moved := rig.Value(b, chromedp.Evaluate[json.RawMessage](`(() => {
		const card = document.querySelector("[data-ui=card]:not([data-state=over])");
		card.focus();
		const push = document.createElement("p");
		push.textContent = "pushes";
		document.querySelector("main").prepend(push);
		for (const key of ["a", "d"]) card.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		for (const button of card.querySelectorAll("[data-ui=answers] button")) button.click();
		return [!!document.querySelector("[data-state=busy]"), [...card.querySelectorAll("[data-ui=answers] button")].map(e => e.dataset.state)];
	})()`))
	t.Logf("after the move: %s", moved)
	if r := d.WaitPending(1)[0]; r.State != "pending" {
		t.Errorf("it is %s", r.State)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("main > p").remove()`))
	b.KeyOn(rig.Open, "a")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// TestCardKeepsTheFocusInSight: whoever goes through a tall card by Tab sees where he is; the foot
// that stays on the screen covers nothing that has the focus.
func TestCardKeepsTheFocusInSight(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	questions := []map[string]any{}
	for _, q := range []string{"Which database?", "Which region?", "Which size?", "Which day?"} {
		questions = append(questions, map[string]any{"question": q, "header": "Q", "multiSelect": true, "options": []map[string]string{{"label": "one", "description": "the first"}, {"label": "two", "description": ""}, {"label": "three", "description": ""}}})
	}
	h := d.Hook(permission("AskUserQuestion", map[string]any{"questions": questions}, nil))
	b.See(rig.Open, "Which day?")
	for name, set := range map[string]chromedp.Action[chromedp.Void]{"phone": rig.Phone, "desktop": rig.Desktop} {
		b.Do(set)
		rig.Eventually(t, rig.Soon, "the screen of a "+name, func() bool {
			return rig.Value(b, chromedp.Evaluate[bool](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done((document.documentElement.clientWidth > 1000) === `+strconv.FormatBool(name == "desktop")+`))))`, chromedp.EvalAwaitPromise))
		})
		b.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0), document.querySelector("[data-ui=card]").focus()`))
		inside := 0
		for _, way := range []string{"", "back"} {
			for range 25 {
				if way == "" {
					b.Do(chromedp.KeyEvent("\t"))
				} else {
					b.Do(chromedp.KeyEvent("\t", chromedp.KeyModifiers(chromedp.ModifierShift)))
				}
				type place struct {
					What, In    string
					Top, Bottom float64
					Foot        float64
				}
				p := rig.Value(b, chromedp.Evaluate[place](`(() => {
					const e = document.activeElement, card = e.closest("[data-ui=card]"), foot = document.querySelector("[data-ui=card] [data-ui=foot]");
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
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Quiet()
}

// TestPageIsUnsureAfterA503: such an answer may be in the record or not. The card stays, says so,
// sends nothing by itself, and shows what the record tells.
func TestPageIsUnsureAfterA503(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Before(`window.decisions = 0;
		const real = window.fetch;
		window.fetch = async (what, ...more) => {
			if (!/decision$/.test(String(what.url ?? what))) return real(what, ...more);
			window.decisions++;
			if (window.recorded) await real(what, ...more);
			return new Response('{"title":"Service Unavailable","status":503}', { status: 503, headers: { "Content-Type": "application/problem+json" } });
		};`)
	b.Pair(d)
	b.Rest()
	h := d.Hook(rig.Bash("s", "make"))
	b.Tap(rig.Open + " [data-action=deny]")
	b.See(rig.Open, "not known")
	b.See(rig.Open+" [data-action=allow]", rig.Word("answer.allow"))
	d.Allow(d.WaitPending(1)[0]) // somebody else did, or it was ours after all
	b.See(rig.Over+" [data-ui=outcome]", "Allowed from the terminal")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	// The answer was recorded, and only the word of it was lost.
	b.Gone()
	rig.Value(b, chromedp.Evaluate[bool](`window.recorded = true`))
	h = d.Hook(rig.Bash("s", "make again"))
	b.Tap(rig.Open + " [data-action=deny]")
	b.See(rig.Over+" [data-ui=outcome]", "Denied on “")
	h.Wait()
	if n := rig.Value(b, chromedp.Evaluate[int](`window.decisions`)); n != 2 {
		t.Errorf("%d decisions were sent, want 2", n)
	}
	b.Quiet()
}
