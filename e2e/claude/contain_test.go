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

// containRules let awk run contained. The client asks about it, for it can start programs.
const containRules = `version: 1
rules:
  - id: awk-contained
    action: allow
    contain: read
    match: {command: {program: awk}}
`

// containing prepares a session of a machine where commands can run contained, with a file to read.
func containing(t *testing.T) *rig.Agent {
	t.Helper()
	rig.Need(t, "landlock")
	a := rig.NewAgent(t)
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
		return strings.Contains(said, "Allowed, contained: ") && strings.Contains(said, "Bash (contained) failed") && !strings.Contains(said, "assent-contain")
	})
}

// The client's time-out ends all that a contained command started.
func TestClaudesTimeoutEndsAContainedTree(t *testing.T) {
	t.Parallel()
	a := containing(t)
	a.Config.Env = append(a.Config.Env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1") // it would go on there
	mark := fmt.Sprintf("7%06d", os.Getpid())
	slow := rig.Run(`awk 'BEGIN{system("sleep ` + mark + ` & sleep ` + mark + `")}'`)
	slow.Input.(map[string]any)["timeout"] = 6000
	run := a.Headless([]modelserver.Use{rig.Run("echo start")}, []modelserver.Use{slow})
	rig.Eventually(t, rig.Soon, "the command to run", func() bool { return len(sleeping(t, mark)) == 2 })
	a.Result(run)
	if res := a.Model.Results(); len(res) != 2 || !res[1].IsError || !strings.Contains(res[1].Content, "timed out") {
		t.Errorf("the model read %+v", res)
	}
	rig.Eventually(t, rig.Soon, "the tree to be gone", func() bool { return len(sleeping(t, mark)) == 0 })
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
