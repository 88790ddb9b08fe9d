package policy

import (
	"strings"
	"testing"

	"assent/internal/hook"
)

// literal, no_arg, re: and certain, in a person's own file.
func TestLiteral(t *testing.T) {
	const file = `version: 1
use: [builtin/readonly@1]
rules:
  - {id: own-cat, action: allow, match: {command: {program: mycat, args: [...]}}}
  - {id: own-show, action: allow, match: {command: {program: show, literal: true, no_arg: ["--out*", "re:-o.*"], args: ["re:[a-z]+", ...]}}}
  - {id: own-names, action: allow, match: {command: {program: names, literal: or-from-commands}}}
  - {id: feared, action: ask, match: {command: {program: mycat, paths: ["**/feared"]}}}
  - {id: sure, action: ask, certain: true, match: {command: {program: show, paths: ["**/sure"]}}}
`
	set, err := Load([]Source{{Name: "own.yaml", Data: []byte(file)}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []row{
		{`mycat x`, hook.ActionAllow},
		{`mycat "./$x"`, hook.ActionAsk}, // feared may be meant
		{`show abc`, hook.ActionAllow},
		{`show abc x/*`, hook.ActionAllow},
		{`show abc "$x"`, hook.ActionAsk},
		{`show abc x$(pwd)`, hook.ActionAsk},
		{`show a1`, hook.ActionAsk},
		{`show abc --output=x`, hook.ActionAsk},
		{`show abc -ox`, hook.ActionAsk},
		{`show abc ./sure`, hook.ActionAsk},
		{`show abc <<< "$x"`, hook.ActionAsk},
		{`show abc <<< x`, hook.ActionAllow},
		{`find . -exec show abc {} \;`, hook.ActionAllow},
		{`find "$x" -exec show abc {} \;`, hook.ActionAsk},
		{`find . | xargs show abc`, hook.ActionAllow},
		{`git ls-files | xargs show abc`, hook.ActionAsk}, // no rule allows git here
		{`cat list | xargs show abc`, hook.ActionAsk},
		{`xargs show abc`, hook.ActionAsk},
		{`cat list | xargs names`, hook.ActionAllow},
		{`names $(pwd)`, hook.ActionAllow},
		{`names "$x"`, hook.ActionAsk},
		{`names $(pwd)$x`, hook.ActionAsk},
		{`names $(rm x)`, hook.ActionAsk},
		{`cat ~/.s*/x`, hook.ActionAsk},
		{`cat /home/user/.ssh/*`, hook.ActionAsk},
		{`head -3 *.md`, hook.ActionAllow},
	} {
		t.Run(row.in, func(t *testing.T) {
			if v := set.Eval(bashCall(row.in)); v.Action != row.want {
				t.Errorf("%s: %s by %q (%s), want %s", row.in, v.Action, v.Rule, v.Reason, row.want)
			}
		})
	}
}

func TestLiteralRefused(t *testing.T) {
	for _, row := range []struct{ rule, want string }{
		{`{id: a, action: allow, certain: true, match: {command: {program: x}}}`, "3:37: certain is for rules that deny or ask"},
		{`{id: a, action: deny, match: {command: {program: x, literal: true}}}`, "literal is for rules that allow"},
		{`{id: a, action: allow, match: {command: {program: x, literal: sometimes}}}`, "expected true, or-from-commands"},
		{`{id: a, action: allow, match: {command: {program: x, args: ["re:("]}}}`, "is no regular expression"},
		{`{id: a, action: allow, match: {command: {program: "*", literal: true}}}`, "must name each program in full"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			_, err := Load([]Source{{Name: "x.yaml", Data: []byte("version: 1\nrules:\n  - " + row.rule + "\n")}}, LoadOptions{})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: error %v, want %q", row.rule, err, row.want)
			}
		})
	}
}

// What find hands over is the name of what it found. With something in front it is another file.
func TestFoundNames(t *testing.T) {
	set, err := Load([]Source{{Name: "own.yaml", Data: []byte("version: 1\nuse: [builtin/readonly@1, builtin/git-read@1]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]hook.Action{
		"{}": hook.ActionAllow, "./{}": hook.ActionAllow, "{}/go.mod": hook.ActionAllow,
		"/{}": hook.ActionAsk, "../{}": hook.ActionAsk, "../../{}": hook.ActionAsk, ".{}": hook.ActionAsk, "sub/{}": hook.ActionAsk, "/srv/{}": hook.ActionAsk, "{}/../x": hook.ActionAsk, "{}/{}": hook.ActionAsk, "{}{}": hook.ActionAsk, "./../{}": hook.ActionAsk,
	} {
		for _, command := range []string{"find . -type f -exec cat W \\;", "find . -type f -exec head -5 W \\;", "find . -type f | xargs -I{} cat W", "fd . | xargs -I{} head -3 W", "git ls-files | xargs -I{} cat W", "find . -name '*.go' -exec grep x W \\;"} {
			in := strings.ReplaceAll(command, "W", word)
			if v := set.Eval(bash(in)); v.Action != want {
				t.Errorf("%s: got %s (%s), want %s", in, v.Action, v.Reason, want)
			}
		}
	}
	for _, in := range []string{`find . -name '*.go' -exec echo "== {}" \;`, `find . -type d -exec ls sub/{} \;`} {
		if v := set.Eval(bash(in)); v.Action != hook.ActionAllow {
			t.Errorf("%s: got %s (%s)", in, v.Action, v.Reason)
		}
	}
}
