package agents

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

// overACP prepares an agent that an editor drives through assent acp; hooks says that it has assent's hooks,
// too.
func overACP(t *testing.T, name string, hooks bool) (c *rig.Coder, run func(command string) coder.Step) {
	t.Helper()
	c = rig.NewCoder(t, name, true)
	args := []string{"acp"}
	switch name {
	case "opencode", "kilo":
		openCodeSettings(c, name, asksForAll, "mock-model")
		run = openCodeRun
	case "copilot":
		copilotSettings(c)
		args, run = []string{"--acp"}, copilotRun
	case "qwen":
		qwenSettings(c)
		args, run = []string{"--acp", "--auth-type", "openai", "--approval-mode", "default"}, qwenRun
	default:
		args, run = overACPOnly(c, name)
	}
	if hooks {
		c.Assent("install", name, "--yes", "--socket", c.Socket)
	}
	c.Run.Argv = append(append([]string{rig.Program("assent"), "acp", "--socket", c.Socket, "--"}, c.Run.Argv...), args...)
	return c, run
}

// edit starts the editor, and with it the agent.
func edit(c *rig.Coder) *coder.Editor {
	c.T.Helper()
	var errs bytes.Buffer
	e, err := c.Run.StartEditor(c.Ctx, &errs)
	if err != nil {
		c.T.Fatal(err, errs.String())
	}
	if strings.HasSuffix(c.Run.Argv[len(c.Run.Argv)-1], "codex-acp") { // it asks about little by default
		if _, err := e.Call(c.Ctx, "session/set_mode", map[string]any{"sessionId": e.Session(), "modeId": "read-only"}); err != nil {
			c.T.Error(err)
		}
	}
	c.T.Cleanup(func() {
		if err := e.Close(); err != nil {
			c.T.Error(err)
		}
		if c.T.Failed() {
			c.T.Logf("standard error:\n%s\nthe model read: %q", errs.String(), c.Model.Results())
		}
	})
	return e
}

// dialog waits for the editor's dialog.
func dialog(c *rig.Coder, e *coder.Editor) coder.Dialog {
	c.T.Helper()
	select {
	case d := <-e.Dialogs:
		return d
	case <-c.Ctx.Done():
		c.T.Fatal("the editor is not asked")
	}
	return coder.Dialog{}
}

// cancelled waits until the editor hears that a dialog needs no answer any more, and returns its id.
func cancelled(c *rig.Coder, e *coder.Editor) string {
	c.T.Helper()
	select {
	case id := <-e.Cancelled:
		return id
	case <-c.Ctx.Done():
		c.T.Fatal("the editor's dialog is not cancelled")
	}
	return ""
}

// over waits for the end of a turn.
func over(c *rig.Coder, turn <-chan error) {
	c.T.Helper()
	select {
	case err := <-turn:
		if err != nil {
			c.T.Fatal(err)
		}
	case <-c.Ctx.Done():
		c.T.Fatal("the turn does not end")
	}
}

func answer(c *rig.Coder, e *coder.Editor, d coder.Dialog, kind string) {
	c.T.Helper()
	if err := e.Answer(d, kind); err != nil {
		c.T.Fatal(err)
	}
}

func TestOpenCodeInEditor(t *testing.T) { testInEditor(t, "opencode", "acp:opencode") }

func TestKiloInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "kilo", "acp:kilo")
}

func TestCopilotInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "copilot", "acp:copilot")
}

func TestQwenInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "qwen", "acp:qwen-code")
}

// The first answer counts, from here or in the editor; and the editor decides alone without a broker.
func testInEditor(t *testing.T, name, as string) {
	t.Parallel()
	c, run := overACP(t, name, false)
	e := edit(c)

	// Here first: the editor's dialog is cancelled.
	c.Model.Script(run("touch " + c.Path("here")))
	turn := e.Prompt(c.Ctx)
	d := dialog(c, e)
	r := c.WaitPending(1)[0]
	if r.Agent != as || r.SessionID != e.Session() || r.ToolName != "Bash" && r.ToolName != "acp:execute" || !strings.Contains(string(r.ToolInput), c.Path("here")) {
		t.Errorf("%+v", r)
	}
	status, body, err := c.Try("POST", "/v1/requests/"+r.ID+"/decision", map[string]any{"behavior": "deny", "inputSha256": r.InputSHA256, "message": "not now"})
	if err != nil || status != 400 && status != 422 || !strings.Contains(string(body), "message") {
		t.Errorf("words that nobody would read: %d %s %v", status, body, err)
	}
	c.Allow(r)
	over(c, turn)
	if got := cancelled(c, e); got != string(d.ID) || !c.Exists("here") {
		t.Errorf("cancelled %s, want %s; ran: %v", got, d.ID, c.Exists("here"))
	}

	// The editor first: nobody is asked any more.
	c.Model.Script(run("touch " + c.Path("editor")))
	turn = e.Prompt(c.Ctx)
	d = dialog(c, e)
	r = c.WaitPending(1)[0]
	answer(c, e, d, "allow_once")
	over(c, turn)
	if r = c.Until(r.ID, "is over", func(r rig.Request) bool { return r.State != "pending" }); r.Outcome != "withdrawn" || !c.Exists("editor") {
		t.Errorf("%+v; ran: %v", r, c.Exists("editor"))
	}

	// A denial from here; the editor's yes is late.
	c.Model.Script(run("touch " + c.Path("denied")))
	turn = e.Prompt(c.Ctx)
	d = dialog(c, e)
	c.Decide(c.WaitPending(1)[0], rig.Decision{Behavior: "deny"})
	cancelled(c, e)
	answer(c, e, d, "allow_once")
	over(c, turn)
	if c.Exists("denied") {
		t.Error("the denied command ran")
	}

	// A broker that is killed comes back, and so does the request.
	c.Model.Script(run("touch " + c.Path("killed")))
	turn = e.Prompt(c.Ctx)
	dialog(c, e)
	r = c.WaitPending(1)[0]
	c.Kill()
	c.Start()
	c.Allow(c.Until(r.ID, "is held again", func(r rig.Request) bool { return r.State == "pending" && !r.Detached }))
	over(c, turn)
	if !c.Exists("killed") {
		t.Error("the allowed command did not run")
	}

	// Without a broker the editor decides alone.
	c.Stop()
	c.Model.Script(run("touch " + c.Path("alone")))
	turn = e.Prompt(c.Ctx)
	answer(c, e, dialog(c, e), "allow_once")
	over(c, turn)
	if !c.Exists("alone") {
		t.Error("the command allowed in the editor did not run")
	}
}

// A call that the agent's hook asks about is not asked about twice, and the editor's dialog is up.
func TestHookAndEditor(t *testing.T) {
	t.Parallel()
	c, run := overACP(t, "opencode", true)
	e := edit(c)
	for n, decide := range []func(rig.Request, coder.Dialog){
		func(_ rig.Request, d coder.Dialog) { answer(c, e, d, "allow_once") },
		// Last: the editor's dialog stays, and OpenCode shows no other one before it is answered.
		func(r rig.Request, _ coder.Dialog) { c.Allow(r) },
	} {
		file := fmt.Sprint("made", n)
		c.Model.Script(run("touch " + c.Path(file)))
		turn := e.Prompt(c.Ctx)
		d := dialog(c, e)
		r := c.WaitPending(1)[0]
		if r.Agent != "opencode" {
			t.Errorf("%+v", r)
		}
		decide(r, d)
		over(c, turn)
		if !c.Exists(file) {
			t.Errorf("%s was not made", file)
		}
	}
	for _, r := range c.All() {
		if r.Agent != "opencode" {
			t.Errorf("asked twice: %+v", r)
		}
	}
}

// An agent that cannot be started, and one that ends, are as without assent.
func TestACPExitCode(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		code int
		argv []string
	}{{0, []string{"--", "true"}}, {7, []string{"--", "sh", "-c", "exit 7"}}, {127, []string{"--", "/nowhere/agent"}}, {2, nil}, {0, []string{"true", "--acp"}}} {
		cmd := exec.CommandContext(t.Context(), rig.Program("assent"), append([]string{"acp"}, x.argv...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "ASSENT_URL=nonsense"}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != x.code {
			t.Errorf("%q: exit code %d\n%s", x.argv, code, out)
		}
	}
}
