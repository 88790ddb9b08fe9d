package hookclient

import (
	"strings"
	"testing"

	"assent/internal/hook"
)

func TestUnprompted(t *testing.T) {
	const native = "/n/copilot-linux-x64/copilot"
	for _, c := range []struct {
		name, env string
		lines     []string
		want      bool
	}{
		{"nothing known", "", nil, false},
		{"at a terminal", "", []string{native}, false},
		{"one prompt", "", []string{native + " -p hello", "node /n/.bin/copilot -p hello"}, false},
		{"all tools", "", []string{"/bin/bash --norc -c assent-hook", native + " --allow-all-tools -p hello"}, true},
		{"all", "", []string{native + " --allow-all"}, true},
		{"yolo", "", []string{native + " --resume --yolo"}, true},
		{"by the script", "", []string{"node /n/.bin/copilot --yolo"}, true},
		{"some tools", "", []string{native + " --allow-tool shell --allow-all-paths"}, false},
		{"another program's flag", "", []string{"/bin/bash -c copilot --yolo", "qwen --yolo"}, false},
		{"the outer Copilot's flag", "", []string{native, "bash", native + " --yolo"}, false},
		{"environment", "1", nil, true},
		{"environment, spelt out", " TRUE ", []string{native}, true},
		{"environment, off", "0", []string{native}, false},
		{"environment, off, but a flag", "no", []string{native + " --yolo"}, true},
	} {
		var lines [][]string
		for _, l := range c.lines {
			lines = append(lines, strings.Fields(l))
		}
		env := func(k string) string { return map[string]string{"COPILOT_ALLOW_ALL": c.env}[k] }
		if got := unprompted(env, lines); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// What somebody chose holds, and other agents have their own prompt.
func TestFallbacks(t *testing.T) {
	all := func(k string) string { return map[string]string{"COPILOT_ALLOW_ALL": "1"}[k] }
	none := func(string) string { return "" }
	for _, c := range []struct {
		name                 string
		cfg                  Config
		onTimeout, onFailure hook.Fallback
	}{
		{"copilot", Config{Agent: "copilot", Env: none}, hook.Abstain, hook.Abstain},
		{"copilot that asks nobody", Config{Agent: "copilot", Env: all}, hook.Deny, hook.Deny},
		{"chosen", Config{Agent: "copilot", Env: all, OnFailure: hook.Abstain, OnTimeout: hook.Abstain}, hook.Abstain, hook.Abstain},
		{"one chosen", Config{Agent: "copilot", Env: all, OnTimeout: hook.Abstain}, hook.Abstain, hook.Deny},
		{"another", Config{Agent: "codex", Env: all}, hook.Abstain, hook.Abstain},
	} {
		c.cfg.fallbacks()
		if c.cfg.OnTimeout != c.onTimeout || c.cfg.OnFailure != c.onFailure {
			t.Errorf("%s: %s, %s", c.name, c.cfg.OnTimeout, c.cfg.OnFailure)
		}
	}
}
