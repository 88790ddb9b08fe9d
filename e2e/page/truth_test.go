package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestPageTellsTheTruth: what was allowed as edited is shown as it was allowed, with its difference,
// wherever the request is shown; so are answers, and a tool that failed with its reason.
func TestPageTellsTheTruth(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	const asked, ran = "git commit -qam cart && git push origin main", "git commit -qam cart"

	h := d.Hook(rig.Bash("truth", asked))
	r := d.WaitPending(1)[0]
	b.See(rig.Open+" [data-ui=shell]", asked)
	d.Command("allow", r.ID, "--input", `{"command":"`+ran+`"}`)
	h.Wait()
	d.Hook([]byte(`{"session_id":"truth","cwd":"/tmp","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"` + ran + `"},"error":"Exit code 1\nnothing to commit"}`)).Wait()
	b.See(rig.Over+" [data-ui=outcome]", "Allowed as edited by a command on the machine. The tool failed: Exit code 1⏎nothing to commit")
	b.See(rig.Over+" [data-ui=said] [data-sign='−']", "git push origin main")
	b.See(rig.Over+" [data-ui=said] [data-sign='+']", "cart")
	b.Looks("truth-card")

	h = d.Hook(permission("AskUserQuestion", map[string]any{"questions": []map[string]any{{"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []map[string]string{{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}}}}}, map[string]any{"session_id": "truth"}))
	d.Command("allow", d.WaitPending(1)[0].ID, "--answer", "Blue")
	h.Wait()
	b.See("[data-ui=past]", "Answered")

	// What was settled is there after a reload, as it was.
	settled := func(when string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, when+": both are under what was settled lately", func() bool { return b.Count("[data-ui=past]") == 2 })
		b.See("[data-ui=past][data-state=bad] [data-ui=summary]", ran)
		b.See("[data-ui=past][data-state=bad] [data-ui=outcome]", "Allowed as edited by a command on the machine. The tool failed: Exit code 1")
		if b.Has("[data-ui=past][data-state=good] [data-ui=outcome]") && b.Count("[data-ui=past][data-state=good]") != 1 {
			t.Error(when + ": a tool that failed has a tick")
		}
	}
	settled("live")
	b.Do(chromedp.Reload())
	settled("after a reload")
	b.Tap("[data-ui=past][data-state=bad] button")
	b.See("[data-ui=past][data-state=bad] [data-ui=said] [data-sign='−']", "git push origin main")
	b.Looks("truth-settled")

	b.View("History")
	b.See("[data-ui=decision][data-state=bad] b", rig.Word("outcome.edited"))
	b.See("[data-ui=decision][data-state=bad] [data-ui=summary]", ran)
	b.See("[data-ui=decision][data-state=bad]", "Asked for: "+asked)
	b.See("[data-ui=decision][data-state=bad]", rig.Word("outcome.ranFailed", "Exit code 1⏎nothing to commit"))
	b.See("[data-ui=decision][data-state=good]", "Answered: Which colour? → Blue")
	b.Click("[data-ui=decision][data-state=bad] button", "Show the request")
	b.See("[data-ui=decision][data-state=bad] [data-ui=said] [data-sign='−']", "git push origin main")
	b.See("[data-ui=decision][data-state=bad] [data-ui=fields] pre", ran)
	b.Looks("truth-history")
	b.NothingCut("truth-history")
	b.Quiet()

	if feed := d.Command("feed", "truth"); !containsAll(feed, "Allowed as edited: Bash("+ran+")", "- "+asked, "+ "+ran, "Bash failed: Exit code 1", "Blue") {
		t.Errorf("the feed says\n%s", feed)
	}
}

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
