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

// mcpServer is a server of the Model Context Protocol in Python's standard library: one tool that
// repeats a text, and one that asks the person what its argument says, and repeats the answer.
const mcpServer = `import json, sys
def say(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
asked = None
for line in sys.stdin:
    m = json.loads(line)
    if "method" not in m:
        say({"id": asked, "result": {"content": [{"type": "text", "text": "answer: " + json.dumps(m.get("result"), sort_keys=True)}]}})
        continue
    if "id" not in m:
        continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "lab", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "echo", "description": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
            {"name": "ask", "description": "ask", "inputSchema": {"type": "object", "properties": {"params": {"type": "object"}}}}]}
    elif m["method"] == "tools/call" and m["params"]["name"] == "ask":
        asked = m["id"]
        say({"id": "form-" + str(asked), "method": "elicitation/create", "params": m["params"]["arguments"]["params"]})
        continue
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": "echo: " + m["params"]["arguments"]["text"]}]}
    say({"id": m["id"], "result": r})
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
	outcome := "Allowed"
	answer := func(sees string, chosen ...string) {
		t.Helper()
		b.see(open, sees)
		for _, selector := range chosen {
			b.choose(open+" "+selector, true)
		}
		b.decide("button.allow", outcome)
	}
	const first, second = ".suggestion:nth-of-type(1) .option", ".suggestion:nth-of-type(2) .option"
	always := func(sees string) {
		t.Helper()
		b.see(open, sees)
		b.mode("always")
		b.see(open+" "+first, "Let the agent work in")
		b.see(open+" "+second, "Accept every edit of files")
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
	outcome = "Answered"
	answer("Which toppings?", "fieldset:nth-child(1) .option:nth-of-type(2)", "fieldset:nth-child(2) .option:nth-of-type(1)", "fieldset:nth-child(2) .option:nth-of-type(2)")
	outcome = "Allowed"
	b.see(open+" .mcp", "lab")
	answer("echo")
	more(2)

	// The agent suggests two things at once: a directory to work in, and to accept edits there. The
	// first alone changes nothing for a command, which is why the second call asks again.
	denied := run("python3 -c \"open('" + a.path("denied.txt") + "', 'w')\"")
	a.prompt(term, []modelserver.Use{a.touch("one.txt")}, []modelserver.Use{a.touch("two.txt")})
	always("one.txt")
	b.choose(open+" "+first, true)
	b.choose(open+" "+second, false)
	answer("one.txt")
	always("two.txt")
	answer("two.txt", first, second)
	more(2)
	a.prompt(term, []modelserver.Use{a.touch("three.txt")}, []modelserver.Use{denied})
	b.see(open, "denied.txt") // the touch before it passed unasked
	b.mode("words")
	b.do(chromedp.SendKeys(chromedp.CSS(open+" textarea"), "no more files"))
	b.decide("button.deny", "Denied")
	more(2)

	results := a.model.Results()
	if len(results) != 10 {
		t.Fatalf("the model read %+v", results)
	}
	for i, want := range map[int]string{4: `"Which colour?"="Blue", "Which toppings?"="Salt, Basil"`, 5: "echo: hello"} {
		if !strings.Contains(results[i].Content, want) {
			t.Errorf("result %d is %q, want %q in it", i, results[i].Content, want)
		}
	}
	for i, r := range results[:9] {
		if r.IsError {
			t.Errorf("result %d of what was allowed is an error: %+v", i, r)
		}
	}
	if last := results[9]; last.Content != "no more files" {
		t.Errorf("the model read %+v, want the words of the denial", last)
	}
	if got, err := os.ReadFile(a.path("old.txt")); err != nil || string(got) != "one\nthree\n" {
		t.Errorf("the edited file holds %q (%v)", got, err)
	}
	if got, err := os.ReadFile(a.path("new.txt")); err != nil || string(got) != "written\n" {
		t.Errorf("the written file holds %q (%v)", got, err)
	}
	for _, name := range []string{"out.txt", "one.txt", "two.txt", "three.txt"} {
		if !a.exists(name) {
			t.Errorf("%s was allowed and did not happen", name)
		}
	}
	if a.exists("denied.txt") {
		t.Error("what was denied happened")
	}
	if n := len(a.settled()); n != 8 {
		t.Errorf("%d requests, want one for each call but the two that need none", n)
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

// mode opens one of a card's other answers, likewise.
func (b *browser) mode(name string) {
	b.t.Helper()
	chip := open + ` [data-mode="` + name + `"]`
	eventually(b.t, soon, "the other answer "+name, func() bool {
		switch {
		case b.has(chip + `[aria-pressed="true"]`):
			return true
		case b.has(chip):
			b.tap(chip)
		default:
			b.tap(open + " button.third")
		}
		return false
	})
}

// choose taps an option until it is chosen, or is not: under a hasty finger it may have moved.
func (b *browser) choose(option string, yes bool) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(option)))
	eventually(b.t, soon, option+" is as wanted", func() bool {
		if b.has(option+" input:checked") == yes {
			return true
		}
		b.tap(option)
		return false
	})
}

// decide taps a button of the first card that waits until the card says what became of it: a tap
// on a card that has just moved, or of which something was not on the screen yet, does nothing, and
// then a person looks and taps again. The card stays meanwhile.
func (b *browser) decide(button, outcome string) {
	b.t.Helper()
	b.rest()
	var id string
	eventually(b.t, soon, "a card waits", func() bool {
		id = value(b, chromedp.Evaluate[string](`document.querySelector(`+jsString(open)+`)?.dataset.request ?? ""`))
		return id != ""
	})
	card := `.card[data-request="` + id + `"]`
	eventually(b.t, soon, outcome+" on the card", func() bool {
		if strings.Contains(b.text(card+" .outcome"), outcome) {
			return true
		}
		if !value(b, chromedp.Evaluate[bool](lookThere(card), chromedp.EvalAwaitPromise)) {
			b.touch(card + " " + button)
		}
		return false
	})
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
