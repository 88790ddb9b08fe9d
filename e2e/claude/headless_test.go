package claude

import (
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// `claude -p` has no terminal: assent is the only one who can answer.

func TestClaudeHeadlessAllow(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	a.Allow(r)
	res := a.Result(run)
	if res.Exit != 0 || len(res.Denials) != 0 || !strings.Contains(res.Text, modelserver.Done) {
		t.Errorf("result %+v", res)
	}
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
}

func TestClaudeHeadlessDeny(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	a.Deny(r, "not on a Friday")
	a.Result(run)
	if res := a.Model.Results(); len(res) != 1 || res[0].Content != "not on a Friday" {
		t.Errorf("the model read %+v", res)
	}
	if a.Exists("out.txt") {
		t.Error("the denied command ran")
	}
}

func TestClaudeHeadlessNobodyAnswers(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t, "--timeout", "5s")
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	res := a.Result(run)
	if res.Exit != 0 || len(res.Denials) != 1 || res.Denials[0].Tool != "Bash" {
		t.Errorf("result %+v, want the client's own refusal", res)
	}
	if rs := a.Settled(); len(rs) != 1 || rs[0].Outcome != "expired" {
		t.Errorf("requests %+v", rs)
	}
	if a.Exists("out.txt") {
		t.Error("the command ran though nobody allowed it")
	}
}

func TestClaudeHeadlessNobodyAnswersAndTheHookDenies(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t, "--timeout", "5s", "--on-timeout", "deny")
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	a.Result(run)
	if res := a.Model.Results(); len(res) != 1 || !res[0].IsError || strings.Contains(res[0].Content, "needs approval") {
		t.Errorf("the model read %+v, want assent's denial", res)
	}
	if a.Exists("out.txt") {
		t.Error("the command ran though nobody allowed it")
	}
}
