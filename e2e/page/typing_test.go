package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestLettersOfATextAnswerNothing: a form goes away while somebody types into it, for its time is
// up or its hook has gone, and the letters that follow are no keys that answer the next request.
func TestLettersOfATextAnswerNothing(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	// The last letter before the form goes away is of the very task in which it goes: between two
	// frames a slow machine makes a pause, after which a letter is no longer part of a text.
	b.Before(`window.WebSocket = class extends WebSocket {
		constructor(...of) {
			super(...of);
			this.addEventListener("message", () => window.type?.("x"));
		}
	}`)
	b.Pair(d)
	other := d.Asks(t.Context(), "s-form", "/home/dev/shop", "Bash", rig.Command("echo other"))
	d.WaitPending(1)
	b.See(rig.Open, "echo other")
	h := d.Hook(elicitation(`{"type":"object","properties":{"why":{"type":"string"}}}`, nil))
	d.WaitPending(2)
	b.All()
	b.Tap("[data-ui=entry][aria-current=false]")
	b.Do(chromedp.WaitVisible(chromedp.CSS("[data-ui=card] [data-ui=form] textarea")), chromedp.WaitVisible(chromedp.CSS(rig.Open+` [data-action=deny][aria-disabled="false"]`)))
	b.Do(chromedp.Evaluate[chromedp.Void](`window.typed = new Promise((done) => {
		const box = document.querySelector("[data-ui=form] textarea");
		box.focus();
		window.type = (key) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		type("x");
		new MutationObserver((_, seen) => {
			if (document.querySelector("[data-ui=form]")) return;
			seen.disconnect();
			for (const key of "kick and ask") type(key);
			window.type = undefined;
			done(document.activeElement.innerText);
		}).observe(document, {childList: true, subtree: true, attributes: true});
	}), undefined`))
	if err := h.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the focus is on %q", rig.Value(b, chromedp.Evaluate[string](`window.typed`, chromedp.EvalAwaitPromise)))
	b.Do(chromedp.KeyEvent("\x1b")) // no letter: the text has ended
	if q := d.WaitPending(1)[0]; q.ToolName != "Bash" {
		t.Errorf("it waits no more; %+v does", q)
	}
	if n := b.Count("[data-state=busy]"); n != 0 {
		t.Error("an answer is on its way")
	}
	b.KeyOn(rig.Open, "a")
	if out := <-other; out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// TestPhonesKeyboardCoversWhatIsBehindIt: browsers lay it over the page. What is behind it was not
// seen; and when it goes away, with a box that goes away, the button that comes out under the thumb
// takes no tap.
func TestPhonesKeyboardCoversWhatIsBehindIt(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Before(`let tall = 200; Object.defineProperty(visualViewport, "height", {get: () => tall});
		window.keyboard = (leaves) => { tall = leaves; visualViewport.dispatchEvent(new Event("resize")) };`)
	b.Pair(d)
	b.See("main", rig.Word("empty.head")) // so the broker knows that somebody is there
	h := d.Hook(elicitation(`{"type":"object","properties":{"why":{"type":"string"}}}`, nil))
	b.See(rig.Open+" [data-ui=form]", "why")
	b.See(rig.Open+" [data-ui=obstacle]", "not seen yet")
	b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + ` [data-action=deny][aria-disabled="false"]`)))
	b.Do(chromedp.Evaluate[chromedp.Void](`keyboard(innerHeight), document.querySelector("[data-ui=card]:not([data-state=over]) [data-action=deny]").click()`))
	b.Do(chromedp.WaitVisible(chromedp.CSS(allowable))) // all is seen, the button stands still, and nothing was sent
	b.Do(chromedp.Evaluate[chromedp.Void](`keyboard(200)`))
	b.Do(chromedp.WaitVisible(chromedp.CSS(allowable)))
	b.Do(chromedp.Evaluate[chromedp.Void](`keyboard(innerHeight), document.querySelector("[data-ui=card]:not([data-state=over]) [data-action=allow]").click()`))
	if r := d.WaitPending(1)[0]; r.State != "pending" || b.Count("[data-state=busy]") > 0 {
		t.Errorf("it is %s", r.State)
	}
	b.Do(chromedp.WaitVisible(chromedp.CSS(allowable)))
	b.Decide("[data-action=allow]", "Answered")
	if out := h.Wait(); out != accepted+"{}}}" {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}

// TestNoteStaysWithItsRequest: what was begun for one request is there again when its card is, and in no
// other's.
func TestNoteStaysWithItsRequest(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	one := d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command("make one"))
	d.WaitPending(1)
	b.See(rig.Open, "make one")
	two := d.Asks(t.Context(), "s", "/home/dev/shop", "Bash", rig.Command("make two"))
	d.WaitPending(2)
	note := func() string {
		return rig.Value(b, chromedp.Evaluate[string](`document.querySelector("`+rig.Open+` [data-ui=note]").value`))
	}
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=note]"), "use make three"))
	entry := func(n string) {
		t.Helper()
		b.All()
		b.Click("[data-ui=entry]", n)
		b.See(rig.Open, n)
	}
	entry("make two")
	if got := note(); got != "" {
		t.Errorf("the other request has the note %q", got)
	}
	entry("make one")
	if got := note(); got != "use make three" {
		t.Errorf("the note is %q", got)
	}
	b.Tap(rig.Open + " [data-action=deny]")
	if out := <-one; !strings.Contains(out, "use make three") {
		t.Errorf("the hook printed %s", out)
	}
	b.See(rig.Open, "make two")
	if got := note(); got != "" {
		t.Errorf("the next request has the note %q", got)
	}
	b.Tap(rig.Open + " [data-action=deny]")
	<-two
	b.Quiet()
}
