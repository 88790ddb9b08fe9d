package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
)

func patchCall(text string) Call {
	c := bash("")
	c.Agent, c.Tool = "codex", "apply_patch"
	c.Input, _ = json.Marshal(map[string]string{"command": text})
	return c
}

// A patch is allowed if every file of it is and it is certain that there are no others, and denied if one
// is denied.
func TestPatch(t *testing.T) {
	const head, foot = "*** Begin Patch\n", "*** End Patch"
	add := func(p string) string { return "*** Add File: " + p + "\n+x\n" }
	edit := func(p string) string { return "*** Update File: " + p + "\n@@\n-a\n+b\n" }
	s := load(t, `version: 1
rules:
  - id: src
    action: allow
    match: {file: {op: [edit, write], path: ["${project}/src/**"]}}
  - id: docs
    action: allow
    match: {file: {op: [edit], path: ["${project}/docs/**"]}}
  - id: keys
    action: deny
    match: {file: {op: [edit, write], path: ["**/*.pem"]}}
  - id: careful
    action: ask
    timeout: 90s
    match: {file: {op: [edit], path: ["${project}/src/danger/**"]}}
`)
	const p = "/home/user/project/"
	for _, c := range []struct {
		name, text string
		action     hook.Action
		rule       string
		reason     string
	}{
		{"allowed", head + add(p+"src/a") + edit(p+"src/b") + foot, hook.ActionAllow, "src", ""},
		{"by two rules", head + add(p+"src/a") + edit(p+"docs/b") + foot, hook.ActionAllow, "src", ""},
		{"one that no rule allows", head + add(p+"src/a") + add(p+"docs/b") + foot, hook.ActionAsk, "", ""},
		{"one that is denied", head + add(p+"src/a") + add(p+"src/k.pem") + foot, hook.ActionDeny, "keys", ""},
		{"one that is denied, in what is no whole patch", "x\n" + head + add(p+"src/k.pem") + foot, hook.ActionDeny, "keys", ""},
		{"one that is asked about", head + edit(p+"src/danger/a") + foot, hook.ActionAsk, "careful", ""},
		{"a delete", head + "*** Delete File: " + p + "src/a\n" + foot, hook.ActionAsk, "", "deletes or moves"},
		{"a denied delete", head + "*** Delete File: " + p + "src/k.pem\n" + foot, hook.ActionDeny, "keys", ""},
		{"a move to what is denied", head + "*** Update File: " + p + "src/a\n*** Move to: " + p + "src/k.pem\n@@\n-a\n+b\n" + foot, hook.ActionDeny, "keys", ""},
		{"a relative path", head + add("src/a") + foot, hook.ActionAsk, "", "relative"},
		{"out of the project", head + add(p+"src/../../x") + foot, hook.ActionAsk, "", ""},
		{"a line that may name a denied file", head + edit(p+"src/a") + " *** Delete File: " + p + "src/k.pem\n" + foot, hook.ActionAsk, "", ""},
		{"another agent's settings", head + add(p+"src/.codex/hooks.json") + foot, hook.ActionAsk, "", "settings"},
		{"none", head + foot, hook.ActionAsk, "", "not certain"},
		{"no patch", "rm -rf /", hook.ActionAsk, "", "not certain"},
		{"too many files", head + strings.Repeat(add(p+"src/a"), maxPatchFiles+1) + foot, hook.ActionAsk, "", "not certain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.Eval(patchCall(c.text))
			if v.Action != c.action || v.Rule != c.rule || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("%s by %q: %s", v.Action, v.Rule, v.Reason)
			}
			if c.rule == "careful" && v.Timeout.Seconds() != 90 {
				t.Errorf("it waits %s", v.Timeout)
			}
			if x := s.Explain(patchCall(c.text)); x.Action != v.Action || c.rule == "src" && len(x.Units) != 2 {
				t.Errorf("explained as %s, %d units", x.Action, len(x.Units))
			}
		})
	}
	// A rule about the tool denies it; none about the tool allows it.
	for action, want := range map[string]hook.Action{"deny": hook.ActionDeny, "ask": hook.ActionAsk, "allow": hook.ActionAsk} {
		s := load(t, "version: 1\nrules:\n  - id: t\n    action: "+action+"\n    match: {tool: apply_patch}\n")
		if v := s.Eval(patchCall(head + add(p+"src/a") + foot)); v.Action != want {
			t.Errorf("%s: %s, %s", action, v.Action, v.Reason)
		}
	}
	// Of another agent it is an unknown tool.
	c := patchCall(head + add(p+"src/a") + foot)
	c.Agent = "claude"
	if v := s.Eval(c); v.Action != hook.ActionAsk {
		t.Error(v.Action)
	}
}

const allPrograms = "version: 1\nrules:\n  - id: all\n    action: allow\n    match: {command: {program: [codex, copilot, qwen, opencode, kilo, gemini, rm, cat, sed, cp, echo], args: [\"...\"], flags: any, stdout: [none, pipe, devnull, project]}}\n  - id: files\n    action: allow\n    match: {file: {op: [read, edit, write], path: [\"/**\"]}}\n"

// No rule lets an agent start or change another.
func TestOtherAgents(t *testing.T) {
	s := load(t, allPrograms)
	for _, command := range []string{
		"codex exec --dangerously-bypass-hook-trust x", "copilot -p x", "qwen -p x", "opencode run x", "kilo run x", "gemini -p x", "rm ~/.codex/hooks.json", "echo > /home/user/.copilot/hooks/assent.json",
		"cat /home/user/.qwen/oauth_creds.json", "sed -i s/a/b/ ~/.config/opencode/plugin/assent.js", "cp x .github/hooks/h.json", "cp x opencode.json",
	} {
		if v := s.Eval(bash(command)); v.Action != hook.ActionAsk {
			t.Errorf("%s: %s by %s", command, v.Action, v.Rule)
		}
	}
	if v := s.Eval(bash("codex --version")); v.Action == hook.ActionDeny {
		t.Error(v)
	}
}

// TestOtherAgentsNeeded: the same rules allow what is no agent's.
func TestOtherAgentsNeeded(t *testing.T) {
	s := load(t, allPrograms)
	for _, command := range []string{"rm /home/user/project/x", "cp x y"} {
		if v := s.Eval(bash(command)); v.Action != hook.ActionAllow {
			t.Errorf("%s: %s %s", command, v.Action, v.Reason)
		}
	}
}

// A member beside the patch may hold another one, or say where it is applied.
func TestPatchStrangeMembers(t *testing.T) {
	s := load(t, `
version: 1
allow: ["Edit(./**)"]
`)
	const patch = `"command":"*** Begin Patch\n*** Add File: /home/user/project/a\n+x\n*** End Patch"`
	for rest, want := range map[string]hook.Action{
		``: hook.ActionAllow, `,"timeout":1`: hook.ActionAllow, `,"input":""`: hook.ActionAllow,
		`,"input":"*** Begin Patch\n*** Add File: /etc/x\n+x\n*** End Patch"`: hook.ActionAsk,
		`,"workdir":"/etc"`: hook.ActionAsk, `,"cwd":"/etc"`: hook.ActionAsk, `,"patch":["x"]`: hook.ActionAsk, `,"files":{"a":1}`: hook.ActionAsk, `,"Command":"x"`: hook.ActionAsk,
	} {
		t.Run(rest, func(t *testing.T) {
			c := patchCall("")
			c.Input = []byte("{" + patch + rest + "}")
			if v := s.Eval(c); v.Action != want {
				t.Errorf("got %s (%s), want %s", v.Action, v.Reason, want)
			}
		})
	}
}
