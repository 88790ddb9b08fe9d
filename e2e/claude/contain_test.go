package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// containRules let awk run contained, and what says something beside it. The client asks about awk, for it
// can start programs.
const containRules = `version: 1
rules:
  - id: awk-contained
    action: allow
    contain: read
    match: {command: {program: [awk, echo]}}
`

// containing prepares a session of a machine where commands can run contained, with a file to read.
func containing(t *testing.T, hookArgs ...string) *rig.Agent {
	t.Helper()
	rig.Need(t, "landlock")
	a := rig.NewAgent(t, hookArgs...)
	a.SetRules(containRules)
	conf := filepath.Join(a.Config.Home(), ".config", "assent")
	for _, dir := range []string{conf, a.Config.Work()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(conf, "hook.conf"): "contain = 3 " + rig.Program("assent-contain") + "\n",
		a.Path("a.txt"):                  "one two\nthree four\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// A command that no rule knows runs contained: the model reads what it printed, and what it tried to write
// is not there; the directory is what it was. Asked for again, it is a person's to decide, also by
// another broker on the same record. The record, the feed and the trace say what happened.
func TestClaudeRunsContained(t *testing.T) {
	t.Parallel()
	a := containing(t)
	const command = `awk '{print $2; system("touch made.txt")}' a.txt; awk 'BEGIN{exit 3}'`
	turns := [][]modelserver.Use{{rig.Run("echo start")}, {rig.Run(command)}, {rig.Run("pwd")}, {rig.Run(command)}}
	run := a.Headless(turns...)
	again := a.WaitPending(1)[0]
	if !strings.Contains(string(again.ToolInput), "made.txt") || !strings.Contains(string(again.Verdict), "already") {
		t.Errorf("what is asked again: %+v", again)
	}
	if a.Exists("made.txt") {
		t.Error("the contained command wrote")
	}
	a.Allow(again)
	a.Result(run)
	res := a.Model.Results()
	if len(res) != 4 || !strings.Contains(res[1].Content, "two") || !strings.Contains(res[1].Content, "four") || !strings.Contains(res[1].Content, "Exit code 3") || !res[1].IsError ||
		!strings.Contains(res[1].Content, "touch") || strings.TrimSpace(res[2].Content) != a.Config.Work() {
		t.Errorf("the model read %+v", res)
	}
	if !a.Exists("made.txt") {
		t.Error("what the person allowed was contained")
	}

	var contained rig.Request
	for _, r := range a.Settled() {
		if r.Contained != "" {
			contained = r
		}
	}
	if contained.Contained != hook.ContainRead || contained.Outcome != "allowed" || contained.DecidedBy == nil || contained.DecidedBy.Name != "awk-contained" {
		t.Fatalf("requests %+v", a.Settled())
	}
	var input struct{ Command string }
	if err := json.Unmarshal(contained.ToolInput, &input); err != nil || input.Command != command {
		t.Errorf("it asked for %s (%v)", contained.ToolInput, err)
	}
	a.Until(contained.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	if s := rig.Steps(a.Trace(contained.ID)); s != "asked decided delivered confirmed" {
		t.Errorf("steps: %s", s)
	}
	if said := a.Said("trace", contained.ID); !strings.Contains(said, "contained") {
		t.Errorf("trace says nothing of it:\n%s", said)
	}
	rig.Eventually(t, rig.Soon, "the feed to have it", func() bool {
		said := a.Said("feed", contained.SessionID)
		return strings.Contains(said, "allowed contained by") && strings.Contains(said, "failed") && !strings.Contains(said, "assent-contain")
	})
}

// A read that the kernel refused, and that the command kept to itself, is told to the model. The directory, the
// variables and the options of the session's shell are afterwards what they were before.
func TestClaudeIsToldWhatAContainedCommandCouldNotRead(t *testing.T) {
	t.Parallel()
	a := containing(t)
	for name, text := range map[string]string{
		"sub/.env": "KEY=kept-away\n", "sub/show.awk": `BEGIN { if (system("cat .env")) exit 1 }` + "\n",
	} {
		if err := os.MkdirAll(filepath.Dir(a.Path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Each asks a person: it makes a file.
	const state = `pwd; echo "mark $MARK"; umask; shopt -p | cksum; touch made.txt`
	run := a.Headless([]modelserver.Use{rig.Run("cd sub; MARK=one; export MARK; touch made.txt")}, []modelserver.Use{rig.Run(state)},
		[]modelserver.Use{rig.Run("awk -f show.awk 2>/dev/null || echo none")}, []modelserver.Use{rig.Run(state)})
	for range 3 {
		r := a.WaitPending(1)[0]
		if !strings.Contains(string(r.ToolInput), "made.txt") {
			t.Errorf("a person is asked for %s: %s", r.ToolInput, r.Verdict)
		}
		a.Allow(r)
	}
	a.Result(run)
	res := a.Model.Results()
	if len(res) != 4 {
		t.Fatalf("the model read %+v", res)
	}
	told := res[2].Content
	if !strings.HasPrefix(told, "none\n") || !strings.Contains(told, "assent: it ran contained, and could not read these, which may hold secrets: .env") || strings.Contains(told, "kept-away") || res[2].IsError {
		t.Errorf("of what it could not read the model was told %q", told)
	}
	if before, after := res[1].Content, res[3].Content; before != after || !strings.HasPrefix(before, a.Path("sub")+"\nmark ") {
		t.Errorf("the session's shell was\n%s\nand is\n%s", before, after)
	}
}

// The client's time-out ends all that a contained command started. There are three such commands: of one
// that comes while a busy disk takes no record, a person is asked, who does not answer.
func TestClaudesTimeoutEndsAContainedTree(t *testing.T) {
	t.Parallel()
	a := containing(t, "--timeout", "5s")
	a.Config.Env = append(a.Config.Env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1") // it would go on there
	turns := [][]modelserver.Use{{rig.Run("echo start")}}
	var marks []string
	for i := range 3 {
		mark := fmt.Sprintf("7%d%06d", i, os.Getpid())
		slow := rig.Run(`awk 'BEGIN{system("sleep ` + mark + ` & sleep ` + mark + `")}'`)
		slow.Input.(map[string]any)["timeout"] = 6000
		marks, turns = append(marks, mark), append(turns, []modelserver.Use{slow})
	}
	all := func() (pids int) {
		for _, mark := range marks {
			pids += len(sleeping(t, mark))
		}
		return pids
	}
	run := a.Headless(turns...)
	rig.Eventually(t, rig.Soon, "a command to run", func() bool { return all() == 2 })
	a.Result(run)
	timedOut := 0
	for _, res := range a.Model.Results() {
		if res.IsError && strings.Contains(res.Content, "timed out") {
			timedOut++
		}
	}
	if timedOut == 0 {
		t.Errorf("the model read %+v", a.Model.Results())
	}
	rig.Eventually(t, rig.Soon, "the trees to be gone", func() bool { return all() == 0 })
}

// sleeping are the processes that sleep for so many seconds.
func sleeping(t *testing.T, mark string) (pids []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && string(b) == "sleep\x00"+mark+"\x00" {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}
