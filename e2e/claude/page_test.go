package claude

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// TestClaudeIsAnsweredFromThePage: the real client asks for each kind of thing, and everything is
// answered with a finger on the page.
func TestClaudeIsAnsweredFromThePage(t *testing.T) {
	t.Parallel()
	rig.Need(t, "python3")
	a := rig.NewAgent(t)
	b := rig.NewBrowser(t)
	b.Pair(a.Daemon)
	a.WithMCP()
	option := func(label string) map[string]any { return map[string]any{"label": label, "description": "d"} }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(a.Config.Work(), 0o700))
	must(os.WriteFile(a.Path("old.txt"), []byte("one\ntwo\n"), 0o600))
	// In several prompts: one that is much longer is folded by the client's own input line.
	read := 0
	more := func(n int) {
		t.Helper()
		read += n
		rig.Eventually(t, rig.Soon, "the model reads the results", func() bool { return len(a.Model.Results()) >= read })
	}
	term := a.Terminal(
		[]modelserver.Use{a.Touch("out.txt")},
		[]modelserver.Use{{Name: "Read", Input: map[string]any{"file_path": a.Path("old.txt")}}},
		[]modelserver.Use{{Name: "Edit", Input: map[string]any{"file_path": a.Path("old.txt"), "old_string": "two", "new_string": "three"}}},
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": a.Path("new.txt"), "content": "written\n"}}},
	)
	outcome := "Allowed"
	answer := func(sees string, chosen ...string) {
		t.Helper()
		b.See(rig.Open, sees)
		for _, selector := range chosen {
			b.Choose(rig.Open+" "+selector, true)
		}
		b.Decide("[data-action=allow]", outcome)
	}
	const first, second = "[data-ui=suggestion][data-kind=agent]:nth-of-type(1) [data-ui=option]", "[data-ui=suggestion][data-kind=agent]:nth-of-type(2) [data-ui=option]"
	always := func(sees string) {
		t.Helper()
		b.See(rig.Open, sees)
		b.Mode("always")
		b.See(rig.Open+" "+first, "Let the agent work in")
		b.See(rig.Open+" "+second, "Accept every edit of files")
	}
	answer("touch " + a.Path("out.txt"))
	b.See(rig.Open+" [data-ui=diff] [data-sign='+']", "three")
	answer("old.txt")
	answer(rig.Word("diff.newFile"))
	more(4)

	a.Prompt(term,
		[]modelserver.Use{{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{
			map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{option("Red"), option("Blue")}},
			map[string]any{"question": "Which toppings?", "header": "Toppings", "multiSelect": true, "options": []any{option("Salt"), option("Basil")}},
		}}}},
		[]modelserver.Use{{Name: "mcp__lab__echo", Input: map[string]any{"text": "hello"}}},
	)
	outcome = "Answered"
	answer("Which toppings?", "fieldset:nth-child(1) [data-ui=option]:nth-of-type(2)", "fieldset:nth-child(2) [data-ui=option]:nth-of-type(1)", "fieldset:nth-child(2) [data-ui=option]:nth-of-type(2)")
	outcome = "Allowed"
	b.See(rig.Open+" [data-ui=mcp]", "lab")
	answer("echo")
	more(2)

	// The agent suggests two things at once: a directory to work in, and to accept edits there. The
	// first alone changes nothing for a command, which is why the second call asks again.
	denied := rig.Run("python3 -c \"open('" + a.Path("denied.txt") + "', 'w')\"")
	a.Prompt(term, []modelserver.Use{a.Touch("one.txt")}, []modelserver.Use{a.Touch("two.txt")})
	always("one.txt")
	b.Choose(rig.Open+" "+first, true)
	b.Choose(rig.Open+" "+second, false)
	answer("one.txt")
	always("two.txt")
	answer("two.txt", first, second)
	more(2)
	a.Prompt(term, []modelserver.Use{a.Touch("three.txt")}, []modelserver.Use{denied})
	b.See(rig.Open, "denied.txt") // the touch before it passed unasked
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=note]"), "no more files"))
	b.Decide("[data-action=deny]", "Denied")
	more(2)

	results := a.Model.Results()
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
	if got, err := os.ReadFile(a.Path("old.txt")); err != nil || string(got) != "one\nthree\n" {
		t.Errorf("the edited file holds %q (%v)", got, err)
	}
	if got, err := os.ReadFile(a.Path("new.txt")); err != nil || string(got) != "written\n" {
		t.Errorf("the written file holds %q (%v)", got, err)
	}
	for _, name := range []string{"out.txt", "one.txt", "two.txt", "three.txt"} {
		if !a.Exists(name) {
			t.Errorf("%s was allowed and did not happen", name)
		}
	}
	if a.Exists("denied.txt") {
		t.Error("what was denied happened")
	}
	if n := len(a.Settled()); n != 8 {
		t.Errorf("%d requests, want one for each call but the two that need none", n)
	}
	for _, r := range a.Settled() {
		if r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
			t.Errorf("%s was decided by %+v", r.ToolName, r.DecidedBy)
		}
	}
	b.Quiet()
}

// TestClaudePlanIsEditedOnThePage: the model reads the plan as it was changed.
func TestClaudePlanIsEditedOnThePage(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Config.Mode = "plan"
	b := rig.NewBrowser(t)
	b.Pair(a.Daemon)
	const plan = "# Plan\n1. do it\n"
	a.Terminal(
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": "{{planFile}}", "content": plan}}},
		[]modelserver.Use{{Name: "ExitPlanMode", Input: map[string]any{"plan": plan}}},
	)
	b.See(rig.Open+" [data-ui=markdown] h4", "Plan")
	b.Tap(rig.Open + " [data-ui=then] label:last-of-type")
	b.Mode("edit")
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=edit] textarea"), "2. test it"))
	b.Tap(rig.Open + " [data-action=allow]")
	res := a.ModelDone()
	if last := res[len(res)-1]; last.IsError || !strings.Contains(last.Content, "2. test it") {
		t.Errorf("the model read %+v", res)
	}
	b.Quiet()
}
