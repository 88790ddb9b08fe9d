package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/coder"
)

// overACPOnly sets up the agents that assent answers for in an editor only, and returns how they are called and
// run a command.
func overACPOnly(c *rig.Coder, name string) (args []string, run func(command string) coder.Step) {
	c.T.Helper()
	switch name {
	case "gemini":
		c.Write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},
"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`)
		c.Run.Env = append(c.Run.Env, "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL="+c.Model.URL(), "GEMINI_CLI_TRUST_WORKSPACE=true")
		return []string{"-m", "gemini-2.5-pro", "--acp"}, func(command string) coder.Step {
			return coder.Step{Calls: []coder.Call{{Tool: "run_shell_command", Args: map[string]any{"command": command, "description": "make a file"}, Force: true}}}
		}
	case "goose":
		c.Run.Env = append(c.Run.Env, "OPENAI_API_KEY=dummy", "OPENAI_HOST="+c.Model.URL(), "GOOSE_PROVIDER=openai", "GOOSE_MODEL=mock-model", "GOOSE_MODE=approve", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false")
		c.Write(".config/goose/config.yaml", "GOOSE_PROVIDER: openai\nGOOSE_MODEL: mock-model\nOPENAI_HOST: "+c.Model.URL()+"\nOPENAI_BASE_PATH: v1/chat/completions\nGOOSE_MODE: approve\nGOOSE_TELEMETRY_ENABLED: false\n"+
			"extensions:\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\n    display_name: Developer\n    timeout: 300\n    bundled: true\n")
		return []string{"acp"}, func(command string) coder.Step {
			return coder.Step{Calls: []coder.Call{{Tool: "shell", Args: map[string]any{"command": command}, Force: true}}}
		}
	case "codex-acp":
		codexSettings(c)
		return nil, codexRun
	case "claude-agent-acp":
		c.Write(".claude/settings.json", `{"permissions":{"defaultMode":"default"}}`)
		c.Write(".claude.json", `{"hasCompletedOnboarding":true,"numStartups":5,"customApiKeyResponses":{"approved":["dummy"],"rejected":[]}}`)
		c.Run.Env = append(c.Run.Env, "ANTHROPIC_BASE_URL="+c.Model.URL(), "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1")
		return nil, func(command string) coder.Step {
			// A command that the agent does not take for harmless.
			return coder.Step{Calls: []coder.Call{{Tool: "Bash", Args: map[string]any{"command": command + " && curl -s http://127.0.0.1:1/x; true", "description": "make a file"}}}}
		}
	}
	c.T.Fatal(name)
	return nil, nil
}

// heavyAgent skips an agent of some hundred MB unless all are asked for.
func heavyAgent(t *testing.T) {
	if os.Getenv("ASSENT_E2E_AGENTS") != "all" {
		t.Skip("set ASSENT_E2E_AGENTS=all")
	}
}

func TestGeminiInEditor(t *testing.T) {
	heavyAgent(t)
	testInEditor(t, "gemini", "acp:gemini-cli")
}

func TestGooseInEditor(t *testing.T) {
	heavyAgent(t)
	testInEditor(t, "goose", "acp:goose")
}

func TestCodexInEditor(t *testing.T) {
	heavyAgent(t)
	testInEditor(t, "codex-acp", "acp:codex-acp")
}

func TestClaudeInEditor(t *testing.T) {
	heavyAgent(t)
	testInEditor(t, "claude-agent-acp", "acp:claude-agent-acp")
}

// What passes between an editor and a real agent is the same on both sides of assent, byte for byte, until an
// answer of ours: then one line each way differs.
func TestSameBytesInEditor(t *testing.T) {
	t.Parallel()
	c, run := overACP(t, "opencode", false)
	in, out, spy := filepath.Join(c.Dir, "in"), filepath.Join(c.Dir, "out"), filepath.Join(c.Dir, "spy")
	if err := os.WriteFile(spy, []byte("#!/bin/sh\ntee "+in+" | \"$@\" | tee "+out+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(c.Run.Argv, "--") + 1
	c.Run.Argv = slices.Insert(c.Run.Argv, at, spy)
	e := edit(c)
	lines := func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) }
	// besides are the lines of a that b has not, in whatever order they stand.
	besides := func(a, b []byte) (left [][]byte) {
		there := map[string]int{}
		for _, l := range lines(b) {
			there[string(l)]++
		}
		for _, l := range lines(a) {
			if there[string(l)]--; there[string(l)] < 0 {
				left = append(left, l)
			}
		}
		return left
	}
	both := func() (sent, read, toAgent, fromAgent []byte) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "both sides have the same number of bytes from the agent", func() bool {
			var err1, err2 error
			toAgent, err1 = os.ReadFile(in)
			fromAgent, err2 = os.ReadFile(out)
			sent, read = e.Traffic()
			return err1 == nil && err2 == nil && len(besides(fromAgent, read)) == 0
		})
		return sent, read, toAgent, fromAgent
	}

	c.Model.Script(run("touch " + c.Path("editor")))
	turn := e.Prompt(c.Ctx)
	answer(c, e, dialog(c, e), "allow_once")
	over(c, turn)
	sent, read, toAgent, fromAgent := both()
	if !c.Exists("editor") || !bytes.Equal(sent, toAgent) || !bytes.Equal(read, fromAgent) {
		t.Errorf("sent and received differ:\n%s\n%s\n\n%s\n%s", sent, toAgent, read, fromAgent)
	}

	c.Model.Script(run("touch " + c.Path("here")))
	turn = e.Prompt(c.Ctx)
	d := dialog(c, e)
	c.Allow(c.WaitPending(1)[0])
	cancelled(c, e)
	answer(c, e, d, "reject_once") // late
	over(c, turn)
	sent, read, toAgent, fromAgent = both()
	for _, x := range []struct {
		what string
		got  [][]byte
		says string
	}{
		{"swallowed of the editor's", besides(sent, toAgent), "reject"},
		{"told the agent", besides(toAgent, sent), `"outcome":"selected"`},
		{"told the editor", besides(read, fromAgent), "$/cancel_request"},
	} {
		if len(x.got) != 1 || !bytes.Contains(x.got[0], []byte(x.says)) {
			t.Errorf("%s: %q", x.what, x.got)
		}
	}
	if !c.Exists("here") {
		t.Error("the allowed command did not run")
	}
}
