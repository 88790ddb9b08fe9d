package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

func qwenRun(command string) coder.Step {
	return coder.Step{Calls: []coder.Call{{Tool: "run_shell_command", Args: map[string]any{"command": command, "description": "make a file", "is_background": false}, Force: true}}}
}

func qwenSettings(c *rig.Coder) {
	c.T.Helper()
	c.Write(".qwen/settings.json", `{
  "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
  "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "model": {"name": "mock-model"}
}
`)
	c.Run.Env = append(c.Run.Env, "OPENAI_API_KEY=dummy", "OPENAI_BASE_URL="+c.Model.URL()+"/v1", "OPENAI_MODEL=mock-model", "QWEN_CODE_DISABLE_UPDATE_CHECK=1")
}

// qwen prepares a Qwen Code whose hooks assent install wrote.
func qwen(t *testing.T, serve ...string) *rig.Coder {
	t.Helper()
	c := rig.NewCoder(t, "qwen", true, serve...)
	qwenSettings(c)
	c.Assent("install", "qwen", "--yes", "--socket", c.Socket)
	return c
}

func qwenTerminal(c *rig.Coder) *coder.Terminal {
	c.T.Helper()
	term := c.Terminal("--auth-type", "openai", "--approval-mode", "default")
	c.Shows(term, `Type your message`)
	return term
}

// Rules know its tools by assent's names, and an edited input runs.
func TestQwen(t *testing.T) {
	t.Parallel()
	c := qwen(t)
	c.SetRules("version: 1\nrules:\n  - id: never\n    action: deny\n    message: not by rule\n    match: {command: {program: touch, any_arg: [\"*denied*\"]}}\n")
	term := qwenTerminal(c)

	c.Prompt(term, qwenRun("touch "+c.Path("made")))
	r := c.WaitPending(1)[0]
	if r.ToolName != "Bash" || r.Agent != "qwen" {
		t.Errorf("%+v", r)
	}
	c.Allow(r)
	c.ModelDone(1)
	if !c.Exists("made") {
		t.Error("the allowed command did not run")
	}

	c.Prompt(term, qwenRun("touch "+c.Path("before")))
	r = c.WaitPending(1)[0]
	c.Decide(r, rig.Decision{Behavior: "allow", UpdatedInput: json.RawMessage(strings.Replace(string(r.ToolInput), "before", "after", 1))})
	c.ModelDone(2)
	if c.Exists("before") || !c.Exists("after") {
		t.Error("the edited command did not run in its place")
	}

	c.Prompt(term, qwenRun("touch "+c.Path("other")))
	c.Deny(c.WaitPending(1)[0], `not <now> & "never"`)
	c.ModelReads(`not <now> & "never"`)

	c.Prompt(term, qwenRun("touch "+c.Path("denied")))
	c.ModelReads("not by rule")
	if c.Exists("other") || c.Exists("denied") {
		t.Error("a denied command ran")
	}
}
