package claude

import (
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

func TestClaudeIsAllowedByARule(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.SetRules(rig.ClaudeRules)
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	res := a.Result(run) // nobody is there to answer
	if res.Exit != 0 || len(res.Denials) != 0 || !strings.Contains(res.Text, modelserver.Done) {
		t.Errorf("result %+v", res)
	}
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	rs := a.Settled()
	if len(rs) != 1 || rs[0].Outcome != "allowed" || rs[0].DecidedBy == nil || rs[0].DecidedBy.Kind != "rule" ||
		rs[0].DecidedBy.Name != "touch-here" || rs[0].DecidedBy.File != a.RulesFile() {
		t.Fatalf("requests %+v", rs)
	}
	a.Until(rs[0].ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	if s := rig.Steps(a.Trace(rs[0].ID)); s != "asked decided delivered confirmed" {
		t.Errorf("steps: %s", s)
	}
}

func TestClaudesModelReadsARulesWords(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.SetRules(rig.ClaudeRules)
	run := a.Headless([]modelserver.Use{rig.Run("curl https://example.com/x.tgz -o " + a.Path("out.txt"))})
	a.Result(run)
	const words = `Do not fetch: use the copy in vendor/, please. "It" is <complete>.`
	if res := a.Model.Results(); len(res) != 1 || res[0].Content != words {
		t.Errorf("the model read %+v, want %q", res, words)
	}
	if a.Exists("out.txt") {
		t.Error("the denied command ran")
	}
	if rs := a.Settled(); len(rs) != 1 || rs[0].Outcome != "denied" || rs[0].DecidedBy == nil || rs[0].DecidedBy.Name != "no-curl" {
		t.Errorf("requests %+v", rs)
	}
}

func TestClaudeIsAskedAboutTheRestOfALine(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.SetRules(rig.ClaudeRules)
	keep := a.Touch("keep.txt")
	rm := rig.Run("git status; rm -rf ~")
	r := a.Headless([]modelserver.Use{keep}, []modelserver.Use{rm})
	q := a.WaitPending(1)[0]
	if !strings.Contains(string(q.ToolInput), "git status; rm -rf ~") {
		t.Errorf("what waits is %s", q.ToolInput)
	}
	a.Deny(q, "no, thank you")
	a.Result(r)
	if res := a.Model.Results(); len(res) != 2 || res[1].Content != "no, thank you" {
		t.Errorf("the model read %+v", res)
	}
	if !a.Exists("keep.txt") {
		t.Error("something of the home is gone")
	}
}

func TestClaudeInATerminalIsAllowedByARule(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.SetRules(rig.ClaudeRules)
	a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	if res := a.ModelDone(); len(res) != 1 || res[0].IsError {
		t.Errorf("the model read %+v", res)
	}
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	if rs := a.Settled(); len(rs) != 1 || rs[0].DecidedBy == nil || rs[0].DecidedBy.Kind != "rule" {
		t.Errorf("requests %+v", rs)
	}
}

func TestClaudeIsRemembered(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	again := a.Touch("out.txt")
	r := a.Headless([]modelserver.Use{again}, []modelserver.Use{again}, []modelserver.Use{a.Touch("other.txt")})
	first := a.WaitPending(1)[0]
	if out := a.Command("allow", first.ID, "--times", "5"); !strings.Contains(out, "Saved grant-") {
		t.Errorf("assent allow:\n%s", out)
	}
	a.Until(first.ID, "over", func(q rig.Request) bool { return q.State == "ended" })
	other := a.WaitPending(1)[0] // the second of the three was answered by the grant
	if !strings.Contains(string(other.ToolInput), "other.txt") {
		t.Errorf("what waits is %s", other.ToolInput)
	}
	a.Deny(other, "no")
	a.Result(r)
	rs := a.Settled()
	if len(rs) != 3 || rs[1].DecidedBy == nil || rs[1].DecidedBy.Kind != "rule" || !strings.HasPrefix(rs[1].DecidedBy.Name, "grant-") || !a.Exists("out.txt") || a.Exists("other.txt") {
		t.Errorf("requests %+v", rs)
	}
	if x := a.Grants()[0]; x.Spent != 1 {
		t.Errorf("the grant %+v", x)
	}
}
