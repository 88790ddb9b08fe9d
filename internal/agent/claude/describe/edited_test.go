package describe_test

import (
	"strings"
	"testing"

	"assent/internal/agent/claude/describe"
)

// Whatever differs between what was asked for and what was allowed is told, and nothing else is.
func TestEdited(t *testing.T) {
	for _, c := range []struct{ name, tool, asked, allowed, want string }{
		{"nothing", "Bash", `{"command":"a"}`, ``, ``},
		{"the same, written otherwise", "Bash", `{"command":"a\u0062","timeout":5,"l":[1, 2]}`, `{ "timeout":5,"l":[1,2],"command":"ab"}`, ``},
		{"in another order", "mcp__a__b", `{"l":{"a":1,"b":[2]}}`, `{"l":{"b":[2],"a":1}}`, ``},
		{"lone surrogates", "mcp__a__b", `{"l":["\ud800"]}`, `{"l":["\ud801"]}`, "l (changed)|  [|-   \"\\ud800\"|+   \"\\ud801\"|  ]"},
		{"changed", "Bash", `{"command":"git commit && git push"}`, `{"command":"git commit"}`, "command (changed)|- git commit && git push|+ git commit"},
		{"added", "Bash", `{"command":"a"}`, `{"command":"a","run_in_background":true}`, "run_in_background (added)|+ true"},
		{"left out", "Bash", `{"command":"a","timeout":5}`, `{"command":"a"}`, "timeout (left out)|- 5"},
		{"another number", "Bash", `{"command":"a","timeout":5}`, `{"command":"a","timeout":5.0}`, "timeout (changed)|- 5|+ 5.0"},
		{"lines", "Write", `{"content":"1\n2\n3\n4\n5\n6\n7\n8\n9\n"}`, `{"content":"1\n2\n3\n4\n5\nsix\n7\n8\n9\n"}`,
			"content (changed)|  3|  4|  5|- 6|+ six|  7|  8|  9"},
		{"a line feed at the end", "Write", `{"content":"1"}`, `{"content":"1\n"}`, "content (changed)|  1|+ "},
		{"hidden", "Bash", `{"command":"a"}`, `{"command":"a\u202e"}`, "command (changed)|- a|+ a⟦U+202E⟧"},
		{"no object", "Bash", `{"command":"a","command":"b"}`, `{"command":"a"}`, `whole input (changed)|- {"command":"a","command":"b"}|+ {"command":"a"}`},
		{"a plan as it is", "ExitPlanMode", `{"plan":"1","planFilePath":"/p"}`, `{}`, ``},
		{"a plan", "ExitPlanMode", `{"plan":"1","planFilePath":"/p"}`, `{"plan":"2"}`, "plan (changed)|- 1|+ 2"},
		{"answers", "AskUserQuestion", `{"questions":[{"question":"B?"},{"question":"A?"}]}`, `{"questions":[{"question":"B?"},{"question":"A?"}],"answers":{"A?":"x","B?":"y, z","C?":1}}`,
			"B? → y, z|A? → x|C? → 1"},
		{"a form", "Elicitation", `{"message":"m"}`, `{"name":"x","n":[1]}`, "name → x|n → [1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := describe.Edited(c.tool, []byte(c.asked), []byte(c.allowed))
			if got := strings.Join(a.Summary(), "|"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if (a == nil) != (c.want == "") {
				t.Errorf("got %+v", a)
			}
		})
	}
	a := describe.Edited("ExitPlanMode", []byte(`{"plan":"1","planFilePath":"/p"}`), []byte(`{"plan":"2"}`))
	if f := a.Shown.Fields; len(f) != 2 || f[0].Text != "2" || f[1].Text != "/p" {
		t.Errorf("an edited plan is shown as %+v", f)
	}
}
