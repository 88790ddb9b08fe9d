package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// request is the payload of a PermissionRequest for any tool.
func permission(tool string, input, more map[string]any) []byte {
	doc := map[string]any{
		"session_id": "s-card", "transcript_path": "/tmp/t.jsonl", "cwd": "/home/dev/shop", "hook_event_name": "PermissionRequest",
		"permission_mode": "default", "tool_name": tool, "tool_input": input,
	}
	for k, v := range more {
		doc[k] = v
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // a bug in the test
	}
	return b
}

// output is the decision that a hook printed.
func decided(t *testing.T, printed string) map[string]any {
	t.Helper()
	var out struct {
		HookSpecificOutput struct{ Decision map[string]any }
	}
	if err := json.Unmarshal([]byte(printed), &out); err != nil {
		t.Fatalf("the hook printed %q: %v", printed, err)
	}
	return out.HookSpecificOutput.Decision
}

const allowable = rig.Open + ` [data-action=allow][aria-disabled="false"]`

// TestCardShowsTheExactThing: each tool in its own form, on phone and desktop, light and dark.
func TestCardShowsTheExactThing(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	show := func(name string, payload []byte, look func()) {
		t.Helper()
		h := d.Hook(payload)
		d.WaitPending(1)
		b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + " h3")))
		look()
		b.Looks("card-" + name)
		b.Tap(rig.Open + " [data-action=deny]")
		h.Wait()
		b.See(rig.Over+" [data-ui=outcome]", rig.Word("outcome.denied"))
	}

	show("command", permission("Bash", map[string]any{
		"command":     "cd web && NODE_ENV=test timeout 60 npm test -- --run \"$SUITE\" > /tmp/out.log; bash -c 'git push origin main'",
		"description": "Run the tests and push",
	}, nil), func() {
		b.See(rig.Open+" [data-ui=reading] summary", "Runs ")
		b.Tap(rig.Open + " [data-ui=reading] summary")
		b.See(rig.Open+" [data-ui=units]", "git push origin main")
		b.Tap(rig.Open + " [data-ui=reading] summary")
		b.See(rig.Open+" [data-ui=shell] [data-mark=program]", "cd")
		b.See(rig.Open+" [data-ui=shell]", `"$SUITE"`) // as it is written, marked or not
		b.See(rig.Open+" [data-ui=agent-words]", "Run the tests and push")
	})
	show("edit", permission("Edit", map[string]any{
		"file_path":  "/home/dev/shop/server.go",
		"old_string": "func main() {\n\tsrv := &http.Server{Handler: mux}\n\ttimeout := 5 * time.Second\n}",
		"new_string": "func main() {\n\tsrv := &http.Server{Handler: mux}\n\ttimeout := 30 * time.Second\n\tgrace := timeout / 2\n}",
	}, nil), func() {
		b.See(rig.Open+" [data-ui=file]", "+2 −1")
		b.See(rig.Open+" [data-ui=diff] [data-sign='−'] [data-mark=word]", "5")
		b.See(rig.Open+" [data-ui=diff] [data-sign='+'] [data-mark=word]", "30")
		if n := rig.Value(b, chromedp.Evaluate[int](`document.querySelectorAll(`+rig.JSString(rig.Open+" [data-ui=diff] [data-sign=' ']")+`).length`)); n != 3 {
			t.Errorf("%d lines stay, want 3", n)
		}
	})
	show("multiedit", permission("MultiEdit", map[string]any{"file_path": "/a/main.go", "edits": []map[string]any{
		{"old_string": "a := 1", "new_string": "a := 2"}, {"old_string": "b", "new_string": "b\n\n\n\n\n\n\n\nc", "replace_all": true},
	}}, nil), func() {
		b.See(rig.Open, rig.Word("diff.place", "2"))
		b.See(rig.Open, "empty lines⟧")
		b.See(rig.Open, "replace_all")
	})
	notes := filepath.Join(d.Dir, "notes.md")
	if err := os.WriteFile(notes, []byte("# Notes\n\nfive\nlines\nbefore"), 0o600); err != nil {
		t.Fatal(err)
	}
	show("write", permission("Write", map[string]any{"file_path": notes, "content": "# Notes\n\n- first \n-\tsecond\n"}, nil), func() {
		b.See(rig.Open+" [data-ui=file]", "notes.md")
		b.See(rig.Open+" [data-mark=gap]", "⟦1 space⟧")
		if !b.Has(rig.Open + " [data-mark=tab]") {
			t.Error("a tab looks like spaces")
		}
	})
	show("url", permission("WebFetch", map[string]any{"url": "https://github.com@evil.example/login?x=1", "prompt": "sum up"}, nil), func() {
		b.See(rig.Open, "This address leads to the host evil.example")
	})
	show("mcp", permission("mcp__github__create_issue", map[string]any{
		"owner": "acme", "title": "Checkout fails", "labels": []string{"bug", "prod"}, "size": json.RawMessage("12345678901234567890"), "body": map[string]any{"text": "a\u202eb", "deep": map[string]any{"n": 1}},
	}, map[string]any{"mcp_server": map[string]any{"name": "github"}}), func() {
		b.See(rig.Open+" [data-ui=mcp]", "create_issue")
		b.See(rig.Open+" [data-ui=tree]", "⟦U+202E⟧")
		b.See(rig.Open, "12345678901234567890")
		b.Tap(rig.Open + " [data-ui=raw] summary")
		b.See(rig.Open+" [data-ui=raw] pre", `"hook_event_name"`)
	})
	b.Quiet()
}

// TestCardAllowsNothingUnseen: Allow waits until all was on the screen, and counts what nobody can.
func TestCardAllowsNothingUnseen(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	var lines []string
	for i := range 38 {
		lines = append(lines, "npm publish --tag x"+strings.Repeat("x", i)) // lines that do nothing would be folded
	}
	h := d.Hook(rig.Bash("s", strings.Join(lines[:28], "\n")+"\nrm -rf ~"))
	b.See(rig.Open, "rm -rf ~")
	b.See(rig.Open+" [data-ui=obstacle]", "not seen yet")
	if b.Has(allowable) {
		t.Error("what was not on the screen can be allowed")
	}
	b.Looks("card-unseen")
	b.Do(rig.Phone)
	// A jump to the end leaves the middle unseen.
	b.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, document.body.scrollHeight)`))
	b.Decide("[data-action=allow]", "Allowed")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}

	// A long one is folded, its tail shown; then it has to be opened and read.
	h = d.Hook(rig.Bash("s", strings.Join(lines, "\n")+strings.Repeat("\n", 5000)+"true"+strings.Repeat(" ", 300)+"; rm -rf ~"))
	b.See(rig.Open+" [data-ui=obstacle]", "Show all of it")
	b.See(rig.Open, "rm -rf ~")
	b.See(rig.Open, rig.Word("exact.blankLines", "4999"))
	b.See(rig.Open, rig.Word("exact.spaces", "300"))
	b.Looks("card-folded")
	rig.Value(b, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`))
	b.Tap(rig.Open + " [data-ui=obstacle] button") // leads to what has to be opened
	rig.Eventually(t, rig.Soon, "the way to the hidden lines", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`(box => box.top >= 0 && box.bottom <= document.querySelector(`+rig.JSString(rig.Open+" [data-ui=foot]")+`).getBoundingClientRect().top)(document.querySelector(`+rig.JSString(rig.Open+" [data-action=more]")+`).getBoundingClientRect())`))
	})
	b.Tap(rig.Open + " [data-action=more]")
	b.See(rig.Open+" [data-ui=obstacle]", "not seen yet")
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Quiet()
}

// TestCardGivesEveryAnswer: what the hook prints for each of them.
func TestCardGivesEveryAnswer(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	suggestions := []map[string]any{
		{"type": "addRules", "rules": []map[string]any{{"toolName": "Bash", "ruleContent": "npm test:*"}}, "behavior": "allow", "destination": "localSettings"},
		{"type": "setMode", "mode": "acceptEdits", "destination": "session"},
	}
	ask := func(tool string, input map[string]any) *rig.HookRun {
		t.Helper()
		h := d.Hook(permission(tool, input, map[string]any{"permission_suggestions": suggestions}))
		d.WaitPending(1)
		b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + " h3")))
		return h
	}

	h := ask("Bash", map[string]any{"command": "npm test", "timeout": 5000})
	b.Mode("edit")
	b.See(rig.Open+" [data-ui=obstacle]", rig.Word("answer.nothingEdited"))
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=edit] textarea"), " -- --bail"))
	b.See(rig.Open+" [data-ui=edit] [data-ui=diff] [data-sign='+']", "npm test -- --bail")
	b.Looks("answer-edit")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=allow]")
	if got := decided(t, h.Wait()); got["updatedInput"].(map[string]any)["command"] != "npm test -- --bail" || got["updatedInput"].(map[string]any)["timeout"] != 5000.0 {
		t.Errorf("edited: %v", got)
	}
	past := b.Recent()
	b.See(past+" [data-ui=said]", "--bail")
	if flex := b.Count(past + " [data-ui=said] [data-sign]"); flex != 2 || rig.Value(b, chromedp.Evaluate[bool](`[...document.querySelectorAll(`+rig.JSString(past+" [data-ui=said] [data-sign]")+`)].some(l => getComputedStyle(l).display !== "block" || l.getBoundingClientRect().height > 60)`)) {
		t.Errorf("the difference of an edit has %d lines, or falls into columns", flex)
	}
	r := d.Settled()[0]
	if asked := d.Request(r.ID); !strings.Contains(string(asked.ToolInput), `"npm test"`) {
		t.Errorf("the original is not kept: %s", asked.ToolInput)
	}

	h = ask("Bash", map[string]any{"command": "npm run lint"})
	b.Mode("stop")
	b.See(rig.Open+" [data-action=deny]", rig.Word("answer.denyStop"))
	b.Looks("answer-stop")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=deny]")
	if got := decided(t, h.Wait()); got["behavior"] != "deny" || got["interrupt"] != true || got["message"] != nil {
		t.Errorf("stopped: %v", got)
	}

	h = ask("Bash", map[string]any{"command": "npm test"})
	b.Mode("always")
	b.See(rig.Open+" [data-ui=obstacle]", rig.Word("answer.chooseAlways"))
	b.Tap(rig.Open + " [data-ui=suggestion][data-kind=agent] [data-ui=option]")
	b.See(rig.Open, rig.Word("suggestions.scopes.localSettings"))
	b.See(rig.Open, rig.Word("always.kept.localSettings"))
	b.Tap(rig.Open + " [data-ui=suggestion][data-kind=agent] [data-ui=chips] label:nth-child(1)")
	b.See(rig.Open, rig.Word("always.kept.session"))
	b.Looks("answer-always")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=allow]")
	got := decided(t, h.Wait())
	if updates, ok := got["updatedPermissions"].([]any); !ok || len(updates) != 1 || updates[0].(map[string]any)["destination"] != "session" {
		t.Errorf("always: %v", got)
	}
	b.See(b.Recent()+" [data-ui=said]", "npm test:*")

	h = ask("Bash", map[string]any{"command": "git push"})
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=note]"), "wait for the \u00abreview\u00bb"))
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.See(b.Recent()+" [data-ui=said]", "wait for the «review»")
	b.Looks("answer-denied")
	b.Do(rig.Phone)
	b.Quiet()
}

// TestCardOfAPlan: rendered, with nothing hidden and nothing alive, edited, and with a mode.
func TestCardOfAPlan(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	const plan = "# Mend the checkout\n\n1. Write a **failing** test\n2. Call `retry()` ([why](https://evil.example \"t\"))\n\n<!-- and push to main -->\n<img src=x onerror=document.title='owned'>\n\n| File | Why |\n|---|---|\n| a.go | it fails |\n\n- [x] done\n- [ ] open\n\n```go\nfunc main() {}\n```\n![pic](javascript:alert(1))\n"
	h := d.Hook(permission("ExitPlanMode", map[string]any{"plan": plan, "planFilePath": "/home/dev/.claude/plans/p.md"}, nil))
	b.See(rig.Open+" [data-ui=markdown] h4", "Mend the checkout")
	b.See(rig.Open+" [data-ui=markdown] strong", "failing")
	b.See(rig.Open+" [data-ui=markdown] table", "it fails")
	for _, shown := range []string{"<!-- and push to main -->", "https://evil.example", "<img src=x", "javascript:alert(1)"} {
		b.See(rig.Open+" [data-ui=markdown]", shown)
	}
	if b.Has("#app img") || b.Has("#app [data-ui=markdown] a") {
		t.Error("Markdown made something alive")
	}
	b.Looks("plan")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-ui=then] label:last-of-type")
	b.Mode("edit")
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=edit] textarea"), "\nAnd tidy up."))
	b.See(rig.Open+" [data-ui=edit] [data-ui=diff]", "And tidy up.")
	b.Looks("plan-edit")
	b.Do(rig.Phone)
	b.Decide("[data-action=allow]", "Allowed")
	got := decided(t, h.Wait())
	if got["updatedInput"].(map[string]any)["plan"] != plan+"\nAnd tidy up." {
		t.Errorf("plan: %v", got["updatedInput"])
	}
	if u := got["updatedPermissions"].([]any)[0].(map[string]any); u["type"] != "setMode" || u["mode"] != "acceptEdits" {
		t.Errorf("mode: %v", u)
	}
	b.Quiet()
}
