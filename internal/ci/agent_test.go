package ci

import (
	"strings"
	"testing"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/hook"
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

// Words of ours go where the agent takes them, and what keeps it from asking is refused.
func TestOtherAgents(t *testing.T) {
	for line, want := range map[string]struct{ title, before, err string }{
		"copilot -p hi":                                                  {title: "Copilot CLI", before: "copilot"},
		"npx -y @github/copilot@1.0.102 -p hi":                           {title: "Copilot CLI", before: "npx|-y|@github/copilot@1.0.102"},
		"timeout 9 /opt/codex exec --approve-for-me hi":                  {title: "Codex", before: "timeout|9|/opt/codex|exec"},
		"npx @openai/codex --profile x exec --approve-for-me hi":         {title: "Codex", before: "npx|@openai/codex|--profile|x|exec"},
		"codex exec --approve-for-me -- --yolo":                          {title: "Codex", before: "codex|exec"},
		"codex exec --approve-for-me -c model=x -s read-only hi":         {title: "Codex", before: "codex|exec"},
		"./wrapper -p hi":                                                {title: "Claude Code", before: "./wrapper"},
		"codex hi":                                                       {err: "is for a terminal"},
		"codex exec hi":                                                  {err: "--approve-for-me"},
		"codex exec hi -- --approve-for-me":                              {err: "--approve-for-me"},
		"codex exec --approve-for-me --yolo hi":                          {err: "no rule would count"},
		"codex exec --approve-for-me -s danger-full-access hi":           {err: "no rule would count"},
		"codex exec --approve-for-me --sandbox=danger-full-access":       {err: "no rule would count"},
		"codex -a never exec --approve-for-me hi":                        {err: "no rule would count"},
		"codex exec --approve-for-me -c approval_policy=never hi":        {err: "no rule would count"},
		"codex exec --approve-for-me --config=hooks.x=1 hi":              {err: "no rule would count"},
		"codex exec --approve-for-me --dangerously-bypass-hook-trust hi": {err: "hooks of the checkout"},
		"codex exec --approve-for-me -c":                                 {err: "-c needs a value"},
		"gemini --yolo -p hi":                                            {err: "Gemini CLI cannot be run under rules: its hook can deny a call, not allow one"},
		"npx -y @google/gemini-cli@0.61.0 -p hi":                         {err: "Run claude -p"},
		"qwen -p hi":                                                     {err: "refuses commands by itself"},
		"timeout 9 /opt/opencode run hi":                                 {err: "refuses at once"},
		"droid exec hi":                                                  {err: "changes nobody's settings"},
		"goose run":                                                      {err: "stops nothing"},
		"claude -p gemini":                                               {title: "Claude Code", before: "claude"},
	} {
		a, err := ParseAgent(strings.Fields(line))
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: %v, want an error about %q", line, err, want.err)
			}
			continue
		}
		if got := strings.Join(a.words[:a.put], "|"); err != nil || a.Title() != want.title || got != want.before {
			t.Errorf("%s: %s %s %v", line, a.Title(), got, err)
		}
	}
}

// An answer is read in the shape that its agent takes, and in no other.
func TestDecisionOf(t *testing.T) {
	const nested, flat = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"m"}}}`, `{"behavior":"deny","message":"m"}`
	for _, x := range []struct {
		flat    bool
		body    string
		outcome hook.Outcome
		want    hook.Behavior
	}{
		{false, nested, "", hook.BehaviorDeny},
		{false, nested, hook.Denied, hook.BehaviorDeny},
		{true, flat, hook.Denied, hook.BehaviorDeny},
		{true, flat, "", ""},
		{true, nested, hook.Denied, ""},
		{false, flat, hook.Denied, ""},
		{false, `{"behavior":"allow","hookSpecificOutput":{"decision":{"behavior":"deny","message":"m"}}}`, hook.Denied, hook.BehaviorDeny},
		{false, `{"decision":{"behavior":"allow"}}`, hook.Allowed, ""},
		{true, `{"decision":{"behavior":"allow"}}`, hook.Allowed, ""},
		{true, `[]`, hook.Allowed, ""}, {false, `[]`, "", ""}, {true, ``, hook.Allowed, ""}, {false, ``, "", ""},
	} {
		got, message := decisionOf(x.flat, hookclient.Answer{Answered: true, Body: []byte(x.body), Outcome: x.outcome})
		if got != x.want || (x.want != "") != (message == "m") {
			t.Errorf("flat %v, %s, %q: %q %q", x.flat, x.body, x.outcome, got, message)
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
