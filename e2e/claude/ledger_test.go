package claude

import (
	"os"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// TestClaudeInTheLedger: what the real client writes and edits stands in the ledger.
func TestClaudeInTheLedger(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Stop()
	a.Args = []string{"--ledger"}
	a.Start()
	rig.Must(t, os.MkdirAll(a.Config.Work(), 0o700))
	a.Git(a.Config.Work(), "init", "-q", "-b", "feature/x")
	a.Git(a.Config.Work(), "commit", "-q", "--allow-empty", "-m", "one")
	root, head := a.Git(a.Config.Work(), "rev-parse", "--show-toplevel"), a.Git(a.Config.Work(), "rev-parse", "HEAD")
	file := root + "/notes.md"
	run := a.Headless(
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": file, "content": "one\ntwo\n"}}},
		[]modelserver.Use{{Name: "Edit", Input: map[string]any{"file_path": file, "old_string": "two", "new_string": "2\n3\n4"}}},
		[]modelserver.Use{a.Touch("made")})
	for range 3 {
		r := a.WaitPending(1)[0]
		a.Allow(r)
		a.Until(r.ID, "is over", func(r rig.Request) bool { return r.State == "ended" })
	}
	a.Result(run)
	var rows []rig.LedgerRow
	rig.Eventually(t, rig.Soon, "three calls in the ledger", func() bool {
		rows = nil
		for _, r := range a.LedgerOrNone(root) {
			if r.Hook == "post_tool_use" {
				rows = append(rows, r)
			}
		}
		return len(rows) == 3
	})
	for i, want := range []struct {
		tool, file string
		lines      int
	}{{"write", file, 2}, {"edit", file, 2}, {"bash", "", -1}} {
		r, lines := rows[i], -1
		if r.Lines != nil {
			lines = *r.Lines
		}
		if r.Tool != want.tool || r.File != want.file || lines != want.lines || r.Branch != "feature/x" || r.Head != head || r.Agent != "unknown" || r.Session == "" {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if all := a.Ledger(root, "--hook-type", "pre_tool_use"); len(all) != 3 {
		t.Errorf("%d calls were begun", len(all))
	}
}
