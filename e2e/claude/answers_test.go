package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// What assent answers reaches the real client and has the promised effect there.

func TestClaudeAllowRunsTheTool(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	if r.ToolName != "Bash" || r.SessionID == "" || r.AgentID != "" {
		t.Errorf("request %+v", r)
	}
	a.Dialog(term)
	if a.Exists("out.txt") {
		t.Fatal("the tool ran before anybody answered")
	}
	a.Allow(r)
	if res := a.ModelDone(); len(res) != 1 || res[0].IsError {
		t.Errorf("the model read %+v", res)
	}
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	a.Until(r.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	if s := rig.Steps(a.Trace(r.ID)); s != "asked decided delivered confirmed" {
		t.Errorf("steps: %s", s)
	}
}

func TestClaudeDenyTellsTheModelExactlyTheWords(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	words := "not on a Friday: \"wait\" for Ⓜonday\nand <ask> again\tplease \\o/"
	r := a.WaitPending(1)[0]
	a.Deny(r, words)
	res := a.ModelDone()
	if len(res) != 1 || res[0].Content != words {
		t.Errorf("the model read %+v, want %q", res, words)
	}
	if a.Exists("out.txt") {
		t.Error("the denied command ran")
	}
	a.Until(r.ID, "delivered", func(r rig.Request) bool { return r.Delivery == "delivered" })
	if s := rig.Steps(a.Trace(r.ID)); s != "asked decided delivered" {
		t.Errorf("steps: %s", s)
	}
}

func TestClaudeParallelRequestsAreAnsweredApart(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	fetch := func(url string) modelserver.Use {
		return modelserver.Use{Name: "WebFetch", Input: map[string]any{"url": url, "prompt": "Summarise"}}
	}
	a.Terminal([]modelserver.Use{fetch("https://example.com/a"), fetch("https://example.org/b")})
	rs := a.WaitPending(2)
	if rs[0].SessionID != rs[1].SessionID || rs[0].ID == rs[1].ID {
		t.Errorf("requests %+v", rs)
	}
	for _, r := range rs {
		if strings.Contains(string(r.ToolInput), "example.org") {
			a.Deny(r, "not this one")
		} else {
			a.Allow(r)
		}
	}
	res := a.ModelDone()
	if len(res) != 2 || (res[0].Content == "not this one") == (res[1].Content == "not this one") {
		t.Errorf("the model read %+v", res)
	}
	// The allowed one went as far as a test without a network lets it.
	if out := strings.Join(a.Model.Refused(), " "); !strings.Contains(out, "example.com") || strings.Contains(out, "example.org") {
		t.Errorf("the client wanted to reach %q", out)
	}
}

func TestClaudeSubagentsRequestNamesIt(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Terminal([]modelserver.Use{{Name: "Agent", Input: map[string]any{
		"description": "Sub task", "subagent_type": "general-purpose",
		"prompt": modelserver.Prompt([]modelserver.Use{rig.Run("touch sub.txt")}, []modelserver.Use{rig.Run("touch sub2.txt")},
			[]modelserver.Use{rig.Run("touch sub3.txt")}), // short: the client folds what is long, as pasted
	}}})
	// The client may not have written down what was said before a call when that asks, and a hook does not
	// wait for a transcript that comes late. So the words are looked for in each of its requests.
	var c hook.Context
	for i := 0; i < 3 && c.Said == ""; i++ {
		r := a.WaitPending(1)[0]
		if r.AgentID == "" || r.AgentType != "general-purpose" {
			t.Errorf("request %+v", r)
		}
		var doc struct{ Context hook.Context }
		a.Get("/v1/requests/"+r.ID, &doc)
		c = doc.Context
		a.Allow(r)
		a.Until(r.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	}
	if c.Said != "Working." || c.SaidBy != hook.SaidBySubagent || c.PromptFrom != hook.PromptYou {
		t.Errorf("its words are not the subagent's: %+v", c)
	}
	if !a.Exists("sub.txt") {
		t.Error("the subagent's command did not run")
	}
}

func TestClaudeQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	option := func(label string) map[string]any { return map[string]any{"label": label, "description": "d"} }
	a.Terminal([]modelserver.Use{{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{
		map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{option("Red"), option("Blue")}},
		map[string]any{"question": "Which toppings?", "header": "Toppings", "multiSelect": true, "options": []any{option("Salt"), option("Basil")}},
	}}}})
	r := a.WaitPending(1)[0]
	status, body, err := a.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256})
	if err != nil || status != 400 || !strings.Contains(string(body), "updatedInput") {
		t.Errorf("a plain allow of a question, which the client ignores: %d %s %v; want 400 naming updatedInput", status, body, err)
	}
	var input map[string]any
	if err := json.Unmarshal(r.ToolInput, &input); err != nil {
		t.Fatal(err)
	}
	input["answers"] = map[string]string{"Which colour?": "Blue", "Which toppings?": "Salt, Basil"}
	a.Decide(r, rig.Decision{Behavior: "allow", UpdatedInput: rig.Object(t, input)})
	res := a.ModelDone()
	if len(res) != 1 || res[0].IsError || !strings.Contains(res[0].Content, "Blue") || !strings.Contains(res[0].Content, "Salt, Basil") {
		t.Errorf("the model read %+v", res)
	}
	a.Until(r.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
}

func TestClaudePlanIsApproved(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Config.Mode = "plan"
	const plan = "# Plan\n1. do it\n"
	a.Terminal(
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": "{{planFile}}", "content": plan}}},
		[]modelserver.Use{{Name: "ExitPlanMode", Input: map[string]any{"plan": plan}}},
	)
	r := a.WaitPending(1)[0]
	if r.ToolName != "ExitPlanMode" {
		t.Fatalf("request for %s", r.ToolName)
	}
	a.Allow(r)
	res := a.ModelDone()
	if last := res[len(res)-1]; last.IsError || !strings.Contains(strings.ToLower(last.Content), "approved") {
		t.Errorf("the model read %+v", res)
	}
}

func TestClaudeAlwaysAllowPassesTheSecondCallUnasked(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Terminal([]modelserver.Use{a.Touch("one.txt")}, []modelserver.Use{a.Touch("one.txt")})
	r := a.WaitPending(1)[0]
	if len(r.Suggestions) == 0 {
		t.Fatal("the client suggested nothing to keep")
	}
	a.Decide(r, rig.Decision{Behavior: "allow", UpdatedPermissions: r.Suggestions})
	res := a.ModelDone()
	if len(res) != 2 || res[0].IsError || res[1].IsError {
		t.Errorf("the model read %+v", res)
	}
	if all := append(a.Settled(), a.Pending()...); len(all) != 1 {
		t.Errorf("%d requests, want the first alone", len(all))
	}
}

func TestClaudeWaitsThroughARestartOfTheBroker(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	before := a.WaitPending(1)[0]
	a.Dialog(term)
	a.Kill()
	a.Start()
	r := a.Until(before.ID, "attached again", func(r rig.Request) bool { return !r.Detached })
	if r.State != "pending" || !r.CreatedAt.Equal(before.CreatedAt) || r.InputSHA256 != before.InputSHA256 {
		t.Errorf("after the restart %+v, before it %+v", r, before)
	}
	a.Allow(r)
	a.ModelDone()
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
}
