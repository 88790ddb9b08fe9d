package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
)

// What may not be read is not found by a search of all that lies around it either: nobody is asked about a
// search of other directories, and somebody about one of the directory that it is in.
func TestSearchesMeetDenials(t *testing.T) {
	for _, rule := range []string{`deny: ["Read(./secrets/**)"]`, `ask: ["Read(./secrets/plan.md)"]`, `deny: ["Read(//home/user/project/secrets)"]`, `deny: [Edit, "Read(./secrets/*.md)"]`} {
		set := load(t, "version: 1\nuse: [builtin/readonly@1, builtin/git-read@1]\nallow: [Grep, Glob]\n"+rule+"\n")
		for _, row := range []struct {
			want     hook.Action
			commands string
		}{
			{hook.ActionAsk, `rg foo
rg foo .
rg -g secret.md foo
rg -g '*.md' x
rg -e a -e b
rg --type md x
grep -r x .
grep -rn x
grep --recursive x .
grep --recurs x ../project
grep -d recurse x .
grep -rn --include=*.md x .
egrep -rl x
cd src && grep -r x ..
cd .. && grep -r x project
diff -r . /tmp/x
git grep x
git grep -n x -- .
find . -type f -exec cat {} +
find . -name '*.md' | xargs grep x`},
			{hook.ActionAllow, `rg foo src
rg -n foo src docs
rg -n -g '*.go' foo src
rg --files
grep -rn x src
grep x README.md
cd src && grep -r x .
diff -r src /tmp/x
git grep x -- src
find . -name '*.md'
ls -R`},
		} {
			for c := range strings.SplitSeq(row.commands, "\n") {
				if v := set.Eval(bashCall(c)); v.Action != row.want {
					t.Errorf("%s: %s: %s (%s)", rule, c, v.Action, v.Reason)
				}
			}
		}
		for input, want := range map[string]hook.Action{`{"pattern":"x"}`: hook.ActionAsk, `{"pattern":"x","path":"."}`: hook.ActionAsk, `{"pattern":"x","path":"/home/user"}`: hook.ActionAsk, `{"pattern":"x","path":"src"}`: hook.ActionAllow} {
			c := bashCall("")
			c.Tool, c.Input = "Grep", json.RawMessage(input)
			if v := set.Eval(c); v.Action != want {
				t.Errorf("%s: Grep %s: %s (%s)", rule, input, v.Action, v.Reason)
			}
		}
	}
}
