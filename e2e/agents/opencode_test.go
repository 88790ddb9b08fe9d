package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

// openCode prepares an OpenCode or a Kilo with the plugin that assent install wrote.
func openCode(t *testing.T, name, model string, serve ...string) (*rig.Coder, *coder.Terminal) {
	t.Helper()
	c := rig.NewCoder(t, name, false, serve...)
	permission := ""
	if name == "kilo" {
		permission = asksForAll
	}
	openCodeSettings(c, name, permission, model)
	args := []string{"install", name, "--yes", "--socket", c.Socket}
	if name == "opencode" {
		args = append(args, "--ask")
	}
	c.Assent(args...)
	term := c.Terminal()
	c.Shows(term, `Ask anything|ctrl\+p|commands`)
	return c, term
}

// asksForAll has OpenCode and Kilo ask.
const asksForAll = `,"permission":{"bash":"ask","edit":"ask","webfetch":"ask"}`

// openCodeSettings makes no snapshots: on a busy machine Kilo asks whether it is to wait for them.
func openCodeSettings(c *rig.Coder, name, permission, model string) {
	c.Write(".config/"+name+"/"+name+".json", fmt.Sprintf(`{"autoupdate":false,"share":"disabled","model":"mock/%[3]s","small_model":"mock/%[3]s",
"snapshot":false,"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"mock","options":{"baseURL":"%[1]s/v1","apiKey":"dummy"},"models":{"%[3]s":{"name":"mock","tool_call":true,"limit":{"context":100000,"output":8000}}}}}%[2]s}`, c.Model.URL(), permission, model))
	c.Run.Env = append(c.Run.Env, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		"KILO_DISABLE_AUTOUPDATE=1", "KILO_DISABLE_MODELS_FETCH=1", "KILO_TELEMETRY_LEVEL=off")
}

func openCodeRun(command string) coder.Step {
	return coder.Step{Calls: []coder.Call{{Tool: "bash", Args: map[string]any{"command": command, "description": "make a file"}}}}
}

func TestOpenCode(t *testing.T) { testOpenCode(t, "opencode") }

func TestKilo(t *testing.T) { testOpenCode(t, "kilo") }

// The prompt in the terminal is up, and the first answer counts.
func testOpenCode(t *testing.T, name string) {
	t.Parallel()
	c, term := openCode(t, name, "mock-model")

	c.Prompt(term, openCodeRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	if r.ToolName != "Bash" || r.Agent != name || !strings.Contains(string(r.ToolInput), c.Path("made")) {
		t.Errorf("%+v", r)
	}
	c.Shows(term, `Allow once`)
	status, body, err := c.Try("POST", "/v1/requests/"+r.ID+"/decision", map[string]any{"behavior": "allow", "inputSha256": r.InputSHA256, "updatedInput": map[string]string{"command": "ls"}})
	if err != nil || status != 400 && status != 422 || !strings.Contains(string(body), "updatedInput") {
		t.Errorf("an edited input: %d %s %v", status, body, err)
	}
	c.Allow(r)
	c.ModelDone(1)
	if !c.Exists("made") {
		t.Error("the allowed command did not run")
	}

	c.Prompt(term, openCodeRun("touch "+c.Path("terminal")))
	r = c.WaitPending(1)[0]
	c.PressUntilOver(term, r.ID, `Allow once`, "Enter")
	r = c.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
	c.ModelDone(2)
	if !c.Exists("terminal") {
		t.Error("the command allowed in the terminal did not run")
	}

	c.Prompt(term, openCodeRun("touch "+c.Path("other")))
	c.Deny(c.WaitPending(1)[0], `not <now> & "never"`)
	if c.Exists("other") {
		t.Error("the denied command ran")
	}
	c.ModelReads(`not <now> & "never"`)

	// It remembers what it offered to, and cannot be told to remember anything else.
	c.Prompt(term, openCodeRun("touch "+c.Path("always")))
	r = c.WaitPending(1)[0]
	other := json.RawMessage(`[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"touch a"}]}]`)
	status, body, err = c.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256, UpdatedPermissions: other})
	if err != nil || status != 400 && status != 422 || !strings.Contains(string(body), "updatedPermissions") {
		t.Errorf("another thing to remember: %d %s %v", status, body, err)
	}
	c.Decide(r, rig.Decision{Behavior: "allow", UpdatedPermissions: r.Suggestions})
	c.ModelDone(4)
	c.Prompt(term, openCodeRun("touch "+c.Path("remembered")))
	c.ModelDone(5)
	config, err := os.ReadFile(filepath.Join(c.Home, ".config", name, name+".json"))
	if kept := strings.Contains(string(config), "touch *"); err != nil || kept != (name == "kilo") { // as the page says
		t.Errorf("kept in its settings: %v %v", kept, err)
	}
	if all := c.All(); !c.Exists("always") || !c.Exists("remembered") || len(all) != 4 {
		t.Errorf("always: %v, remembered: %v, %d requests", c.Exists("always"), c.Exists("remembered"), len(all))
	}

	c.Assent("uninstall", name, "--yes")
	if _, err := os.Stat(filepath.Join(c.Home, ".config", name, "plugin")); !os.IsNotExist(err) {
		t.Error("the plugin is still there")
	}
}

// A denial ends what else the session asked: it is withdrawn, and does not run.
func TestOpenCodeDenialEndsOthers(t *testing.T) {
	t.Parallel()
	c, term := openCode(t, "opencode", "mock-model")
	c.Prompt(term, coder.Step{Calls: append(openCodeRun("touch "+c.Path("a")).Calls, openCodeRun("touch "+c.Path("b")).Calls...)})
	both := c.WaitPending(2)
	c.Deny(both[0], "not now")
	if r := c.Until(both[1].ID, "is over", func(r rig.Request) bool { return r.State != "pending" }); r.Outcome != "withdrawn" {
		t.Errorf("%+v", r)
	}
	if c.Exists("a") || c.Exists("b") {
		t.Error("a command ran that nobody allowed")
	}
}

// A patch is one request for many files, which no rule about edits answers: what is asked names them as no
// path does.
func TestOpenCodePatch(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("version: 1\nallow: ['Edit(./**)', 'Write(./**)']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, term := openCode(t, "opencode", "gpt-5.1", "--rules", rules)
	c.Prompt(term, coder.Step{Calls: []coder.Call{{Tool: "apply_patch", Args: map[string]any{
		"patchText": "*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n*** End Patch",
	}}}})
	r := c.WaitPending(1)[0]
	if r.ToolName != "permission:edit" || !strings.Contains(string(r.ToolInput), "b.txt") {
		t.Errorf("%+v", r)
	}
	c.Allow(r)
	c.ModelDone(1)
	if !c.Exists("a.txt") || !c.Exists("b.txt") {
		t.Error("the allowed patch was not applied")
	}
}
