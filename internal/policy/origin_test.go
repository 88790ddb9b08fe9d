package policy

import (
	"testing"

	"assent/internal/hook"
)

// TestFrom: an answer comes from a file only where all rules that it rests on are that file's, with the packs that it uses first.
func TestFrom(t *testing.T) {
	const (
		mine = `version: 1
use: [builtin/brew-read@1, builtin/pip-read@1]
allow: ["Bash(make *)"]
deny: ["Bash(rm *)"]
rules:
  - {id: cats, action: allow, contain: read, match: {command: {program: cat}}}
  - {id: src, action: allow, match: {file: {op: [edit], path: ["${project}/src/**"]}}}
`
		saved = `version: 1
use: [builtin/pip-read@1]
allow: ["Bash(npm test)"]
rules:
  - {id: tails, action: allow, contain: read, match: {command: {program: tail}}}
  - {id: docs, action: allow, match: {file: {op: [edit], path: ["${project}/docs/**"]}}}
`
		managed = `version: 1
use: [builtin/pip-read@1]
ask: ["Bash(npm publish)"]
`
	)
	s, err := Load([]Source{{Name: "saved", Layer: Assent, Data: []byte(saved)}, {Name: "mine", Layer: User, Data: []byte(mine)}, {Name: "managed", Layer: Managed, Data: []byte(managed)}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(files ...string) Call {
		text := "*** Begin Patch\n"
		for _, f := range files {
			text += "*** Update File: /home/user/project/" + f + "\n@@\n-a\n+b\n"
		}
		return patchCall(text + "*** End Patch")
	}
	for name, c := range map[string]struct {
		call   Call
		action hook.Action
		from   string
	}{
		"a rule":                    {bash("make x"), hook.ActionAllow, "mine"},
		"a pack":                    {bash("brew list"), hook.ActionAllow, "mine"},
		"both":                      {bash("make x && brew list"), hook.ActionAllow, "mine"},
		"a pack, used before":       {bash("pip list"), hook.ActionAllow, "managed"},
		"a rule and another's pack": {bash("make x; pip list"), hook.ActionAllow, ""},
		"two files":                 {bash("make x; npm test"), hook.ActionAllow, ""},
		"another file":              {bash("npm test"), hook.ActionAllow, "saved"},
		"a denial":                  {bash("npm test; rm x"), hook.ActionDeny, "mine"},
		"a question":                {bash("npm publish; make x"), hook.ActionAsk, "managed"},
		"nobody":                    {bash("curl x"), hook.ActionAsk, ""},
		"contained":                 {contain("cat a"), hook.ActionAllow, "mine"},
		"contained, by two files":   {contain("cat a | tail"), hook.ActionAllow, ""},
		"a patch":                   {patch("src/a", "src/b"), hook.ActionAllow, "mine"},
		"a patch, by two files":     {patch("src/a", "docs/b"), hook.ActionAllow, ""},
	} {
		if v := s.Eval(c.call); v.Action != c.action || v.From != c.from {
			t.Errorf("%s: %s by %q of %q, from %q; want %s from %q", name, v.Action, v.Rule, v.File, v.From, c.action, c.from)
		}
	}
}
