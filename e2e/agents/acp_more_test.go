package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	case "kimi":
		c.Write(".kimi-code/config.toml", fmt.Sprintf(`default_model = "mock"
[providers.mock]
type = "openai"
base_url = "%s/v1"
api_key = "dummy"
[models.mock]
provider = "mock"
model = "mock-model"
max_context_size = 100000
`, c.Model.URL()))
		c.Run.Env = append(c.Run.Env, "KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_CLI_NO_AUTO_UPDATE=1", "KIMI_DISABLE_TELEMETRY=1")
		return []string{"acp"}, func(command string) coder.Step {
			return coder.Step{Calls: []coder.Call{{Tool: "Bash", Args: map[string]any{"command": command, "description": "make a file"}, Force: true}}}
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

func TestGeminiInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "gemini", "acp:gemini-cli")
}

func TestGooseInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "goose", "acp:goose")
}

func TestCodexInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "codex-acp", "acp:codex-acp")
}

func TestClaudeInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "claude-agent-acp", "acp:claude-agent-acp")
}

func TestKimiInEditor(t *testing.T) {
	forRelease(t)
	testInEditor(t, "kimi", "acp:kimi-code-cli")
}

// Kimi cuts what it asks about; it is asked here with the whole that Kimi said before, and where that ends as a
// text does that was cut, or was not said, the editor alone decides.
func TestKimiCut(t *testing.T) {
	forRelease(t)
	t.Parallel()
	for name, said := range map[string]bool{"said": true, "not said": false} {
		t.Run(name, func(t *testing.T) {
			c, run := overACP(t, "kimi", false)
			if !said { // as if Kimi had never said what the call is
				beforeAgent(c, "\"$@\" | grep --line-buffered -v '\"sessionUpdate\":\"tool_call\",'\n")
			}
			e := edit(c)
			long := "touch " + c.Path("long") + strings.Repeat(" "+c.Path("more"), 40)
			for n, x := range []struct {
				command string
				asked   bool
			}{{long, said}, {"touch " + c.Path("dots") + "; echo a…", false}, {"touch " + c.Path("short"), said}} {
				c.Model.Script(run(x.command))
				turn := e.Prompt(c.Ctx)
				d := dialog(c, e)
				if x.asked {
					r := c.WaitPending(1)[0]
					var in struct{ Command string }
					if err := json.Unmarshal(r.ToolInput, &in); err != nil || in.Command != x.command || r.ToolName != "acp:execute" {
						t.Errorf("%s, want %s", r.ToolInput, x.command)
					}
					c.Allow(r)
					cancelled(c, e)
				} else {
					answer(c, e, d, "allow_once")
				}
				over(c, turn)
				if want := map[bool]int{true: 1 + n/2, false: 0}[said]; len(c.All()) != want {
					t.Errorf("%s: %d requests, want %d", x.command, len(c.All()), want)
				}
			}
			for _, file := range []string{"long", "dots", "short"} {
				if !c.Exists(file) {
					t.Errorf("%s was not made", file)
				}
			}
		})
	}
}

// beforeAgent has a shell stand between assent acp and the agent: script says what it does, and "$@" is the agent.
func beforeAgent(c *rig.Coder, script string) {
	c.T.Helper()
	path := filepath.Join(c.Dir, "between")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		c.T.Fatal(err)
	}
	c.Run.Argv = slices.Insert(c.Run.Argv, slices.Index(c.Run.Argv, "--")+1, path)
}

// What passes between an editor and a real agent is the same on both sides of assent, byte for byte, until an
// answer of ours: then one line each way differs.
func TestSameBytesInEditor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"opencode", "kilo", "copilot", "qwen", "gemini", "goose", "kimi", "codex-acp", "claude-agent-acp"} {
		t.Run(name, func(t *testing.T) {
			if name != "opencode" {
				forRelease(t)
			}
			t.Parallel()
			testSameBytes(t, name)
		})
	}
}

func testSameBytes(t *testing.T, name string) {
	c, run := overACP(t, name, false)
	in, out := filepath.Join(c.Dir, "in"), filepath.Join(c.Dir, "out")
	beforeAgent(c, "tee "+in+" | \"$@\" | tee "+out+"\n")
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
	// both are the bytes on both sides, once they differ by so many lines of ours each way.
	both := func(ours int) (sent, read, toAgent, fromAgent []byte) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("sent and received:\n%s\n%s\n\n%s\n%s", sent, toAgent, read, fromAgent)
			}
		}()
		rig.Eventually(t, rig.Soon, fmt.Sprintf("the sides differ by %d lines", ours), func() bool {
			var err1, err2 error
			toAgent, err1 = os.ReadFile(in)
			fromAgent, err2 = os.ReadFile(out)
			sent, read = e.Traffic()
			return err1 == nil && err2 == nil && len(besides(fromAgent, read)) == 0 && len(besides(read, fromAgent)) == ours &&
				len(besides(toAgent, sent)) == ours && len(besides(sent, toAgent)) == ours
		})
		return sent, read, toAgent, fromAgent
	}

	c.Model.Script(run("touch " + c.Path("editor")))
	turn := e.Prompt(c.Ctx)
	answer(c, e, dialog(c, e), "allow_once")
	over(c, turn)
	sent, read, toAgent, fromAgent := both(0)
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
	sent, read, toAgent, fromAgent = both(1)
	for _, x := range []struct {
		what string
		got  [][]byte
		says string
	}{
		{"swallowed of the editor's", besides(sent, toAgent), `"` + d.Options["reject_once"] + `"`},
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
