package rig

import (
	"strings"

	"github.com/chromedp/chromedp"
)

// How tests find things on the page. None asks for a CSS class, so that a redesign breaks no test
// (TestNoClassSelectors). They ask for an element, with its ARIA role or name where there are
// several, or for what the page's components in web/src say of themselves:
//
//	data-ui      what the thing is: card, outcome, obstacle, answers, row, past, decision, rule …
//	data-state   how it is: over (a card or a row), busy (a button), soon, gone; good or bad (an outcome)
//	data-action  what a button does: allow, deny, other, more, settings, close, revoke, yes …
//	data-mark    what a piece of a text is: gap, tab, word, program …; data-sign is that of a line of a diff
//
// (data-part is the page's own: the parts of a request that have to be seen.)
// Part, State and Action write such a selector; one that is longer may be written out, as in
// "[data-ui=past][data-state=bad] [data-ui=summary]".

// Part is the selector of what the page calls so, such as "card".
func Part(name string) string { return "[data-ui=" + name + "]" }

// State is the selector of what is in a state, such as "over"; it follows that of a Part.
func State(name string) string { return "[data-state=" + name + "]" }

// Action is the selector of a button by what it does, such as "allow".
func Action(name string) string { return "[data-action=" + name + "]" }

// The card of what waits, and the line about what was settled last.
const (
	Open = "[data-ui=card]:not([data-state=over])"
	Over = "[data-ui=toast]"
)

// Allows has a hook ask and answers on the page: the hook prints that it is allowed.
func (b *Browser) Allows(d *Daemon, payload []byte) {
	b.t.Helper()
	h := d.Hook(payload)
	b.See(Open, "touch /home/dev/project/out.txt")
	b.See(Open, "project")
	b.Shot("request.png")
	b.Tap(Open + " " + Action("allow"))
	if out := h.Wait(); out != Allowed {
		b.t.Errorf("the hook printed %s", out)
	}
	b.See(Over+" "+Part("outcome"), Word("outcome.allowed"))
	b.See(Over+" "+Part("outcome"), "Delivered")
	b.Shot("allowed.png")
	if r := d.Settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		b.t.Errorf("decided by %+v, want the paired device", r.DecidedBy)
	}
}

// DeniesWithWords has a hook ask and denies on the page, with words for the model.
func (b *Browser) DeniesWithWords(d *Daemon, payload []byte) {
	b.t.Helper()
	h := d.Hook(payload)
	b.Do(chromedp.SendKeys(chromedp.CSS(Open+" "+Part("note")), "not on a Friday"))
	b.See(Open+" "+Action("deny"), Word("answer.denyNote"))
	b.See(Open+" "+Part("obstacle"), Word("answer.noteBlocks"))
	if off := Value(b, chromedp.Evaluate[string](`document.querySelector(`+JSString(Open+" "+Action("allow"))+`).ariaDisabled`)); off != "true" {
		b.t.Error("words can be lost by a tap on Allow")
	}
	b.Shot("words.png")
	b.Tap(Open + " " + Action("deny"))
	if out := h.Wait(); out != Denied("not on a Friday") {
		b.t.Errorf("the hook printed %s", out)
	}
	b.See(Over+" "+Part("outcome"), Word("outcome.denied"))
}

// SaysWhoAnswered has another approver answer, and waits until the card says who.
func (b *Browser) SaysWhoAnswered(d *Daemon, payload []byte) {
	b.t.Helper()
	h := d.Hook(payload)
	b.See(Open, "touch /home/dev/project/out.txt")
	d.Allow(d.WaitPending(1)[0])
	h.Wait()
	b.See(Over+" "+Part("outcome"), "Allowed from the terminal")
	b.Shot("elsewhere.png")
	if s := b.Text(Over + " " + Action("allow")); s != "" {
		b.t.Errorf("a request that is over can still be answered: %q", s)
	}
}

// SaysThatTheTerminalAnswered has a hook go away, and waits until the card says so.
func (b *Browser) SaysThatTheTerminalAnswered(d *Daemon, payload []byte) {
	b.t.Helper()
	h := d.Hook(payload)
	b.See(Open, "touch /home/dev/project/out.txt")
	if err := h.Cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	_ = h.Cmd.Wait() // killed
	b.See(Over+" "+Part("outcome"), "terminal")
	b.Shot("withdrawn.png")
}

// ShowsHostileText has a hook ask with text that would be markup, and sees it as text.
func (b *Browser) ShowsHostileText(d *Daemon) {
	b.t.Helper()
	const command = "echo safe \u202etxt.exe \u200b\x1b[2K <img src=x onerror=document.title='owned'> \u2066x\u2069"
	h := d.Hook(Bash("s\u202e", command))
	b.See(Open, "⟦U+202E⟧")
	for _, visible := range []string{"⟦U+200B⟧", "⟦U+001B⟧", "⟦U+2066⟧", "<img src=x onerror=document.title='owned'>"} {
		b.See(Open, visible)
	}
	title := Value(b, chromedp.Title())
	raw := Value(b, chromedp.Evaluate[int](`[...document.body.innerText].filter(c => /[\u202e\u200b\u2066\u2069\x1b]/.test(c)).length`))
	images := Value(b, chromedp.Evaluate[int](`document.querySelectorAll("#app img").length`))
	if strings.Contains(title, "owned") || images != 0 || raw != 0 {
		b.t.Errorf("title %q, %d images, %d invisible characters", title, images, raw)
	}
	b.Shot("hostile.png")
	b.Tap(Open + " " + Action("deny"))
	h.Wait()
}

// SurvivesARestart restarts the broker while a request waits, and answers it on the same page.
func (b *Browser) SurvivesARestart(d *Daemon, payload []byte) {
	b.t.Helper()
	h := d.Hook(payload)
	b.See(Open, "touch /home/dev/project/out.txt")
	d.Kill()
	b.See(Part("link"), "No connection")
	b.Shot("away.png")
	d.Start()
	b.See(Part("link"), Word("link.live"))
	b.See(Open, "touch /home/dev/project/out.txt")
	b.Tap(Open + " " + Action("allow"))
	if out := h.Wait(); out != Allowed {
		b.t.Errorf("the hook printed %s", out)
	}
}
