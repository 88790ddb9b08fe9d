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

// copilot prepares a Copilot whose hooks assent install wrote.
func copilot(t *testing.T, somebody bool, serve ...string) *rig.Coder {
	t.Helper()
	c := rig.NewCoder(t, "copilot", somebody, serve...)
	copilotSettings(c)
	c.Assent("install", "copilot", "--yes", "--socket", c.Socket)
	return c
}

func copilotSettings(c *rig.Coder) {
	c.T.Helper()
	c.Write(".copilot/config.json", fmt.Sprintf(`{"trusted_folders":[%q],"trustedFolders":[%q],"banner":"never","firstLaunchAt":"2026-01-01T00:00:00Z"}`, c.Run.Work, c.Run.Work))
	c.Run.Env = append(c.Run.Env, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL="+c.Model.URL()+"/v1", "COPILOT_PROVIDER_API_KEY=dummy",
		"COPILOT_PROVIDER_WIRE_API=responses", "COPILOT_MODEL=mock-model")
}

func copilotRun(command string) coder.Step {
	return coder.Step{Calls: []coder.Call{{Tool: "bash", Args: map[string]any{"command": command, "description": "make a file", "mode": "sync"}}}}
}

func TestCopilot(t *testing.T) {
	t.Parallel()
	c := copilot(t, true)
	term := c.Terminal("--no-color")
	c.Shows(term, `❯`)

	c.Prompt(term, copilotRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	if r.ToolName != "Bash" || r.Agent != "copilot" {
		t.Errorf("%+v", r)
	}
	status, body, err := c.Try("POST", "/v1/requests/"+r.ID+"/decision", map[string]any{"behavior": "allow", "inputSha256": r.InputSHA256, "updatedInput": map[string]string{"command": "ls"}})
	if err != nil || status != 400 && status != 422 || !strings.Contains(string(body), "updatedInput") {
		t.Errorf("an edited input, in whose place the original would run: %d %s %v", status, body, err)
	}
	c.Allow(r)
	c.ModelDone(1)
	if !c.Exists("made") {
		t.Error("the allowed command did not run")
	}

	c.Prompt(term, copilotRun("touch "+c.Path("other")))
	c.Deny(c.WaitPending(1)[0], `not <now> & "never"`)
	c.ModelReads(`not <now> & "never"`)
	if c.Exists("other") {
		t.Error("the denied command ran")
	}

	c.Prompt(term, copilotRun("touch "+c.Path("other")))
	r = c.WaitPending(1)[0]
	c.Command("hand-back", r.ID)
	c.Shows(term, `1\. Yes`)
	if r = c.Request(r.ID); r.Outcome != "handed_back" || c.Exists("other") {
		t.Errorf("%+v", r)
	}

	c.Assent("uninstall", "copilot", "--yes")
	if _, err := os.Stat(filepath.Join(c.Home, ".copilot/hooks")); !os.IsNotExist(err) {
		t.Error("the hooks are still there")
	}
}

// Without a terminal Copilot asks its hooks, too; and a hook that a repository registered for Claude Code
// answers it in its own shape.
func TestCopilotHeadless(t *testing.T) {
	t.Parallel()
	c := copilot(t, true)
	c.Assent("uninstall", "copilot", "--yes")
	settings := fmt.Sprintf(`{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"%s --socket %s","timeout":600}]}]}}`, rig.Program("assent-hook"), c.Socket)
	err := os.MkdirAll(c.Path(".claude"), 0o700)
	if err == nil {
		err = os.WriteFile(c.Path(".claude/settings.json"), []byte(settings), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := c.Run
	run.Argv = append(append([]string(nil), run.Argv...), "--allow-all-tools", "-p", "please run it")
	c.Model.Script(copilotRun("touch " + c.Path("made")))
	done := make(chan string, 1)
	go func() {
		out, err := run.Headless(c.Ctx)
		done <- fmt.Sprint(out, err)
	}()
	r := c.WaitPending(1)[0]
	if r.Agent != "copilot" || r.ToolName != "Bash" {
		t.Errorf("%+v", r)
	}
	c.Deny(r, "not this")
	out := <-done
	if c.Exists("made") {
		t.Errorf("the denied command ran:\n%s", out)
	}
	c.ModelReads("not this")
}

// Without a broker a Copilot that runs everything is denied by the hook; one that asks refuses by itself, for
// nobody is there.
func TestCopilotBrokerAway(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, flag, told string }{{"all", "--allow-all-tools", "assent"}, {"asks", "--no-color", ""}} {
		t.Run(x.name, func(t *testing.T) {
			if x.told == "" { // Copilot's own denial, not assent's
				forRelease(t)
			}
			t.Parallel()
			c := copilot(t, true)
			c.Stop()
			run := c.Run
			run.Argv = append(append([]string(nil), run.Argv...), x.flag, "-p", "please run it")
			c.Model.Script(copilotRun("touch " + c.Path("made")))
			out, err := run.Headless(c.Ctx)
			if c.Exists("made") {
				t.Errorf("a command ran that nobody allowed: %v\n%s", err, out)
			}
			c.ModelReads(x.told)
		})
	}
}

// Without a terminal, by the hooks that assent install wrote: an allowed command runs.
func TestCopilotHeadlessAllow(t *testing.T) {
	forRelease(t)
	t.Parallel()
	c := copilot(t, true)
	run := c.Run
	run.Argv = append(append([]string(nil), run.Argv...), "-p", "please run it")
	c.Model.Script(copilotRun("touch " + c.Path("made")))
	done := make(chan string, 1)
	go func() {
		out, err := run.Headless(c.Ctx)
		done <- fmt.Sprint(out, err)
	}()
	c.Allow(c.WaitPending(1)[0])
	if out := <-done; !c.Exists("made") {
		t.Errorf("the allowed command did not run:\n%s", out)
	}
}
