package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageTranscript: what happened in a session reads as a conversation, with one row for each call,
// whose mark moves while one looks at it.
func TestPageTranscript(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	event := func(name string, more map[string]any) {
		t.Helper()
		doc := map[string]any{"session_id": "story", "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": name}
		for k, v := range more {
			doc[k] = v
		}
		d.Hook(rig.Object(t, doc)).Wait()
	}
	call := func(id, tool string, input map[string]any, more map[string]any) map[string]any {
		doc := map[string]any{"tool_use_id": id, "tool_name": tool, "tool_input": input}
		for k, v := range more {
			doc[k] = v
		}
		return doc
	}
	const asked, ran = "git commit -qam cart && git push origin main", "git commit -qam cart"

	event("SessionStart", map[string]any{"source": "startup"})
	event("UserPromptSubmit", map[string]any{"prompt": "Look at the cart"})
	event("Stop", map[string]any{"last_assistant_message": "It rounds each line by itself."})
	event("UserPromptSubmit", map[string]any{"prompt": "Fix the rounding and push it"})
	edit := map[string]any{"file_path": "/srv/shop/src/cart.js", "old_string": "Math.round(price)", "new_string": "Math.round(price * 100)"}
	event("PreToolUse", call("t1", "Edit", edit, nil))
	event("PostToolUse", call("t1", "Edit", edit, map[string]any{"duration_ms": 40, "tool_response": map[string]any{
		"structuredPatch": []map[string]any{{"oldStart": 3, "newStart": 3, "lines": []string{" function cents(price) {", "-  return Math.round(price)", "+  return Math.round(price * 100)", " }"}}}}}))
	event("PreToolUse", call("t2", "Bash", map[string]any{"command": asked}, nil))
	h := d.Hook(rig.Object(t, map[string]any{"session_id": "story", "cwd": "/srv/shop", "permission_mode": "default", "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": map[string]any{"command": asked}}))
	r := d.WaitPending(1)[0]

	b.View("Sessions")
	b.Tap(`[data-ui=sessions] button[data-session=story]`)
	b.See("[data-ui=session] h2", "Fix the rounding and push it")
	b.See("[data-ui=call][data-state=waiting]", asked)
	if n := b.Count("[data-ui=call]"); n != 2 {
		t.Errorf("%d rows for two calls", n)
	}
	b.See("[data-ui=words]", "It rounds each line by itself.")
	if look := rig.Value(b, chromedp.Evaluate[string](`(e => { const s = getComputedStyle(e); return s.borderLeftStyle + " " + s.fontWeight })(document.querySelector("[data-ui=words]"))`)); look != "none 400" {
		t.Errorf("what the agent said is no plain text: %s", look)
	}
	if b.Count("[data-ui=sessions] button[data-session=story] bdi") == 0 || b.Count("[data-ui=session] h2 bdi") == 0 {
		t.Error("the session's name is not kept apart from what stands around it")
	}
	b.Looks("transcript-waits")

	d.Command("allow", r.ID, "--input", `{"command":"`+ran+`"}`)
	h.Wait()
	b.See("[data-ui=call][data-state=allowed]", "Allowed as edited")
	event("PostToolUseFailure", call("t2", "Bash", map[string]any{"command": ran}, map[string]any{"error": "Exit code 1\nnothing to commit", "duration_ms": 3100}))
	b.See("[data-ui=call][data-state=failed]", ran)
	b.See("[data-ui=call][data-state=failed] [data-ui=mark]", rig.Word("feed.call.marks.failed")+", "+rig.Word("time.seconds", "3"))
	b.See("[data-ui=call][data-state=failed]", "Exit code 1")
	if n := b.Count("[data-ui=call]"); n != 2 {
		t.Errorf("%d rows for two calls", n)
	}
	b.Tap("[data-ui=call][data-state=failed] summary")
	b.See("[data-ui=call][data-state=failed] [data-sign='−']", asked)
	b.See("[data-ui=call][data-state=failed] [data-sign='+']", ran)
	// The last message comes behind the end of its turn.
	event("Stop", map[string]any{"last_assistant_message": "There was nothing \u202eto commit."})
	event("MessageDisplay", map[string]any{"message_id": "m", "index": 0, "final": true, "delta": "There was nothing \u202eto commit."})
	rig.Eventually(t, rig.Soon, "the agent's words are there once", func() bool {
		return strings.Count(b.Text("[data-ui=story]"), "There was nothing ⟦U+202E⟧to commit.") == 1
	})
	b.See("[data-ui=session]", rig.Word("feed.turnOver")) // at once, though the stream's state says working for a minute

	// The files that were changed, with what changed.
	b.Tap("[data-ui=changed] > summary")
	b.See("[data-ui=changed-file] summary", "src/cart.js")
	b.See("[data-ui=changed-file] summary", "+1 −1")
	b.Tap("[data-ui=changed-file] summary")
	b.See("[data-ui=changed-file] [data-sign='+']", "return Math.round(price * 100)")
	b.Looks("transcript")
	b.NothingCut("transcript")
	b.Accessible("transcript")
	b.Do(chromedp.Reload())
	b.Quiet()
}
