package policy

import (
	"fmt"
	"strings"
	"testing"

	"assent/internal/hook"
)

// TestForeignWork: a repository's file cannot make an evaluation long, and by trying it loses
// only for itself: denials of other files stay denials.
func TestForeignWork(t *testing.T) {
	long := strings.Repeat("a", 700)
	for _, row := range []struct{ name, rule string }{
		{"glob", `{command: {program: "*", any_arg: "*a*a*a*a*a*a*a*b%d"}}`},
		{"program", `{command: {program: "*a*a*a*a*a*a*a*a*b%d"}}`},
		{"regexp", `{command: {program: "*", any_arg: "re:(a{1,4}){1,3}b%d"}}`},
		{"mcp", `{mcp: {server: "*", input: {x: "*a*a*a*a*a*a*a*b%d"}}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("version: 1\nrules:\n")
			for i := range 1000 {
				fmt.Fprintf(&b, "  - {id: x%d, action: deny, match: "+row.rule+"}\n", i, i)
			}
			set, err := Load([]Source{
				{Name: "mine", Layer: User, Data: []byte("version: 1\nallow: [Bash(echo *), mcp__a__b]\ndeny: [Bash(git push *), mcp__a__c]\n")},
				{Name: "theirs", Layer: Repository, Data: []byte(b.String())},
			}, LoadOptions{})
			if err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			denied, allowed := bash("git push "+long), bash("echo "+long)
			switch row.name {
			case "mcp":
				denied.Tool, denied.Input = "mcp__a__c", []byte(`{"x":"`+long+long+`"}`)
				allowed.Tool, allowed.Input = "mcp__a__b", denied.Input
			case "program":
				allowed = bash("echo 1; /" + long + "; /" + long)
				denied = bash("git push 1; /" + long + "; /" + long)
			}
			if v := set.Eval(denied); v.Action != hook.ActionDeny || v.File != "mine" {
				t.Errorf("%s: my denial became %s by %q: %s", row.name, v.Action, v.File, v.Reason)
			}
			if v := set.eval(&allowed, false); v.Action != hook.ActionAsk || !strings.Contains(fmt.Sprint(v.Refused), "too much") {
				t.Errorf("%s: without time %s: %s", row.name, v.Action, v.Reason)
			}
		})
	}
}

// TestForeignSize: neither can it take the memory, or fill the record.
func TestForeignSize(t *testing.T) {
	for _, text := range []string{
		`rules: [{id: a, action: deny, match: {command: {program: "*", any_arg: "re:((a{1,40}){1,40}){1,40}"}}}]`,
		`rules: [{id: a, action: ask, note: "` + strings.Repeat("n", 5000) + `", match: {tool: X}}]`,
		`rules: [{id: a, action: deny, message: "` + strings.Repeat("n", 5000) + `", match: {tool: X}}]`,
		`rules: [{id: ` + strings.Repeat("n", 5000) + `, action: deny, match: {tool: X}}]`,
		`deny: ["Bash(` + strings.Repeat("n", 5000) + `)"]`,
	} {
		_, err := Load([]Source{{Name: "theirs", Layer: Repository, Data: []byte("version: 1\n" + text)}}, LoadOptions{})
		if p := Problems(err); len(p) == 0 || p[0].Line != 2 {
			t.Errorf("%.60s…: %v", text, err)
		}
	}
}
