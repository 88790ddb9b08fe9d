package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPageTellsTheTruth: what was allowed as edited is shown as it was allowed, with its difference,
// wherever the request is shown; so are answers, and a tool that failed with its reason.
func TestPageTellsTheTruth(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.rest()
	const asked, ran = "git commit -qam cart && git push origin main", "git commit -qam cart"

	h := d.hook(bash("truth", asked))
	r := d.waitPending(1)[0]
	b.see(open+" .shell", asked)
	d.command("allow", r.ID, "--input", `{"command":"`+ran+`"}`)
	h.wait()
	d.hook([]byte(`{"session_id":"truth","cwd":"/tmp","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"` + ran + `"},"error":"Exit code 1\nnothing to commit"}`)).wait()
	b.see(over+" .outcome", "Allowed as edited by a command on the machine. The tool failed: Exit code 1⏎nothing to commit")
	b.see(over+" .said .goes", "git push origin main")
	b.see(over+" .said .comes", "cart")
	b.looks("truth-card")

	h = d.hook(permission("AskUserQuestion", map[string]any{"questions": []map[string]any{{"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []map[string]string{{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}}}}}, map[string]any{"session_id": "truth"}))
	d.command("allow", d.waitPending(1)[0].ID, "--answer", "Blue")
	h.wait()
	b.see(".past", "Answered")

	// What was settled is there after a reload, as it was.
	settled := func(when string) {
		t.Helper()
		eventually(t, soon, when+": both are under what was settled lately", func() bool { return b.count(".past") == 2 })
		b.see(".past.bad .summary", ran)
		b.see(".past.bad .outcome", "Allowed as edited by a command on the machine. The tool failed: Exit code 1")
		if b.has(".past.good .outcome") && b.count(".past.good") != 1 {
			t.Error(when + ": a tool that failed has a tick")
		}
	}
	settled("live")
	b.do(chromedp.Reload())
	settled("after a reload")
	b.tap(".past.bad .link")
	b.see(".past.bad .said .goes", "git push origin main")
	b.looks("truth-settled")

	b.view("History")
	b.see(".decided.bad b", "Allowed as edited")
	b.see(".decided.bad .summary", ran)
	b.see(".decided.bad", "Asked for: "+asked)
	b.see(".decided.bad", "The tool failed: Exit code 1⏎nothing to commit")
	b.see(".decided.good", "Answered: Which colour? → Blue")
	b.click(".decided.bad .link", "Show the request")
	b.see(".decided.bad .said .goes", "git push origin main")
	b.see(".decided.bad .shell, .decided.bad pre.code", ran)
	b.looks("truth-history")
	b.nothingCut("truth-history")
	b.quiet()

	if feed := d.command("feed", "truth"); !containsAll(feed, "Allowed as edited: Bash("+ran+")", "- "+asked, "+ "+ran, "Bash failed: Exit code 1", "Blue") {
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
