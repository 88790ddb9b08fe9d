package ci

import (
	"strings"
	"testing"

	"assent/internal/agent/claude/install"
)

func TestCommandLineOfTheAgent(t *testing.T) {
	for line, want := range map[string]struct{ words, settings, decider, err string }{
		"claude -p hi": {words: "claude|-p|hi"},
		"timeout 9 /opt/claude -p hi --settings {}":     {words: "timeout|9|/opt/claude|-p|hi", settings: "{}"},
		"npx -y @anthropic-ai/claude-code@2.1.329 -p":   {words: "npx|-y|@anthropic-ai/claude-code@2.1.329|-p"},
		"./wrapper -p hi --settings=a.json":             {words: "./wrapper|-p|hi", settings: "a.json"},
		"claude --permission-mode acceptEdits -p hi":    {words: "claude|--permission-mode=acceptEdits|-p|hi"},
		"claude --permission-prompt-tool mcp__a__b":     {words: "claude|--permission-prompt-tool=mcp__a__b", decider: "mcp__a__b"},
		"claude --setting-sources project,local -p x":   {words: "claude|--setting-sources=project,local|-p|x"},
		"claude -p -- --settings --bare":                {words: "claude|-p|--|--settings|--bare"},
		"claude -p hi --settings":                       {err: "--settings needs a value"},
		"claude --permission-mode bypassPermissions":    {err: "no rule would count"},
		"claude --permission-mode=auto":                 {err: "no rule would count"},
		"claude --dangerously-skip-permissions -p hi":   {err: "no rule would count"},
		"bash -c script":                                {err: "inside of it"},
		"env A=1 claude --dangerously-skip-permissions": {err: "no rule would count"},
	} {
		a, err := ParseAgent(strings.Fields(line))
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: %v, want an error about %q", line, err, want.err)
			}
			continue
		}
		if got := strings.Join(a.words, "|"); err != nil || got != want.words || a.settings != want.settings || a.decider != want.decider {
			t.Errorf("%s: %s, %+v, %v", line, got, a, err)
		}
	}
}

func TestProposalsAreNamed(t *testing.T) {
	got := named("  - action: allow\n    match: {tool: \"x - action: y\"}\n  - action: allow\n", "ci-1")
	if want := "  - id: ci-1\n    action: allow\n    match: {tool: \"x - action: y\"}\n  - id: ci-1-2\n    action: allow\n"; got != want {
		t.Errorf("%s", got)
	}
}

func TestCIKnowsWhichSettingsCount(t *testing.T) {
	for line, want := range map[string]bool{
		"claude -p x": false,
		"claude --setting-sources project,local -p x": true,
		"claude --setting-sources=project -p x":       true,
		"claude --setting-sources=project,user -p x":  false,
		"claude --setting-sources= -p x":              false,
		"claude -p x -- --setting-sources project":    false,
	} {
		a, err := ParseAgent(strings.Fields(line))
		if err != nil || a.leavesOut(install.User) != want {
			t.Errorf("%s: %v, %v", line, a.leavesOut(install.User), err)
		}
	}
}
