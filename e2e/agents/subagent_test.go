package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

// task is what a subagent is told, and how its model is known.
const task = "SUBTASK run it"

// delegate are the calls by which each agent starts a subagent. Droid's ends with "Could not reach the daemon"
// in `droid exec`, which is all that runs without an account.
var delegate = map[string]coder.Call{
	"codex":    {Tool: "spawn_agent", Namespace: "multi_agent_v1", Args: map[string]any{"message": task, "agent_type": "default"}},
	"opencode": {Tool: "task", Args: map[string]any{"description": "sub", "prompt": task, "subagent_type": "general"}},
	"kilo":     {Tool: "task", Args: map[string]any{"description": "sub", "prompt": task, "subagent_type": "general"}},
	"copilot":  {Tool: "task", Args: map[string]any{"agent_type": "task", "name": "sub", "description": "sub", "prompt": task}},
	// In the background, which is its default, Qwen Code asks nobody and denies.
	"qwen": {Tool: "agent", Args: map[string]any{"description": "sub", "prompt": task, "subagent_type": "general-purpose", "run_in_background": false}, Force: true},
}

// codexDelegates is Codex with a model that is offered its tool for subagents: another one has to search for it.
var codexDelegates = driver{"codex", func(t *testing.T, serve ...string) (*rig.Coder, *coder.Terminal) {
	c := codex(t, true, serve...)
	path := filepath.Join(c.Home, ".codex/config.toml")
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(b, []byte("gpt-5.5-codex"), []byte("mock-model"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, codexTerminal(c)
}, codexRun, codexPrompt, false}

// A subagent's request stands in the queue as any other, in the session that started it, and says whose it is.
func TestSubagent(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		c, term := d.start(t)
		session := ""
		asks := func(file string) rig.Request {
			t.Helper()
			c.Model.Delegated(task, d.run("touch "+c.Path(file)))
			c.Prompt(term, coder.Step{Calls: []coder.Call{delegate[d.name]}})
			r := c.WaitPending(1)[0]
			if r.ToolName == "Agent" { // Qwen Code asks whether it may start one
				if session = r.SessionID; r.AgentID != "" {
					t.Errorf("%+v", r)
				}
				c.Allow(r)
				r = c.WaitPending(1)[0]
			}
			if r.AgentID == "" || r.Agent != d.name || r.ToolName != "Bash" || session != "" && r.SessionID != session || !strings.Contains(string(r.ToolInput), c.Path(file)) {
				t.Errorf("%+v", r)
			}
			session = r.SessionID
			return r
		}
		c.Allow(asks("sub"))
		rig.Eventually(t, 2*rig.Soon, "the allowed command of a subagent runs", func() bool { return c.Exists("sub") })
		c.Deny(asks("denied"), "not by a subagent")
		c.ModelReads("not by a subagent")
		if c.Exists("denied") {
			t.Error("the denied command of a subagent ran")
		}
	}, codexDelegates)
}
