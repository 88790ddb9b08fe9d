package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
	"assent/internal/ci/report"
)

const ciRules = `version: 1
rules:
  - id: make
    action: allow
    match: {command: {program: touch, flags: {only: []}, paths: ["${project}/made"]}}
`

// ciRun runs an agent under assent ci run, with rules alone and no hooks but those of the run.
func ciRun(t *testing.T, c *rig.Coder, step func(command string) coder.Step, args ...string) {
	t.Helper()
	rules, out := filepath.Join(c.Dir, "ci-rules.yaml"), filepath.Join(c.Dir, "report")
	if err := os.WriteFile(rules, []byte(ciRules), 0o600); err != nil {
		t.Fatal(err)
	}
	run := c.Run
	run.Argv = append([]string{rig.Program("assent"), "ci", "run", "--rules", rules, "--report", out, "--timeout", "3s", "--fail-on-deny", "--", run.Argv[0]}, args...)
	c.Model.Script(step("touch "+c.Path("made")), step("touch "+c.Path("other")))
	said, err := run.Headless(c.Ctx)
	if err == nil || !strings.Contains(err.Error(), "86") {
		t.Fatalf("%v\n%s", err, said)
	}
	if !c.Exists("made") || c.Exists("other") {
		t.Errorf("allowed by a rule: %v, by nobody: %v\n%s", c.Exists("made"), c.Exists("other"), said)
	}
	c.ModelReads("No person has seen and refused it")
	b, err := os.ReadFile(out + ".json")
	if err != nil {
		t.Fatal(err)
	}
	rig.Valid(t, "CIReport", b)
	var rep report.Run
	err = json.Unmarshal(b, &rep)
	rep.Problems = slices.DeleteFunc(rep.Problems, func(p report.Problem) bool { return p.Key == "newer-version" }) // as the run was told
	if err != nil || rep.Allowed != 1 || rep.Denied != 1 || len(rep.Problems) != 0 || rep.Agent == "" {
		t.Errorf("%s %v", b, err)
	}
	for _, r := range rep.Requests {
		if r.Verdict == report.Denied && r.By.Kind != report.Timeout {
			t.Errorf("it did not wait for an approver: %+v", r)
		}
	}
	for _, file := range []string{".codex/hooks.json", ".copilot/hooks"} {
		if _, err := os.Stat(filepath.Join(c.Home, file)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if all := c.All(); len(all) > 0 {
		t.Errorf("another broker was asked: %+v", all)
	}
}

func TestCodexCI(t *testing.T) {
	t.Parallel()
	c := codex(t, false)
	c.Assent("uninstall", "codex", "--yes")
	ciRun(t, c, codexRun, "exec", "--skip-git-repo-check", "--approve-for-me", "please run it")
}

func TestCopilotCI(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := copilot(t, false)
	c.Assent("uninstall", "copilot", "--yes")
	ciRun(t, c, copilotRun, "-p", "please run it")
}
