package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// otherAnswers are the ways of answering a request beyond yes, no and a note, by their data-mode.
var otherAnswers = []string{"edit", "always", "stop", "handback"}

// TestCardOfEverySample: each sample that simulate knows, before axe.
func TestCardOfEverySample(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	for _, kind := range []string{"bash", "edit", "write", "question", "plan", "mcp", "hostile"} {
		h := d.Simulate(kind)
		d.WaitPending(1)
		b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + " h3")))
		b.Accessible("sample-" + kind)
		b.Tap(rig.Open + " [data-action=deny]")
		h.Wait()
		b.See(rig.Over+" [data-ui=outcome]", rig.Word("outcome.denied"))
		b.Gone()
	}
	b.Quiet()
}

// TestCardOfEveryOtherKind: what no sample has, and each way to answer, before axe.
func TestCardOfEveryOtherKind(t *testing.T) {
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
		if look == nil {
			b.Accessible("kind-" + name)
		} else {
			look()
		}
		b.Tap(rig.Open + " [data-action=deny]")
		h.Wait()
		b.See(rig.Over+" [data-ui=outcome]", rig.Word("outcome.denied"))
		b.Gone()
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
		b.Accessible("kind-command")
		b.Tap(rig.Open + " [data-action=other]")
		b.Accessible("answer-menu")
		for _, mode := range otherAnswers {
			b.Mode(mode)
			if mode == "always" {
				rig.Eventually(t, rig.Soon, "rules are proposed", func() bool { return !strings.Contains(b.Text(rig.Open+" [data-ui=others]"), "Asking the broker") })
			}
			b.Accessible("answer-" + mode)
		}
		b.Tap(rig.Open + " [data-action=back]") // the last one has no Deny
	})
	show("multiedit", permission("MultiEdit", map[string]any{"file_path": "/a/main.go", "edits": []map[string]any{
		{"old_string": "a := 1", "new_string": "a := 2"}, {"old_string": "b", "new_string": "b\n\n\n\n\n\n\n\nc", "replace_all": true},
	}}, nil), nil)
	show("fetch", permission("WebFetch", map[string]any{"url": "https://github.com@evil.example/login?x=1", "prompt": "sum up"}, nil), nil)
	show("arguments", permission("mcp__github__create_issue", map[string]any{
		"owner": "acme", "title": "Checkout fails", "labels": []string{"bug", "prod"}, "body": map[string]any{"text": "a\u202eb", "deep": map[string]any{"n": 1}},
	}, nil), func() {
		b.Tap(rig.Open + " [data-ui=raw] summary")
		b.See(rig.Open+" [data-ui=raw] pre", `"hook_event_name"`)
		b.Accessible("kind-arguments")
	})
	show("questions", permission("AskUserQuestion", map[string]any{"questions": []map[string]any{
		{"question": "Which database?", "header": "Store", "options": []map[string]string{{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}}, "multiSelect": false},
		{"question": "Which regions?", "header": "Place", "options": []map[string]string{{"label": "eu", "description": ""}, {"label": "us", "description": ""}}, "multiSelect": true},
	}}, nil), nil)
	show("plan", permission("ExitPlanMode", map[string]any{"plan": "# Mend the checkout\n\n1. Write a **failing** test\n2. Call `retry()` ([why](https://evil.example \"t\"))\n\n<!-- hidden -->\n\n| File | Why |\n|---|---|\n| a.go | it fails |\n\n- [x] done\n- [ ] open\n\n```go\nfunc main() {}\n```\n"}, nil), nil)
	show("uninspectable", []byte(`{"session_id":"s","transcript_path":"/t","cwd":"/home/dev/shop","hook_event_name":"PermissionRequest","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"rm -rf ~","COMMAND":"ls"}}`), nil)
	show("long", rig.Bash("s", strings.Repeat("echo a line that is as long as lines are wont to be\n", 60)+"rm -rf ~"), nil)
	b.Quiet()
}
