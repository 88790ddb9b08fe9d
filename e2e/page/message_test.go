package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/auth"
	"assent/internal/hook"
)

// TestPageSendsAMessage: a device of role operate writes to a session, signed; the session's Stop hook hands
// it over, and the page says how far it is. A device that may only approve is told what it lacks.
func TestPageSendsAMessage(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.PairAs(d, "operate")
	b.Rest()
	event := func(name string, more map[string]any) string {
		t.Helper()
		doc := map[string]any{"session_id": "story", "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": name}
		for k, v := range more {
			doc[k] = v
		}
		return d.Hook(rig.Object(t, doc)).Wait()
	}
	event("SessionStart", map[string]any{"source": "startup"})
	event("UserPromptSubmit", map[string]any{"prompt": "Look at the cart"})

	b.View("Sessions")
	b.Tap(`[data-ui=sessions] button[data-session=story]`)
	const text = "Also update the docs.\nThen stop."
	write := func(text string) {
		t.Helper()
		b.See("[data-ui=composer]", rig.Word("say.send"))
		b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=composer] textarea"), text))
	}
	write(text)
	b.Looks("message-typed")
	b.Tap("[data-ui=composer] [data-action=say]")
	b.See("[data-ui=message][data-state=sent]", "Also update the docs.")
	b.Looks("message-sent")
	var list []hook.Message
	d.Get("/v1/sessions/story/messages", &list)
	if len(list) != 1 || list[0].Prompt != text || !auth.VerifyMessage(list[0]) {
		t.Fatalf("the record has %+v", list)
	}
	raw, err := json.Marshal(list[0])
	if err != nil {
		t.Fatal(err)
	}
	rig.Valid(t, "Message", raw)

	out := event("Stop", map[string]any{"stop_hook_active": false})
	if !strings.Contains(out, `"decision":"block"`) || !strings.Contains(out, "Also update the docs.") {
		t.Errorf("the Stop hook prints %q", out)
	}
	b.See("[data-ui=message][data-state=taken]", rig.Word("say.states.taken"))
	event("PreToolUse", map[string]any{"tool_name": "Read", "tool_use_id": "t", "tool_input": map[string]any{"file_path": "/srv/shop/README.md"}})
	b.See("[data-ui=message][data-state=started]", "in its context")
	if out := event("Stop", map[string]any{"stop_hook_active": true}); out != "" {
		t.Errorf("the second Stop hook prints %q", out)
	}
	b.See("[data-ui=message][data-state=ended]", "the turn is over")
	const steps = "[data-ui=message][data-state=ended] [data-ui=steps]"
	b.Tap(steps + " summary")
	for _, state := range []string{"sent", "taken", "started", "ended"} {
		b.See(steps+" li[data-state="+state+"]", rig.Word("steps.states."+state))
	}
	b.See(steps+" li[data-state=taken]", rig.Word("steps.ways.stop"))
	b.See(steps+" [data-ui=signature][data-state=verified]", rig.Word("steps.signed.verified"))
	b.Accessible("message")
	b.NothingCut("message")
	b.Looks("message-over")

	// What the record proves of it: each step has its signature and its leaf, as assent trace says.
	b.Tap(steps + " [data-action=trace]")
	const trace = steps + " [data-ui=trace]"
	b.See(trace, rig.Word("trace.steps.message-ended"))
	traced := rig.Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[data-ui=trace] li")].map(e => [e.dataset.step, e.dataset.signature, e.dataset.place].join(" "))`))
	if got := strings.Join(traced, ", "); got != "message-sent good tree, message-taken none tree, message-started none tree, message-ended none tree" {
		t.Errorf("the steps are %s", got)
	}
	b.See(trace+" [data-step=message-sent]", rig.Word("trace.signatures.good"))
	b.See(trace+" [data-step=message-sent] [data-ui=place]", rig.Word("trace.leaf", "3")[:4])
	b.See(trace, "assent audit prove msg-"+list[0].ID)
	b.Accessible("message-trace")
	b.NothingCut("message-trace")
	b.Looks("message-trace")
	b.Tap(steps + " [data-action=trace]")

	// A session that waits at its prompt, and has no inbox here, cannot be reached, which is said; the text stays.
	write("Are you there?")
	b.Tap("[data-ui=composer] [data-action=say]")
	b.See("[data-ui=composer] [role=alert]", "cannot be reached")
	if got := rig.Value(b, chromedp.Evaluate[string](`document.querySelector("[data-ui=composer] textarea").value`)); got != "Are you there?" {
		t.Errorf("the text is now %q", got)
	}

	// What nobody has taken yet can be taken back.
	event("UserPromptSubmit", map[string]any{"prompt": "Go on"})
	b.Tap("[data-ui=composer] [data-action=say]")
	b.Tap("[data-ui=message][data-state=sent] [data-action=take-back]")
	b.See("[data-ui=message][data-state=refused]", rig.Word("say.states.refused"))
	if out := event("Stop", map[string]any{"stop_hook_active": false}); out != "" {
		t.Errorf("the Stop hook prints %q", out)
	}

	// "Claude is done" leads to the line, also while the page is open elsewhere.
	focused := func(how string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "the cursor in the line, "+how, func() bool {
			return rig.Value(b, chromedp.Evaluate[bool](`document.activeElement?.closest("[data-ui=composer]") !== null`))
		})
	}
	b.View("History")
	rig.Value(b, chromedp.Evaluate[bool](`(navigator.serviceWorker.dispatchEvent(new MessageEvent("message", { data: { type: "open", requestId: "", reply: "story" } })), true)`))
	focused("after a tap")
	url, _ := d.Owner()
	b.Do(chromedp.Navigate(url + "?reply=story"))
	focused("in a new window")
	b.Quiet()
}

// TestPageMayNotSend: a device that may approve is shown no line to write in.
func TestPageMayNotSend(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	d.Hook(rig.Object(t, map[string]any{"session_id": "story", "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": "Hello"})).Wait()
	b.View("Sessions")
	b.Tap(`[data-ui=sessions] button[data-session=story]`)
	b.See("main", "pair --role operate")
	if b.Has("[data-ui=composer]") {
		t.Error("it can write")
	}
	b.Quiet()
}
