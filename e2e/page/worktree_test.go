package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/api"
)

// TestPageShowsAWorkTree: what a session of a host has changed is asked of its host when somebody wants to see it:
// the files, and of each what changed, a long one folded. What the host cannot say is said.
func TestPageShowsAWorkTree(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	h, b, _ := hosted(t, d)
	const part = "[data-ui=worktree]"
	answer := func(a api.HostAnswer) {
		t.Helper()
		ask := h.next(api.BrokerAsks)
		if ask.Ask == nil || ask.Ask.What != api.AskDiff || ask.Ask.Agent != "coder" || ask.Ask.Session != hostedSession {
			t.Fatalf("the host is asked %+v", ask)
		}
		h.send(api.HostFrame{Type: api.HostAnswers, ID: ask.ID, Answer: &a})
	}
	b.Tap(part + " summary")
	answer(api.HostAnswer{Status: http.StatusConflict, Detail: "it works in no git repository"})
	b.See(part+" [role=alert]", "it works in no git repository")

	long := &strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(long, "+line %d <b>\n", i)
	}
	b.Tap(part + " [data-action=read-again]")
	answer(api.HostAnswer{Status: http.StatusOK, Diff: &api.AgentDiff{
		Directory: "/srv/shop/.claude/worktrees/assent-7d0a6c3e", Branch: "worktree-assent-7d0a6c3e", Commits: 2,
		Files: []api.AgentChangedFile{{Path: "src/cart.js", Status: "modified", Added: 1, Removed: 1}, {Path: "src/new.js", Status: "added", Added: 200}, {Path: "logo.png", Status: "added", Binary: true}},
		Diff: "diff --git a/src/cart.js b/src/cart.js\n--- a/src/cart.js\n+++ b/src/cart.js\n@@ -7,3 +7,3 @@ function total() {\n let sum = 0;\n-return sum;\n+return sum / 100;\n }\n" +
			"diff --git a/src/new.js b/src/new.js\nnew file mode 100644\n--- /dev/null\n+++ b/src/new.js\n@@ -0,0 +1,200 @@\n" + long.String(),
	}})
	b.See(part, "3 files changed")
	b.See(part, rig.Word("worktree.branch", "worktree-assent-7d0a6c3e"))
	file := func(n int) string { return fmt.Sprintf("%s [data-ui=worktree-file]:nth-of-type(%d)", part, n) }
	b.Tap(file(1) + " summary")
	b.See(file(1)+" [data-ui=diff]", "return sum / 100;")
	b.Tap(file(2) + " summary")
	b.See(file(2)+" [data-ui=diff]", "line 1 <b>")
	if strings.Contains(b.Text(file(2)), "line 199") {
		t.Error("a long file is not folded")
	}
	b.Accessible("worktree")
	b.NothingCut("worktree")
	b.Tap(file(2) + " [data-action=show-all]")
	b.See(file(2)+" [data-ui=diff]", "line 199 <b>")
	b.Tap(file(3) + " summary")
	b.See(file(3), rig.Word("worktree.binary"))
	b.Quiet()
}
