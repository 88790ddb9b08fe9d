package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

// codexPrompt is Codex's own.
const codexPrompt = `Would you like to (run|make)`

// codex prepares a Codex whose hooks assent install wrote.
func codex(t *testing.T, somebody bool, serve ...string) *rig.Coder {
	t.Helper()
	c := rig.NewCoder(t, "codex", somebody, serve...)
	codexSettings(c)
	out := c.Assent("install", "codex", "--yes", "--socket", c.Socket)
	if !strings.Contains(out, "Trust all and continue") {
		t.Errorf("install does not say that its hooks must be trusted:\n%s", out)
	}
	return c
}

func codexSettings(c *rig.Coder) {
	c.T.Helper()
	c.Write(".codex/config.toml", fmt.Sprintf(`model = "gpt-5.5-codex"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "%s/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."%s"]
trust_level = "trusted"
[analytics]
enabled = false
[otel]
exporter = "none"
`, c.Model.URL(), c.Run.Work))
}

// codexTerminal opens Codex and trusts the hooks, as its user does. On a busy machine Codex now and then ends in this
// dialog of its own, before it asked anything of assent: then it is opened again.
func codexTerminal(c *rig.Coder) *coder.Terminal {
	c.T.Helper()
	for left := 2; ; left-- {
		term := c.Terminal("--no-daemon")
		err := trustsHooks(c, term)
		if err == nil {
			return term
		}
		if _, gone := term.Screen(c.Ctx); left == 0 || gone == nil || c.Ctx.Err() != nil {
			c.T.Fatal(err)
		}
		c.T.Logf("Codex ended before it was used: %v", err)
	}
}

// trustsHooks answers Codex's question about new hooks. A key is pressed again while it is not seen to count: a
// program that has just drawn its screen may not read yet.
func trustsHooks(c *rig.Coder, term *coder.Terminal) error {
	if _, err := term.Wait(c.Ctx, regexp.MustCompile(`Trust all and continue`)); err != nil {
		return err
	}
	for _, step := range []struct{ key, shows string }{{"Down", `› 2\. Trust all`}, {"Enter", `(?m)^› `}} {
		for seen := false; !seen; {
			if err := term.Key(c.Ctx, step.key); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(c.Ctx, 2*time.Second)
			_, err := term.Wait(short, regexp.MustCompile(step.shows))
			cancel()
			if c.Ctx.Err() != nil {
				return err
			}
			seen = err == nil
		}
	}
	return nil
}

func codexRun(command string) coder.Step {
	return coder.Step{Calls: []coder.Call{{Tool: "exec_command", Args: map[string]any{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "need to create a file"}}}}
}

func TestCodexAllowAndDeny(t *testing.T) {
	t.Parallel()
	c := codex(t, true)
	term := codexTerminal(c)

	c.Prompt(term, codexRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	if r.ToolName != "Bash" || !strings.Contains(string(r.ToolInput), "need to create a file") || r.Agent != "codex" {
		t.Errorf("%+v", r)
	}
	c.Shows(term, `waiting for an answer`) // what install wrote as the status
	status, body, err := c.Try("POST", "/v1/requests/"+r.ID+"/decision", map[string]any{"behavior": "deny", "inputSha256": r.InputSHA256, "interrupt": true})
	if err != nil || status != 400 && status != 422 || !strings.Contains(string(body), "interrupt") {
		t.Errorf("a denial that Codex would lose: %d %s %v", status, body, err)
	}
	c.Allow(r)
	c.ModelDone(1)
	if !c.Exists("made") {
		t.Error("the allowed command did not run")
	}

	c.Prompt(term, codexRun("touch "+c.Path("other")))
	c.Deny(c.WaitPending(1)[0], `not <now> & "never"`)
	told := c.ModelDone(2)
	if c.Exists("other") || !strings.Contains(told[len(told)-1], `Rejected(\"not <now> & \\\"never\\\"\")`) {
		t.Errorf("the model was told %q", told)
	}

	// Two at once.
	both := coder.Step{Calls: append(codexRun("touch "+c.Path("a")).Calls, codexRun("touch "+c.Path("b")).Calls...)}
	c.Prompt(term, both)
	for _, r := range c.WaitPending(2) {
		if strings.Contains(string(r.ToolInput), c.Path("a")) {
			c.Allow(r)
		} else {
			c.Deny(r, "only one")
		}
	}
	c.ModelDone(3)
	if !c.Exists("a") || c.Exists("b") {
		t.Error("the answers to two requests were mixed up")
	}
}

// Each file of a patch is named, and rules judge each.
func TestCodexPatch(t *testing.T) {
	t.Parallel()
	c := codex(t, true)
	if err := os.WriteFile(c.Path("old.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := codexTerminal(c)
	patch := func(dir string) coder.Step {
		text := "*** Begin Patch\n*** Add File: " + dir + "new.txt\n+hello\n*** Update File: " + dir + "old.txt\n@@\n-one\n+two\n*** End Patch\n"
		return coder.Step{Calls: []coder.Call{{Tool: "apply_patch", Patch: text}}}
	}
	for n, dir := range []string{c.Run.Work + "/", ""} {
		c.Prompt(term, patch(dir))
		r := c.WaitPending(1)[0]
		if r.ToolName != "apply_patch" || r.Shown.Verb != "Add new.txt, edit old.txt" {
			t.Errorf("%s: %q", r.ToolName, r.Shown.Verb)
		}
		words := fmt.Sprint("not this file ", n)
		c.Deny(r, words)
		c.ModelReads(words)
	}
	c.SetRules("version: 1\nrules:\n  - id: here\n    action: allow\n    match: {file: {op: [edit, write], path: [\"${project}/**\"]}}\n")
	c.Prompt(term, patch(c.Run.Work+"/"))
	c.ModelReads("Success. Updated the following files")
	if b, err := os.ReadFile(c.Path("old.txt")); err != nil || string(b) != "two\n" || !c.Exists("new.txt") {
		t.Errorf("the patch that a rule allows did not run: %q %v %q", b, err, c.Model.Results())
	}
}

// Whoever sits at the terminal gets the prompt where nobody else can answer: handed back, after the time
// that the broker gives, where nobody is told, without a broker.
func TestCodexPromptInTheEnd(t *testing.T) {
	t.Parallel()
	c := codex(t, true, "--hold", "12s")
	term := codexTerminal(c)
	ask := func() rig.Request {
		t.Helper()
		c.Prompt(term, codexRun("touch "+c.Path("made")))
		return c.WaitPending(1)[0]
	}
	refuse := func() {
		t.Helper()
		c.PressUntilGone(term, codexPrompt, "Escape")
		c.Shows(term, `interrupted|canceled|declined`)
	}
	r := ask()
	c.Command("hand-back", r.ID)
	refuse()
	if r = c.Request(r.ID); r.Outcome != "handed_back" || r.Reason != "person" {
		t.Errorf("%+v", r)
	}
	r = ask()
	refuse()
	if r = c.Request(r.ID); r.Outcome != "expired" {
		t.Errorf("%+v", r)
	}
	c.Stop()
	c.Prompt(term, codexRun("touch "+c.Path("made")))
	refuse()
	if c.Exists("made") {
		t.Error("a command ran that nobody allowed")
	}
}

func TestCodexNobodyThere(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := codex(t, false)
	term := codexTerminal(c)
	c.Prompt(term, codexRun("touch "+c.Path("made")))
	c.Shows(term, codexPrompt)
	if all := c.All(); len(all) != 1 || all[0].Outcome != "handed_back" || all[0].Reason != "nobody_there" {
		t.Errorf("%+v", all)
	}
}

// Who was there has gone: Codex asks at its own prompt, long before the time is over.
func TestCodexNobodyThereAnyMore(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := codex(t, false)
	_, token := c.Owner()
	socket := c.Look(token)
	term := codexTerminal(c)
	c.Prompt(term, codexRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	c.Shows(term, codexPrompt)
	if r = c.Request(r.ID); r.Outcome != "handed_back" || r.Reason != "nobody_there" || c.Exists("made") {
		t.Errorf("%+v", r)
	}
}

// A broker that is killed while Codex waits comes back, and so does the request.
func TestCodexBrokerKilled(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := codex(t, true, "--unattended", "hold")
	term := codexTerminal(c)
	c.Prompt(term, codexRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	c.Kill()
	c.Start()
	again := c.Until(r.ID, "is held again", func(r rig.Request) bool { return r.State == "pending" && !r.Detached })
	c.Allow(again)
	c.ModelDone(1)
	if !c.Exists("made") {
		t.Error("the allowed command did not run")
	}
}

// Esc in the terminal ends the request, and nothing else does: not the turn's other events.
func TestCodexEscape(t *testing.T) {
	t.Parallel()
	c := codex(t, true)
	term := codexTerminal(c)
	c.Prompt(term, codexRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	c.Press(term, "Escape")
	r = c.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
	if r.Reason != "hangup" || c.Exists("made") {
		t.Errorf("%+v", r)
	}
}

// Without a terminal Codex asks with --approve-for-me only, and before its own model decides.
func TestCodexHeadless(t *testing.T) {
	t.Parallel()
	c := codex(t, true)
	if out := c.Said("doctor"); !strings.Contains(out, "Codex does not run 12 hooks of assent") {
		t.Errorf("doctor says\n%s", out)
	}
	codexTerminal(c) // trusts the hooks
	if out := c.Said("doctor"); !strings.Contains(out, "and Codex trusts them") {
		t.Errorf("doctor says\n%s", out)
	}
	run := c.Run
	run.Argv = append(append([]string(nil), run.Argv...), "exec", "--skip-git-repo-check", "--approve-for-me", "please run it")
	c.Model.Script(codexRun("touch " + c.Path("made")))
	done := make(chan string, 1)
	go func() {
		out, err := run.Headless(c.Ctx)
		done <- fmt.Sprint(out, err)
	}()
	c.Allow(c.WaitPending(1)[0])
	out := <-done
	if !c.Exists("made") {
		t.Errorf("the allowed command did not run:\n%s", out)
	}
}

// Uninstall leaves the file as it was.
func TestCodexUninstall(t *testing.T) {
	t.Parallel()
	c := rig.NewCoder(t, "codex", false)
	const before = "{\n\t\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}\n"
	c.Write(".codex/hooks.json", before)
	c.Assent("install", "codex", "--yes", "--socket", c.Socket)
	c.Assent("uninstall", "codex", "--yes")
	if b, err := os.ReadFile(filepath.Join(c.Home, ".codex/hooks.json")); err != nil || string(b) != before {
		t.Errorf("%q %v", b, err)
	}
}
