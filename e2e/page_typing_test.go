package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLettersOfATextAnswerNothing: a form goes away while somebody types into it, for its time is
// up or its hook has gone, and the letters that follow are no keys that answer the next request.
func TestLettersOfATextAnswerNothing(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	// The last letter before the form goes away is of the very task in which it goes: between two
	// frames a slow machine makes a pause, after which a letter is no longer part of a text.
	b.before(`window.WebSocket = class extends WebSocket {
		constructor(...of) {
			super(...of);
			this.addEventListener("message", () => window.type?.("x"));
		}
	}`)
	b.pair(d)
	other := d.asks(t.Context(), "s-form", "/home/dev/shop", "Bash", command("echo other"))
	d.waitPending(1)
	b.see(open, "echo other")
	h := d.hook(elicitation(`{"type":"object","properties":{"why":{"type":"string"}}}`, nil))
	d.waitPending(2)
	b.do(chromedp.WaitVisible(chromedp.CSS(".card .form textarea")), chromedp.WaitVisible(chromedp.CSS(".card:first-of-type "+`.allow[aria-disabled="false"]`)))
	b.do(chromedp.Evaluate[chromedp.Void](`window.typed = new Promise((done) => {
		const box = document.querySelector(".form textarea");
		box.focus();
		window.type = (key) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		type("x");
		new MutationObserver((_, seen) => {
			if (!document.querySelector(".card.over")) return;
			seen.disconnect();
			for (const key of "kick and ask") type(key);
			window.type = undefined;
			done(document.activeElement.innerText);
		}).observe(document, {childList: true, subtree: true, attributes: true});
	}), undefined`))
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the focus is on %q", value(b, chromedp.Evaluate[string](`window.typed`, chromedp.EvalAwaitPromise)))
	b.do(chromedp.KeyEvent("\x1b")) // no letter: the text has ended
	if q := d.waitPending(1)[0]; q.ToolName != "Bash" {
		t.Errorf("it waits no more; %+v does", q)
	}
	if n := b.count(".busy"); n != 0 {
		t.Error("an answer is on its way")
	}
	b.keyOn(open, "a")
	if out := <-other; out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
}

// TestPhonesKeyboardCoversWhatIsBehindIt: browsers lay it over the page. What is behind it was not
// seen; and when it goes away, with a box that goes away, the button that comes out under the thumb
// takes no tap.
func TestPhonesKeyboardCoversWhatIsBehindIt(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.before(`let tall = 200; Object.defineProperty(visualViewport, "height", {get: () => tall});
		window.keyboard = (leaves) => { tall = leaves; visualViewport.dispatchEvent(new Event("resize")) };`)
	b.pair(d)
	b.see("main", "Nothing waits for you") // so the broker knows that somebody is there
	h := d.hook(elicitation(`{"type":"object","properties":{"why":{"type":"string"}}}`, nil))
	b.see(open+" .form", "why")
	b.see(open+" .obstacle", "not seen yet")
	b.do(chromedp.WaitVisible(chromedp.CSS(open + ` button.deny[aria-disabled="false"]`)))
	b.do(chromedp.Evaluate[chromedp.Void](`keyboard(innerHeight), document.querySelector(".card:not(.over) .deny").click()`))
	b.do(chromedp.WaitVisible(chromedp.CSS(allowable))) // all is seen, the button stands still, and nothing was sent
	b.do(chromedp.Evaluate[chromedp.Void](`keyboard(200)`))
	b.do(chromedp.WaitVisible(chromedp.CSS(allowable)))
	b.do(chromedp.Evaluate[chromedp.Void](`keyboard(innerHeight), document.querySelector(".card:not(.over) .allow").click()`))
	if r := d.waitPending(1)[0]; r.State != "pending" || b.count(".busy") > 0 {
		t.Errorf("it is %s", r.State)
	}
	b.do(chromedp.WaitVisible(chromedp.CSS(allowable)))
	b.decide("button.allow", "Answered")
	if out := h.wait(); out != accepted+"{}}}" {
		t.Errorf("the hook printed %s", out)
	}
	b.quiet()
}
