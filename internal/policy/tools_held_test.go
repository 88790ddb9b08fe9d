package policy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestToolsHeld reads testdata/tools.txt.
func TestToolsHeld(t *testing.T) {
	text, err := os.ReadFile("testdata/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s *Set
	rows := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rules, is := strings.CutPrefix(line, "= "); is {
			s = load(t, "version: 1\n"+strings.ReplaceAll(rules, "; ", "\n"))
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " ", 3)
		if len(parts) != 3 {
			t.Fatalf("no row: %q", line)
		}
		rows++
		c := bash("")
		c.Tool, c.Input = parts[1], json.RawMessage(parts[2])
		v := s.Eval(c)
		if string(v.Action) != parts[0] {
			t.Errorf("%s: %s (%s, %s)", line, v.Action, v.Rule, v.Reason)
		}
		if x := s.Explain(c); x.Action != v.Action {
			t.Errorf("%s: explained as %s", line, x.Action)
		}
	}
	if rows < 100 {
		t.Errorf("%d rows", rows)
	}
}

// TestEveryCommandByAnotherTool: a tool that runs any command is allowed by its name no more than Bash is. Files
// that have such a rule stay valid, and are told.
func TestEveryCommandByAnotherTool(t *testing.T) {
	for _, text := range []string{"allow: [Monitor]", "allow: [PowerShell]", "rules: [{id: a, action: allow, match: {tool: [Monitor, PowerShell]}}]"} {
		s := load(t, "version: 1\n"+text)
		if notes := s.Notices(); len(notes) == 0 || !strings.Contains(notes[0].Message, "runs any command") {
			t.Errorf("%s: %v", text, notes)
		}
		for _, name := range []string{"Monitor", "PowerShell"} {
			if v := s.Eval(tool1(name, "command", "ls")); v.Action == "allow" {
				t.Errorf("%s allows %s", text, name)
			}
		}
	}
	if notes := load(t, "version: 1\ndeny: [Monitor]\nask: [PowerShell]").Notices(); len(notes) != 0 {
		t.Errorf("%v", notes)
	}
}

// TestUnknownDirectory: what may be the file that a rule denies is not allowed by the tool's name alone.
func TestUnknownDirectory(t *testing.T) {
	s := load(t, "version: 1\nallow: [Read, Grep]\ndeny: [\"Read(~/project/docs/**)\"]")
	for _, c := range []Call{tool1("Read", "file_path", "docs/a"), tool1("Grep", "pattern", "x")} {
		c.Cwd, c.Project = "", ""
		if v := s.Eval(c); v.Action == "allow" {
			t.Errorf("%s %s: %+v", c.Tool, c.Input, v)
		}
	}
}

// TestHandedIsBounded: an input of any size is answered, and what is not looked at wholly is not allowed.
func TestHandedIsBounded(t *testing.T) {
	s := load(t, "version: 1\nallow: [mcp__a]\ndeny: [\"Bash(rm *)\", \"Read(**/x)\", \"WebFetch(domain:evil.com)\"]\nuse: [builtin/readonly@1]")
	for name, input := range map[string]string{
		"texts":    `{"a":[` + strings.Repeat(`"b/c/d",`, 10_000) + `"b"]}`,
		"commands": `{"a":[` + strings.Repeat(`{"command":"cat a | cat b; ls"},`, 10_000) + `{"command":"ls"}]}`,
		"deep":     `{"a":` + strings.Repeat(`[`, 100) + `"x"` + strings.Repeat(`]`, 100) + `}`,
		"patch":    `{"a":"*** Begin Patch\n` + strings.Repeat(`*** Add File: b\n+x\n`, 1000) + `*** End Patch"}`,
		"diff":     `{"a":"` + strings.Repeat(`--- a/b\n+++ a/b\n`, 1000) + `"}`,
	} {
		c := bash("")
		c.Tool, c.Input = "mcp__a__b", json.RawMessage(input)
		if v := s.Eval(c); v.Action != "ask" {
			t.Errorf("%s: %s (%s)", name, v.Action, v.Reason)
		}
	}
}
