package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// A request comes with what was asked of the agent and what the agent said before it: the model says
// "Working." before each call. The client writes its transcript when it gets to that: what it said before
// the first call may not be there yet when that asks, and then the request says so.
func TestClaudeTellsWhatItSaid(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	if dir := os.Getenv("DUMP"); dir != "" {
		t.Cleanup(func() { os.CopyFS(dir, os.DirFS(filepath.Join(a.Config.Home(), ".claude/projects"))) })
	}
	// The hook gives the transcript a few milliseconds, which a busy machine may not have: then it says so, and
	// the next call shows it.
	turns := make([][]modelserver.Use, 15)
	for i := range turns {
		turns[i] = []modelserver.Use{a.Touch(fmt.Sprintf("%d.txt", i))}
	}
	a.Headless(turns...)
	first := a.WaitPending(1)[0]
	var early struct{ Context hook.Context }
	if a.Get("/v1/requests/"+first.ID, &early); (early.Context.Said == "") == (early.Context.SaidWhy == "") {
		t.Errorf("of the first call: %+v", early.Context)
	}
	before := first
	var c hook.Context
	for range turns[1:] {
		a.Allow(before)
		a.Until(before.ID, "over", func(r rig.Request) bool { return r.State == "ended" })
		before = a.WaitPending(1)[0]
		var doc struct{ Context hook.Context }
		a.Get("/v1/requests/"+before.ID, &doc)
		if c = doc.Context; c.SaidWhy != hook.SaidLate {
			break
		}
	}
	if c.Said != "Working." || c.SaidBy != hook.SaidByAgent || c.SaidWhy != "" {
		t.Errorf("said: %+v", c)
	}
	if c.Prompt == "" || c.PromptFrom != hook.PromptProgram || c.PromptAt.IsZero() {
		t.Errorf("prompt: %+v", c)
	}
}
