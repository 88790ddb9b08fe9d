package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// answers leads to each way of answering a request beyond yes and no, by its data-mode.
var otherAnswers = []string{"words", "edit", "always", "rule", "stop"}

// TestCardOfEverySample: each sample that simulate knows, before axe.
func TestCardOfEverySample(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	b.rest()
	for _, kind := range []string{"bash", "edit", "write", "question", "plan", "mcp", "hostile"} {
		h := d.simulate(kind)
		d.waitPending(1)
		b.do(chromedp.WaitVisible(chromedp.CSS(open + " h3")))
		b.accessible("sample-" + kind)
		b.tap(open + " button.deny")
		h.wait()
		b.see(over+" .outcome", "Denied")
		b.gone()
	}
	b.quiet()
}

// TestCardOfEveryOtherKind: what no sample has, and each way to answer, before axe.
func TestCardOfEveryOtherKind(t *testing.T) {
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
		if look == nil {
			b.accessible("kind-" + name)
		} else {
			look()
		}
		b.tap(open + " button.deny")
		h.wait()
		b.see(over+" .outcome", "Denied")
		b.gone()
	}
	suggestions := map[string]any{"agent_id": "a1", "agent_type": "reviewer", "permission_suggestions": []map[string]any{
		{"type": "addRules", "rules": []map[string]any{{"toolName": "Bash", "ruleContent": "npm test:*"}}, "behavior": "allow", "destination": "localSettings"},
		{"type": "setMode", "mode": "acceptEdits", "destination": "session"},
		{"type": "addDirectories", "directories": []string{"/home/dev/shop"}, "destination": "session"},
	}}
	show("command", permission("Bash", map[string]any{
		"command":     "cd web && NODE_ENV=test timeout 60 npm test -- --run \"$SUITE\" > /tmp/out.log; bash -c 'git push origin main'; eval \"$(cat x)\"",
		"description": "Run the tests and push", "timeout": 120000, "run_in_background": true,
	}, suggestions), func() {
		b.accessible("kind-command")
		b.tap(open + " button.third")
		for _, mode := range otherAnswers {
			b.tap(open + ` [data-mode="` + mode + `"]`)
			if mode == "rule" {
				eventually(t, soon, "rules are proposed", func() bool { return !strings.Contains(b.text(open+" .others"), "Asking the broker") })
			}
			b.accessible("answer-" + mode)
		}
	})
	show("multiedit", permission("MultiEdit", map[string]any{"file_path": "/a/main.go", "edits": []map[string]any{
		{"old_string": "a := 1", "new_string": "a := 2"}, {"old_string": "b", "new_string": "b\n\n\n\n\n\n\n\nc", "replace_all": true},
	}}, nil), nil)
	show("fetch", permission("WebFetch", map[string]any{"url": "https://github.com@evil.example/login?x=1", "prompt": "sum up"}, nil), nil)
	show("arguments", permission("mcp__github__create_issue", map[string]any{
		"owner": "acme", "title": "Checkout fails", "labels": []string{"bug", "prod"}, "body": map[string]any{"text": "a\u202eb", "deep": map[string]any{"n": 1}},
	}, nil), func() {
		b.tap(open + " details.raw summary")
		b.see(open+" details.raw pre", `"hook_event_name"`)
		b.accessible("kind-arguments")
	})
	show("questions", permission("AskUserQuestion", map[string]any{"questions": []map[string]any{
		{"question": "Which database?", "header": "Store", "options": []map[string]string{{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}}, "multiSelect": false},
		{"question": "Which regions?", "header": "Place", "options": []map[string]string{{"label": "eu", "description": ""}, {"label": "us", "description": ""}}, "multiSelect": true},
	}}, nil), nil)
	show("plan", permission("ExitPlanMode", map[string]any{"plan": "# Mend the checkout\n\n1. Write a **failing** test\n2. Call `retry()` ([why](https://evil.example \"t\"))\n\n<!-- hidden -->\n\n| File | Why |\n|---|---|\n| a.go | it fails |\n\n- [x] done\n- [ ] open\n\n```go\nfunc main() {}\n```\n"}, nil), nil)
	show("uninspectable", []byte(`{"session_id":"s","transcript_path":"/t","cwd":"/home/dev/shop","hook_event_name":"PermissionRequest","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"rm -rf ~","COMMAND":"ls"}}`), nil)
	show("long", bash("s", strings.Repeat("echo a line that is as long as lines are wont to be\n", 60)+"rm -rf ~"), nil)
	b.quiet()
}
