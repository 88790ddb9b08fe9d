package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// TestOpenRulesAndTheirDoors: what rules of users allow, deny, and leave to a person, by the tables in
// testdata/doors*.txt.
func TestOpenRulesAndTheirDoors(t *testing.T) {
	for name, rows := range map[string]int{"doors.txt": 500, "doors-typical.txt": 80, "doors-denied.txt": 130, "doors-names.txt": 55, "doors-starts.txt": 170} {
		t.Run(name, func(t *testing.T) {
			if n := doorTable(t, name); n < rows {
				t.Errorf("only %d commands in the table", n)
			}
		})
	}
}

// doorTable holds the rules to one table, and returns how many commands are in it.
func doorTable(t *testing.T, name string) (n int) {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	var set *Set
	for line := range strings.SplitSeq(string(data), "\n") {
		if len(line) < 3 || line[0] == '#' {
			continue
		}
		kind, text := line[0], line[2:]
		if kind == '=' {
			if set != nil {
				set, rules = nil, nil
			}
			action, rule, _ := strings.Cut(text, " ")
			rules = append(rules, fmt.Sprintf("%s: %q", action, rule))
			continue
		}
		if set == nil {
			lists := map[string][]string{}
			for i := range rules {
				action, rule, _ := strings.Cut(rules[i], ": ")
				lists[action] = append(lists[action], rule)
			}
			source := "version: 1\n"
			for action, list := range lists {
				source += action + ": [" + strings.Join(list, ", ") + "]\n"
			}
			set = load(t, source)
		}
		n++
		v := set.Eval(bash(strings.ReplaceAll(text, "⏎", "\n")))
		switch want := map[byte]hook.Action{'+': hook.ActionAllow, '!': hook.ActionDeny}[kind]; {
		case kind == '?' && v.Action == hook.ActionAllow:
			t.Errorf("allowed by %s: %s", v.Rule, text)
		case kind != '?' && v.Action != want:
			t.Errorf("%s: got %s (%s), want %s", text, v.Action, v.Reason, want)
		}
	}
	return n
}

// TestSideDoorTable: the table can be read, and holds no row that could never apply.
func TestSideDoorTable(t *testing.T) {
	table, err := readSideDoors(sideDoorsText)
	if err != nil {
		t.Fatal(err)
	}
	for program, rows := range table {
		if strings.Trim(program, "abcdefghijklmnopqrstuvwxyz0123456789+-._") != "" {
			t.Errorf("%q is no program", program)
		}
		for _, r := range rows {
			for _, flag := range append(append(r.doors, r.ok...), r.null...) {
				if len(flag) < 2 || flag[0] != '-' {
					t.Errorf("%s: %q is no flag", program, flag)
				}
			}
		}
	}
	for _, bad := range []string{"\tdoor -x", "a\n\tdor -x", "a\n\tstyle x", "a\n\tonly x", "a", "a b\n\tstarts", "a\n\tstarts b"} {
		if _, err := readSideDoors(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestPatternsForMCPTools: a * in a rule that allows stands for no character that could hide what the
// tool is; a deny takes any.
func TestPatternsForMCPTools(t *testing.T) {
	for _, rules := range []string{`allow: [mcp__gh__get_*]`, `allow: [mcp__gh]`, `allow: ["mcp__gh__*"]`, `rules: [{id: x, action: allow, match: {mcp: {server: gh, tool: "get_*"}}}]`, `rules: [{id: x, action: allow, match: {mcp: {server: gh}}}]`} {
		s := load(t, "version: 1\n"+rules)
		for _, row := range []row{
			{"mcp__gh__get_issue", hook.ActionAllow}, {"mcp__gh__get_a.b-C9", hook.ActionAllow}, {"mcp__gh__get_x;rm", hook.ActionAsk}, {"mcp__gh__get_\u202ex", hook.ActionAsk}, {"mcp__gh__get_\u0456ssue", hook.ActionAsk}, {"mcp__gh__get_ x", hook.ActionAsk}, {"mcp__gh__get_x\n", hook.ActionAsk}, {"mcp__gh__get_x\x00", hook.ActionAsk},
			{"mcp__gh__get_é", hook.ActionAsk}, {"mcp__gh__get_$(x)", hook.ActionAsk}, {"mcp__gh__get_\u200bx", hook.ActionAsk}, {"mcp__gh__get_a/b", hook.ActionAsk}, {"mcp__gh__get_\xff", hook.ActionAsk}, {"mcp__g\u04bb__get_x", hook.ActionAsk}, {"mcp__gh;x__get_x", hook.ActionAsk},
		} {
			t.Run(row.in, func(t *testing.T) {
				if v := s.Eval(Call{Tool: row.in, Input: []byte("{}"), Cwd: "/home/user/project"}); v.Action != row.want {
					t.Errorf("%s: %q: %s, want %s", rules, row.in, v.Action, row.want)
				}
			})
		}
	}
	s := load(t, "version: 1\nallow: [mcp__gh]\ndeny: [\"mcp__gh__delete_*\"]")
	if v := s.Eval(Call{Tool: "mcp__gh__delete_\u202ex;", Input: []byte("{}")}); v.Action != hook.ActionDeny {
		t.Errorf("a deny does not find it: %s", v.Action)
	}
}
