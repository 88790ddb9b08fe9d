package policy

import (
	"strings"
	"testing"
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
	for command, want := range map[string]Action{
		`mycat x`:                        Allow,
		`mycat "./$x"`:                   Ask, // feared may be meant
		`show abc`:                       Allow,
		`show abc x/*`:                   Allow,
		`show abc "$x"`:                  Ask,
		`show abc x$(pwd)`:               Ask,
		`show a1`:                        Ask,
		`show abc --output=x`:            Ask,
		`show abc -ox`:                   Ask,
		`show abc ./sure`:                Ask,
		`show abc <<< "$x"`:              Ask,
		`show abc <<< x`:                 Allow,
		`find . -exec show abc {} \;`:    Allow,
		`find "$x" -exec show abc {} \;`: Ask,
		`find . | xargs show abc`:        Allow,
		`git ls-files | xargs show abc`:  Ask, // no rule allows git here
		`cat list | xargs show abc`:      Ask,
		`xargs show abc`:                 Ask,
		`cat list | xargs names`:         Allow,
		`names $(pwd)`:                   Allow,
		`names "$x"`:                     Ask,
		`names $(pwd)$x`:                 Ask,
		`names $(rm x)`:                  Ask,
		`cat ~/.s*/x`:                    Ask,
		`cat /home/user/.ssh/*`:          Ask,
		`head -3 *.md`:                   Allow,
	} {
		if v := set.Eval(bashCall(command)); v.Action != want {
			t.Errorf("%s: %s by %q (%s), expected %s", command, v.Action, v.Rule, v.Reason, want)
		}
	}
}

func TestLiteralRefused(t *testing.T) {
	for rule, want := range map[string]string{
		`{id: a, action: allow, certain: true, match: {command: {program: x}}}`:      "3:37: certain is for rules that deny or ask",
		`{id: a, action: deny, match: {command: {program: x, literal: true}}}`:       "literal is for rules that allow",
		`{id: a, action: allow, match: {command: {program: x, literal: sometimes}}}`: "expected true, or-from-commands",
		`{id: a, action: allow, match: {command: {program: x, args: ["re:("]}}}`:     "is no regular expression",
		`{id: a, action: allow, match: {command: {program: "*", literal: true}}}`:    "must name each program in full",
	} {
		_, err := Load([]Source{{Name: "x.yaml", Data: []byte("version: 1\nrules:\n  - " + rule + "\n")}}, LoadOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected %q", rule, err, want)
		}
	}
}
