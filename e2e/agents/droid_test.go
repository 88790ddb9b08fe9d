package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

func droidRun(command string) coder.Step {
	return coder.Step{Calls: []coder.Call{{Tool: "Execute", Args: map[string]any{
		"command": command, "timeout": 30, "riskLevel": "medium", "riskLevelReason": "creates a file", "summary": "make a file",
	}, Force: true}}}
}

// droid prepares a Droid whose hooks assent install wrote. Its terminal wants an account, so it is run without.
func droid(t *testing.T, somebody bool, serve ...string) *rig.Coder {
	t.Helper()
	c := rig.NewCoder(t, "droid", somebody, serve...)
	c.Write(".factory/settings.json", fmt.Sprintf(`{
  "customModels": [{"model": "mock-model", "id": "custom:mock", "displayName": "mock", "baseUrl": "%s/v1", "apiKey": "dummy", "provider": "generic-chat-completion-api", "maxOutputTokens": 8000}],
  "model": "custom:mock"
}
`, c.Model.URL()))
	c.Assent("install", "droid", "--yes", "--socket", c.Socket)
	return c
}

// exec has Droid make these calls, in the autonomy level in which it runs them unless a hook denies.
func droidExec(c *rig.Coder, steps ...coder.Step) (ended <-chan string) {
	c.T.Helper()
	c.Model.Script(steps...)
	run := c.Run
	run.Argv = append(append([]string(nil), run.Argv...), "exec", "-m", "custom:mock", "--auto", "high", "please run it")
	done := make(chan string, 1)
	go func() {
		out, err := run.Headless(c.Ctx)
		done <- fmt.Sprint(out, err)
	}()
	return done
}

// Its hook decides, in its own words; reading asks nobody.
func TestDroid(t *testing.T) {
	t.Parallel()
	c := droid(t, true)
	c.SetRules("version: 1\nrules:\n  - id: never\n    action: deny\n    message: not by rule\n    match: {command: {program: touch, any_arg: [\"*forbidden*\"]}}\n" +
		"  - id: secret\n    action: deny\n    message: not to be read\n    match: {file: {op: [read], path: [\"**/secret.txt\"]}}\n")

	read := coder.Step{Calls: []coder.Call{{Tool: "Read", Args: map[string]any{"file_path": c.Path(".git/HEAD")}, Force: true}}}
	ended := droidExec(c, read, droidRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	if r.ToolName != "Bash" || r.Agent != "droid" || !strings.Contains(string(r.ToolInput), c.Path("made")) {
		t.Errorf("%+v", r)
	}
	c.Allow(r)
	if out := <-ended; !c.Exists("made") {
		t.Errorf("the allowed command did not run:\n%s", out)
	}
	if all := c.All(); len(all) != 1 {
		t.Errorf("%d requests, want that of the command alone: %+v", len(all), all)
	}

	if err := os.WriteFile(c.Path("secret.txt"), []byte("a word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended = droidExec(c, coder.Step{Calls: []coder.Call{{Tool: "Read", Args: map[string]any{"file_path": c.Path("secret.txt")}, Force: true}}})
	<-ended
	c.ModelReads("not to be read")

	ended = droidExec(c, droidRun("touch "+c.Path("denied")))
	c.Deny(c.WaitPending(1)[0], `not <now> & "never"`)
	out := <-ended
	c.ModelReads(`not <now> & "never"`)
	ended = droidExec(c, droidRun("touch "+c.Path("forbidden")))
	out += <-ended
	c.ModelReads("not by rule")
	if c.Exists("denied") || c.Exists("forbidden") {
		t.Errorf("a denied command ran:\n%s", out)
	}

	ended = droidExec(c, droidRun("touch "+c.Path("original")))
	r = c.WaitPending(1)[0]
	edited := []byte(strings.ReplaceAll(string(r.ToolInput), "original", "edited"))
	c.Decide(r, rig.Decision{Behavior: "allow", UpdatedInput: edited})
	if out := <-ended; !c.Exists("edited") || c.Exists("original") {
		t.Errorf("the edited command did not run in the place of the original:\n%s", out)
	}

	c.Assent("uninstall", "droid", "--yes")
	<-droidExec(c, droidRun("touch "+c.Path("alone")))
	if !c.Exists("alone") {
		t.Error("without hooks it does not go by its autonomy level: the test proves nothing")
	}
}

// A request that nobody can be told of would be left to an agent's own prompt. Droid has none.
func TestDroidNobodyThere(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := droid(t, false)
	if out := <-droidExec(c, droidRun("touch "+c.Path("alone"))); c.Exists("alone") {
		t.Errorf("a command ran that nobody allowed:\n%s", out)
	}
	c.ModelReads("could not put this permission request to anybody")
	if r := c.All()[0]; r.Outcome != "handed_back" {
		t.Errorf("%+v", r)
	}
}

// What would run without an answer is denied: when nobody answers in time, and without a broker. A broker
// that is killed while Droid waits comes back, and so does the request.
func TestDroidUnanswered(t *testing.T) {
	t.Parallel()
	c := droid(t, true, "--hold", "30s", "--unattended", "hold")

	ended := droidExec(c, droidRun("touch "+c.Path("late")))
	r := c.WaitPending(1)[0]
	out := <-ended
	if r = c.Request(r.ID); r.Outcome != "expired" || c.Exists("late") {
		t.Errorf("ran: %v, %+v\n%s", c.Exists("late"), r, out)
	}

	ended = droidExec(c, droidRun("touch "+c.Path("killed")))
	r = c.WaitPending(1)[0]
	c.Kill()
	c.Start()
	c.Allow(c.Until(r.ID, "is held again", func(r rig.Request) bool { return r.State == "pending" && !r.Detached }))
	if out := <-ended; !c.Exists("killed") {
		t.Errorf("the allowed command did not run:\n%s", out)
	}

	c.Stop()
	if out := <-droidExec(c, droidRun("touch "+c.Path("away"))); c.Exists("away") {
		t.Errorf("a command ran that nobody allowed:\n%s", out)
	}
}

// A hook that cannot be run denies, too: Droid itself would take that for leave to run the call.
func TestDroidWithoutHookProgram(t *testing.T) {
	t.Parallel()
	c := droid(t, true)
	// The program stands elsewhere, where it can be taken away.
	program, settings := filepath.Join(c.Dir, "assent-hook"), filepath.Join(c.Home, ".factory/settings.json")
	b, err := os.ReadFile(settings)
	if err == nil {
		err = os.WriteFile(settings, []byte(strings.ReplaceAll(string(b), rig.Program("assent-hook"), program)), 0o600)
	}
	if err == nil {
		err = os.Symlink(rig.Program("assent-hook"), program)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := droidExec(c, droidRun("touch "+c.Path("made")))
	c.Allow(c.WaitPending(1)[0])
	if out := <-ended; !c.Exists("made") {
		t.Fatalf("the hook is not run:\n%s", out)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if out := <-droidExec(c, droidRun("touch "+c.Path("gone"))); c.Exists("gone") {
		t.Errorf("a command ran that nobody allowed:\n%s", out)
	}
	c.ModelReads("its hook failed")
}

// Two calls are two requests, each with its answer.
func TestDroidTwo(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := droid(t, true)
	ended := droidExec(c, coder.Step{Calls: append(droidRun("touch "+c.Path("a")).Calls, droidRun("touch "+c.Path("b")).Calls...)})
	answerTwo(c, false)
	if out := <-ended; !c.Exists("a") || c.Exists("b") {
		t.Errorf("the answers to two requests were mixed up:\n%s", out)
	}
}
