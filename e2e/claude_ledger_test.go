package e2e

import (
	"os"
	"testing"

	"assent/e2e/modelserver"
)

// TestClaudeInTheLedger: what the real client writes and edits stands in the ledger.
func TestClaudeInTheLedger(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.stop()
	a.args = []string{"--ledger"}
	a.start()
	must(t, os.MkdirAll(a.config.Work(), 0o700))
	a.git(a.config.Work(), "init", "-q", "-b", "feature/x")
	a.git(a.config.Work(), "commit", "-q", "--allow-empty", "-m", "one")
	root, head := a.git(a.config.Work(), "rev-parse", "--show-toplevel"), a.git(a.config.Work(), "rev-parse", "HEAD")
	file := root + "/notes.md"
	run := a.headless(
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": file, "content": "one\ntwo\n"}}},
		[]modelserver.Use{{Name: "Edit", Input: map[string]any{"file_path": file, "old_string": "two", "new_string": "2\n3\n4"}}},
		[]modelserver.Use{a.touch("made")})
	for range 3 {
		r := a.waitPending(1)[0]
		a.allow(r)
		a.until(r.ID, "is over", func(r request) bool { return r.State == "ended" })
	}
	a.result(run)
	var rows []ledgerRow
	eventually(t, soon, "three calls in the ledger", func() bool {
		rows = nil
		for _, r := range a.ledgerOrNone(root) {
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
	if all := a.ledger(root, "--hook-type", "pre_tool_use"); len(all) != 3 {
		t.Errorf("%d calls were begun", len(all))
	}
}
