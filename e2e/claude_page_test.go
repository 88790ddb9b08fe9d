package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/modelserver"
)

// mcpServer is a server of the Model Context Protocol with one tool, in Python's standard library.
const mcpServer = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "lab", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "echo", "description": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": "echo: " + m["params"]["arguments"]["text"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// TestClaudeIsAnsweredFromThePage: the real client asks for each kind of thing, and everything is
// answered with a finger on the page.
func TestClaudeIsAnsweredFromThePage(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	a := newAgent(t)
	b := newBrowser(t)
	b.pair(a.daemon)
	a.withMCP()
	option := func(label string) map[string]any { return map[string]any{"label": label, "description": "d"} }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(a.config.Work(), 0o700))
	must(os.WriteFile(a.path("old.txt"), []byte("one\ntwo\n"), 0o600))
	// In several prompts: one that is much longer is folded by the client's own input line.
	read := 0
	more := func(n int) {
		t.Helper()
		read += n
		eventually(t, soon, "the model reads the results", func() bool { return len(a.model.Results()) >= read })
	}
	term := a.terminal(
		[]modelserver.Use{a.touch("out.txt")},
		[]modelserver.Use{{Name: "Read", Input: map[string]any{"file_path": a.path("old.txt")}}},
		[]modelserver.Use{{Name: "Edit", Input: map[string]any{"file_path": a.path("old.txt"), "old_string": "two", "new_string": "three"}}},
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": a.path("new.txt"), "content": "written\n"}}},
	)
	answer := func(sees string, before ...string) {
		t.Helper()
		b.see(open, sees)
		for _, selector := range before {
			b.tap(open + " " + selector)
		}
		b.tap(open + " button.allow")
		b.see(over+" .outcome", "Allowed")
	}
	answer("touch " + a.path("out.txt"))
	b.see(open+" .diff .comes", "three")
	answer("Edit 1 line in old.txt")
	answer("The whole file becomes")
	more(4)

	a.prompt(term,
		[]modelserver.Use{{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{
			map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{option("Red"), option("Blue")}},
			map[string]any{"question": "Which toppings?", "header": "Toppings", "multiSelect": true, "options": []any{option("Salt"), option("Basil")}},
		}}}},
		[]modelserver.Use{{Name: "mcp__lab__echo", Input: map[string]any{"text": "hello"}}},
	)
	answer("Which toppings?", "fieldset:nth-child(1) .option:nth-of-type(2)", "fieldset:nth-child(2) .option:nth-of-type(1)", "fieldset:nth-child(2) .option:nth-of-type(2)")
	b.see(open+" .mcp", "lab")
	answer("echo")
	more(2)

	results := a.model.Results()
	text := func(i int) string { return results[i].Content }
	if len(results) != 6 {
		t.Fatalf("the model read %+v", results)
	}
	for i, want := range map[int]string{4: "Blue", 5: "echo: hello"} {
		if !strings.Contains(text(i), want) {
			t.Errorf("result %d is %q, want %q in it", i, text(i), want)
		}
	}
	if got, _ := os.ReadFile(a.path("old.txt")); string(got) != "one\nthree\n" {
		t.Errorf("the file holds %q", got)
	}
	if !a.exists("out.txt") || !a.exists("new.txt") {
		t.Error("what was allowed did not happen")
	}
	for _, r := range a.settled() {
		if r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
			t.Errorf("%s was decided by %+v", r.ToolName, r.DecidedBy)
		}
	}
	b.quiet()
}

// TestClaudePlanIsEditedOnThePage: the model reads the plan as it was changed.
func TestClaudePlanIsEditedOnThePage(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.config.Mode = "plan"
	b := newBrowser(t)
	b.pair(a.daemon)
	const plan = "# Plan\n1. do it\n"
	a.terminal(
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": "{{planFile}}", "content": plan}}},
		[]modelserver.Use{{Name: "ExitPlanMode", Input: map[string]any{"plan": plan}}},
	)
	b.see(open+" .markdown h4", "Plan")
	b.tap(open + " .then label:nth-child(2)")
	b.tap(open + " button.third")
	b.tap(open + ` [data-mode="edit"]`)
	b.do(chromedp.SendKeys(chromedp.CSS(open+" .edit textarea"), "2. test it"))
	b.tap(open + " button.allow")
	res := a.modelDone()
	if last := res[len(res)-1]; last.IsError || !strings.Contains(last.Content, "2. test it") {
		t.Errorf("the model read %+v", res)
	}
	b.quiet()
}

// withMCP gives the client a server of its own.
func (a *agent) withMCP() {
	a.t.Helper()
	script := filepath.Join(a.config.Dir, "mcp.py")
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lab": map[string]any{"command": "python3", "args": []string{script}}}})
	if err != nil {
		a.t.Fatal(err)
	}
	path := filepath.Join(a.config.Dir, "mcp.json")
	if err := os.WriteFile(script, []byte(mcpServer), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, servers, 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.config.Args = append(a.config.Args, "--mcp-config", path)
}
