package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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

func (b *browser) has(selector string) bool {
	return value(b, chromedp.Evaluate[bool](`!!document.querySelector(`+jsString(selector)+`)`))
}

const allowable = open + ` button.allow[aria-disabled="false"]`

// TestCardShowsTheExactThing: each tool in its own form, on phone and desktop, light and dark.
func TestCardShowsTheExactThing(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.rest()
	show := func(name string, payload []byte, look func()) {
		t.Helper()
		h := d.hook(payload)
		d.waitPending(1)
		b.do(chromedp.WaitVisible(chromedp.CSS(open + " h3")))
		look()
		b.looks("card-" + name)
		b.tap(open + " button.deny")
		h.wait()
		b.see(over+" .outcome", "Denied")
	}

	show("command", permission("Bash", map[string]any{
		"command":     "cd web && NODE_ENV=test timeout 60 npm test -- --run \"$SUITE\" > /tmp/out.log; bash -c 'git push origin main'",
		"description": "Run the tests and push",
	}, nil), func() {
		b.see(open+" h3", "Run a command")
		b.see(open+" .units", "parts, as the rules read them")
		b.see(open+" .units", "git push origin main")
		b.see(open+" .shell .program", "cd")
		b.see(open+" .shell .flag", "--")
		b.see(open+" .shell .expansion", "$SUITE")
	})
	show("edit", permission("Edit", map[string]any{
		"file_path":  "/home/dev/shop/server.go",
		"old_string": "func main() {\n\tsrv := &http.Server{Handler: mux}\n\ttimeout := 5 * time.Second\n}",
		"new_string": "func main() {\n\tsrv := &http.Server{Handler: mux}\n\ttimeout := 30 * time.Second\n\tgrace := timeout / 2\n}",
	}, nil), func() {
		b.see(open+" h3", "Edit 2 lines in server.go")
		b.see(open+" .diff .goes .word", "5")
		b.see(open+" .diff .comes .word", "30")
		if n := value(b, chromedp.Evaluate[int](`document.querySelectorAll(`+jsString(open+" .diff .stays")+`).length`)); n != 3 {
			t.Errorf("%d lines stay, want 3", n)
		}
	})
	show("multiedit", permission("MultiEdit", map[string]any{"file_path": "/a/main.go", "edits": []map[string]any{
		{"old_string": "a := 1", "new_string": "a := 2"}, {"old_string": "b", "new_string": "b\n\n\n\n\n\n\n\nc", "replace_all": true},
	}}, nil), func() {
		b.see(open, "Change 2")
		b.see(open, "empty lines⟧")
		b.see(open, "replace_all")
	})
	notes := filepath.Join(d.dir, "notes.md")
	if err := os.WriteFile(notes, []byte("# Notes\n\nfive\nlines\nbefore"), 0o600); err != nil {
		t.Fatal(err)
	}
	show("write", permission("Write", map[string]any{"file_path": notes, "content": "# Notes\n\n- first \n-\tsecond\n"}, nil), func() {
		b.see(open, "The whole file becomes")
		b.see(open+" .notice", "Replaces the file, 5 lines before.")
		b.see(open+" .gap", "⟦1 space⟧")
		if !b.has(open + " .tab") {
			t.Error("a tab looks like spaces")
		}
	})
	show("url", permission("WebFetch", map[string]any{"url": "https://github.com@evil.example/login?x=1", "prompt": "sum up"}, nil), func() {
		b.see(open, "The browser reads the host evil.example")
	})
	show("mcp", permission("mcp__github__create_issue", map[string]any{
		"owner": "acme", "title": "Checkout fails", "labels": []string{"bug", "prod"}, "size": json.RawMessage("12345678901234567890"), "body": map[string]any{"text": "a\u202eb", "deep": map[string]any{"n": 1}},
	}, map[string]any{"mcp_server": map[string]any{"name": "github"}}), func() {
		b.see(open+" .mcp", "create_issue")
		b.see(open+" .tree", "⟦U+202E⟧")
		b.see(open, "12345678901234567890")
		b.tap(open + " details.raw summary")
		b.see(open+" details.raw pre", `"hook_event_name"`)
	})
	b.quiet()
}

// TestCardAllowsNothingUnseen: Allow waits until all was on the screen, and counts what nobody can.
func TestCardAllowsNothingUnseen(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	var lines []string
	for i := range 38 {
		lines = append(lines, "echo line "+strings.Repeat("x", i))
	}
	h := d.hook(bash("s", strings.Join(lines[:28], "\n")+"\nrm -rf ~"))
	b.see(open, "rm -rf ~")
	b.see(open+" .obstacle", "not seen yet")
	b.see(open+" .units", "rm -rf /") // no part is folded, least of all the last
	if b.has(allowable) {
		t.Error("what was not on the screen can be allowed")
	}
	b.looks("card-unseen")
	b.do(phone)
	// A jump to the end leaves the middle unseen.
	b.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, document.body.scrollHeight)`))
	b.decide("button.allow", "Allowed")
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}

	// A long one is folded, its tail shown; then it has to be opened and read.
	h = d.hook(bash("s", strings.Join(lines, "\n")+strings.Repeat("\n", 5000)+"true"+strings.Repeat(" ", 300)+"; rm -rf ~"))
	b.see(open+" .obstacle", "Show all of it")
	b.see(open, "rm -rf ~")
	b.see(open, "⟦4999 empty lines⟧")
	b.see(open, "⟦300 spaces⟧")
	b.looks("card-folded")
	value(b, chromedp.Evaluate[bool](`(scrollTo(0, document.body.scrollHeight), true)`))
	b.tap(open + " .obstacle .link") // leads to what has to be opened
	eventually(t, soon, "the way to the hidden lines", func() bool {
		return value(b, chromedp.Evaluate[bool](`(box => box.top >= 0 && box.bottom <= document.querySelector(`+jsString(open+" .foot")+`).getBoundingClientRect().top)(document.querySelector(`+jsString(open+" .more")+`).getBoundingClientRect())`))
	})
	b.tap(open + " .more")
	b.see(open+" .obstacle", "not seen yet")
	b.tap(open + " button.deny")
	h.wait()
	b.quiet()
}

// TestCardGivesEveryAnswer: what the hook prints for each of them.
func TestCardGivesEveryAnswer(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.rest()
	suggestions := []map[string]any{
		{"type": "addRules", "rules": []map[string]any{{"toolName": "Bash", "ruleContent": "npm test:*"}}, "behavior": "allow", "destination": "localSettings"},
		{"type": "setMode", "mode": "acceptEdits", "destination": "session"},
	}
	ask := func(tool string, input map[string]any) *hookRun {
		t.Helper()
		h := d.hook(permission(tool, input, map[string]any{"permission_suggestions": suggestions}))
		d.waitPending(1)
		b.do(chromedp.WaitVisible(chromedp.CSS(open + " h3")))
		return h
	}
	mode := func(m string) {
		t.Helper()
		b.tap(open + " button.third")
		b.tap(open + ` [data-mode="` + m + `"]`)
	}

	h := ask("Bash", map[string]any{"command": "npm test", "timeout": 5000})
	mode("edit")
	b.see(open+" .obstacle", "Nothing is changed yet")
	b.do(chromedp.SendKeys(chromedp.CSS(open+" .edit textarea"), " -- --bail"))
	b.see(open+" .edit .diff .comes", "npm test -- --bail")
	b.looks("answer-edit")
	b.do(phone)
	b.tap(open + " button.allow")
	if got := decided(t, h.wait()); got["updatedInput"].(map[string]any)["command"] != "npm test -- --bail" || got["updatedInput"].(map[string]any)["timeout"] != 5000.0 {
		t.Errorf("edited: %v", got)
	}
	b.see(over+" .said", "--bail")
	if flex := b.count(over + " .said .line"); flex != 2 || value(b, chromedp.Evaluate[bool](`[...document.querySelectorAll(`+jsString(over+" .said .line")+`)].some(l => getComputedStyle(l).display !== "block" || l.getBoundingClientRect().height > 60)`)) {
		t.Errorf("the difference of an edit has %d lines, or falls into columns", flex)
	}
	r := d.settled()[0]
	if asked := d.request(r.ID); !strings.Contains(string(asked.ToolInput), `"npm test"`) {
		t.Errorf("the original is not kept: %s", asked.ToolInput)
	}

	h = ask("Bash", map[string]any{"command": "npm run lint"})
	mode("stop")
	b.see(open+" button.deny", "Deny and stop")
	b.looks("answer-stop")
	b.do(phone)
	b.tap(open + " button.deny")
	if got := decided(t, h.wait()); got["behavior"] != "deny" || got["interrupt"] != true || got["message"] != nil {
		t.Errorf("stopped: %v", got)
	}

	h = ask("Bash", map[string]any{"command": "npm test"})
	mode("always")
	b.see(open+" .obstacle", "Choose what the agent is to remember")
	b.tap(open + " .suggestion:nth-of-type(1) .option")
	b.see(open, "This project, me")
	b.see(open, ".claude/settings.local.json")
	b.tap(open + " .suggestion .chips label:nth-child(1)")
	b.see(open, "In this session only")
	b.looks("answer-always")
	b.do(phone)
	b.tap(open + " button.allow")
	got := decided(t, h.wait())
	if updates, ok := got["updatedPermissions"].([]any); !ok || len(updates) != 1 || updates[0].(map[string]any)["destination"] != "session" {
		t.Errorf("always: %v", got)
	}
	b.see(over+" .said", "npm test:*")

	h = ask("Bash", map[string]any{"command": "git push"})
	b.tap(open + " button.third")
	b.do(chromedp.SendKeys(chromedp.CSS(open+" textarea"), "wait for the \u00abreview\u00bb"))
	b.tap(open + " button.deny")
	h.wait()
	b.see(over+" .said", "wait for the «review»")
	b.looks("answer-denied")
	b.do(phone)
	b.quiet()
}

// TestCardOfAPlan: rendered, with nothing hidden and nothing alive, edited, and with a mode.
func TestCardOfAPlan(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	const plan = "# Mend the checkout\n\n1. Write a **failing** test\n2. Call `retry()` ([why](https://evil.example \"t\"))\n\n<!-- and push to main -->\n<img src=x onerror=document.title='owned'>\n\n| File | Why |\n|---|---|\n| a.go | it fails |\n\n- [x] done\n- [ ] open\n\n```go\nfunc main() {}\n```\n![pic](javascript:alert(1))\n"
	h := d.hook(permission("ExitPlanMode", map[string]any{"plan": plan, "planFilePath": "/home/dev/.claude/plans/p.md"}, nil))
	b.see(open+" .markdown h4", "Mend the checkout")
	b.see(open+" .markdown strong", "failing")
	b.see(open+" .markdown table", "it fails")
	for _, shown := range []string{"<!-- and push to main -->", "https://evil.example", "<img src=x", "javascript:alert(1)"} {
		b.see(open+" .markdown", shown)
	}
	if b.has("#app img") || b.has("#app .markdown a") {
		t.Error("Markdown made something alive")
	}
	b.looks("plan")
	b.do(phone)
	b.tap(open + " .then label:nth-child(2)")
	b.tap(open + " button.third")
	b.tap(open + ` [data-mode="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS(open+" .edit textarea"), "\nAnd tidy up."))
	b.see(open+" .edit .diff", "And tidy up.")
	b.looks("plan-edit")
	b.do(phone)
	b.decide("button.allow", "Allowed")
	got := decided(t, h.wait())
	if got["updatedInput"].(map[string]any)["plan"] != plan+"\nAnd tidy up." {
		t.Errorf("plan: %v", got["updatedInput"])
	}
	if u := got["updatedPermissions"].([]any)[0].(map[string]any); u["type"] != "setMode" || u["mode"] != "acceptEdits" {
		t.Errorf("mode: %v", u)
	}
	b.quiet()
}
