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
	b.See(b.Recent()+" [data-ui=outcome]", "Allowed as edited from the terminal. The tool failed: Exit code 1⏎nothing to commit")
	b.See("[data-ui=past] [data-ui=said] [data-sign='−']", "git push origin main")
	b.See("[data-ui=past] [data-ui=said] [data-sign='+']", "cart")
	b.Looks("truth-card")

	h = d.Hook(permission("AskUserQuestion", map[string]any{"questions": []map[string]any{{"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []map[string]string{{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}}}}}, map[string]any{"session_id": "truth"}))
	d.Command("allow", d.WaitPending(1)[0].ID, "--answer", "Blue")
	h.Wait()
	b.See("[data-ui=past]", "Answered")

	h = d.Hook(permission("ExitPlanMode", map[string]any{"plan": "# Move sessions to Redis\n\n## Why\nThey are lost on each deploy."}, map[string]any{"session_id": "truth"}))
	d.Command("allow", d.WaitPending(1)[0].ID)
	h.Wait()

	// What was settled is there after a reload, as it was.
	settled := func(when string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, when+": all are under what was settled lately", func() bool { return b.Count("[data-ui=past]") == 3 })
		b.See("[data-ui=past][data-state=bad] [data-ui=summary]", ran)
		b.See("[data-ui=past][data-state=bad] [data-ui=outcome]", "Allowed as edited from the terminal. The tool failed: Exit code 1")
		if b.Count("[data-ui=past][data-state=good]") != 2 {
			t.Error(when + ": a tool that failed has a tick")
		}
	}
	settled("live")
	b.See("[data-ui=past] [data-ui=answer]", "Which colour? → Blue")
	b.Do(chromedp.Reload())
	settled("after a reload")
	b.Tap("[data-ui=past][data-state=bad] button")
	b.See("[data-ui=past][data-state=bad] [data-ui=said] [data-sign='−']", "git push origin main")
	b.Looks("truth-settled")

	b.View("History")
	b.See("[data-ui=decision][data-state=bad] b", rig.Word("outcome.edited"))
	b.See("[data-ui=decision][data-state=bad] [data-ui=summary]", ran)
	b.See("[data-ui=decision][data-state=bad] b", rig.Word("history.failed"))
	b.See("[data-ui=decision][data-state=bad] [data-ui=difference] [data-sign='−']", asked)
	b.See("[data-ui=decision][data-state=bad] [data-ui=difference] [data-sign='+']", ran)
	b.See("[data-ui=decision][data-state=bad] [data-ui=failure]", "Exit code 1⏎nothing to commit")
	const plan, question = "[data-ui=decision]:nth-child(1)", "[data-ui=decision]:nth-child(2)" // the newest come first
	b.See(question, "Answered: Which colour? → Blue")
	b.See(question+" b", rig.Word("form.answered"))
	b.See(plan+" [data-ui=summary]", "Plan Move sessions to Redis …")
	b.Click("[data-ui=decision][data-state=bad] button", "Show the request")
	b.See("[data-ui=decision][data-state=bad] [data-ui=said] [data-sign='−']", "git push origin main")
	b.See("[data-ui=decision][data-state=bad] [data-ui=fields] pre", ran)
	b.Looks("truth-history")
	b.NothingCut("truth-history")
	b.Quiet()

	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=filters] input"), "push origin"))
	rig.Eventually(t, rig.Soon, "the history finds what was asked for", func() bool { return b.Count("[data-ui=decision]") == 1 })
	if trace := d.Command("trace", r.ID); !containsAll(trace, asked, "- "+asked, "+ "+ran, "as edited", "the tool failed: Exit code 1") {
		t.Errorf("the trace says\n%s", trace)
	}
	if feed := d.Command("feed", "truth"); !containsAll(feed, "✗ Bash  "+ran+"  · allowed as edited from the terminal", "- "+asked, "+ "+ran, "failed: Exit code 1", "Blue") {
		t.Errorf("the feed says\n%s", feed)
	}
}

// TestPageSaysHowOftenItWasAllowed: a call that a person has allowed before says so, where it does no harm.
func TestPageSaysHowOftenItWasAllowed(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	for _, c := range []string{"git status", "rm -rf build", "git status", "rm -rf build"} {
		h := d.Hook(rig.Bash("again", c))
		d.Command("allow", d.WaitPending(1)[0].ID)
		h.Wait()
	}
	rig.Eventually(t, rig.Soon, "history has all of them", func() bool { return strings.Count(d.Command("sessions"), "again") > 0 && len(d.ReadFeed("again")) >= 8 })
	d.Hook(rig.Bash("again", "git status"))
	d.WaitPending(1)
	b.See(rig.Open+" [data-ui=allowed-here]", "allowed 2 times here")
	b.Tap(rig.Open + " [data-action=deny]")
	d.Hook(rig.Bash("again", "rm -rf build"))
	b.See(rig.Open, "rm -rf build")
	if b.Has(rig.Open + " [data-ui=allowed-here]") {
		t.Error("a habit is told of what deletes")
	}
	b.Quiet()
}

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
