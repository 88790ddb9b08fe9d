package e2e

import (
	"strings"
	"testing"

	"assent/e2e/modelserver"
)

// The real client, answered by rules.

// claudeRules are the rules of these tests; the agent's work is the project.
const claudeRules = `version: 1
allow: ["Bash(git status)"]
rules:
  - id: touch-here
    action: allow
    match: {command: {program: touch, flags: {only: []}, paths: ["${project}/**"]}}
  - id: no-curl
    action: deny
    message: "Do not fetch: use the copy in vendor/, please. \"It\" is <complete>."
    match: {command: {program: curl}}
`

func TestClaudeIsAllowedByARule(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.setRules(claudeRules)
	run := a.headless([]modelserver.Use{a.touch("out.txt")})
	res := a.result(run) // nobody is there to answer
	if res.Exit != 0 || len(res.Denials) != 0 || !strings.Contains(res.Text, modelserver.Done) {
		t.Errorf("result %+v", res)
	}
	if !a.exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	rs := a.settled()
	if len(rs) != 1 || rs[0].Outcome != "allowed" || rs[0].DecidedBy == nil || rs[0].DecidedBy.Kind != "rule" ||
		rs[0].DecidedBy.Name != "touch-here" || rs[0].DecidedBy.File != a.rulesFile() {
		t.Fatalf("requests %+v", rs)
	}
	a.until(rs[0].ID, "confirmed", func(r request) bool { return r.Delivery == "confirmed" })
	if s := steps(a.trace(rs[0].ID)); s != "asked decided delivered confirmed" {
		t.Errorf("steps: %s", s)
	}
}

func TestClaudesModelReadsARulesWords(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.setRules(claudeRules)
	run := a.headless([]modelserver.Use{run("curl https://example.com/x.tgz -o " + a.path("out.txt"))})
	a.result(run)
	const words = `Do not fetch: use the copy in vendor/, please. "It" is <complete>.`
	if res := a.model.Results(); len(res) != 1 || res[0].Content != words {
		t.Errorf("the model read %+v, want %q", res, words)
	}
	if a.exists("out.txt") {
		t.Error("the denied command ran")
	}
	if rs := a.settled(); len(rs) != 1 || rs[0].Outcome != "denied" || rs[0].DecidedBy == nil || rs[0].DecidedBy.Name != "no-curl" {
		t.Errorf("requests %+v", rs)
	}
}

func TestClaudeIsAskedAboutTheRestOfALine(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.setRules(claudeRules)
	keep := a.touch("keep.txt")
	rm := run("git status; rm -rf ~")
	r := a.headless([]modelserver.Use{keep}, []modelserver.Use{rm})
	q := a.waitPending(1)[0]
	if !strings.Contains(string(q.ToolInput), "git status; rm -rf ~") {
		t.Errorf("what waits is %s", q.ToolInput)
	}
	a.deny(q, "no, thank you")
	a.result(r)
	if res := a.model.Results(); len(res) != 2 || res[1].Content != "no, thank you" {
		t.Errorf("the model read %+v", res)
	}
	if !a.exists("keep.txt") {
		t.Error("something of the home is gone")
	}
}

func TestClaudeInATerminalIsAllowedByARule(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.setRules(claudeRules)
	a.terminal([]modelserver.Use{a.touch("out.txt")})
	if res := a.modelDone(); len(res) != 1 || res[0].IsError {
		t.Errorf("the model read %+v", res)
	}
	if !a.exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	if rs := a.settled(); len(rs) != 1 || rs[0].DecidedBy == nil || rs[0].DecidedBy.Kind != "rule" {
		t.Errorf("requests %+v", rs)
	}
}

func TestClaudeIsRemembered(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	again := a.touch("out.txt")
	r := a.headless([]modelserver.Use{again}, []modelserver.Use{again}, []modelserver.Use{a.touch("other.txt")})
	first := a.waitPending(1)[0]
	if out := a.command("allow", first.ID, "--times", "5"); !strings.Contains(out, "Saved grant-") {
		t.Errorf("assent allow:\n%s", out)
	}
	a.until(first.ID, "over", func(q request) bool { return q.State == "ended" })
	other := a.waitPending(1)[0] // the second of the three was answered by the grant
	if !strings.Contains(string(other.ToolInput), "other.txt") {
		t.Errorf("what waits is %s", other.ToolInput)
	}
	a.deny(other, "no")
	a.result(r)
	rs := a.settled()
	if len(rs) != 3 || rs[1].DecidedBy == nil || rs[1].DecidedBy.Kind != "rule" || !strings.HasPrefix(rs[1].DecidedBy.Name, "grant-") || !a.exists("out.txt") || a.exists("other.txt") {
		t.Errorf("requests %+v", rs)
	}
	if x := a.grants()[0]; x.Spent != 1 {
		t.Errorf("the grant %+v", x)
	}
}
