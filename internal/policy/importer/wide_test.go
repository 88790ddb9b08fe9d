package importer

import (
	"strings"
	"testing"
)

func TestWideMeaning(t *testing.T) {
	for _, tt := range []struct {
		rule string
		want bool
	}{
		{"Bash(python:*)", true},
		{"Bash(python3 *)", true},
		{"Bash(python3.12 -c *)", true},
		{"Bash(/usr/bin/python3 *)", true},
		{"Bash(bash -c:*)", true},
		{"Bash(python script.py:*)", false},
		{"Bash(python)", false},
		{"Bash(npm run test:*)", false},
		{"Bash(npm run:*)", true},
		{"Bash(git status:*)", false},
		{"Bash(git:*)", true},
		{"Bash(rm -rf:*)", false},
		{"Bash(rm:*)", true},
		{"Bash(ls:*)", false},
		{"Bash(curl:*)", true},
		{"Bash(sudo *)", true},
		{"Edit", true},
		{"Write(**)", true},
		{"Edit(./docs/**)", false},
		{"Read(//**)", true},
		{"Read(./**)", false},
		{"Read", true},
		{"WebFetch", true},
		{"WebFetch(domain:*)", true},
		{"WebFetch(domain:go.dev)", false},
		{"mcp__github", true},
		{"mcp__github__*", true},
		{"mcp__github__get_*", false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if got := WideMeaning(tt.rule); (got != "") != tt.want {
				t.Errorf("got %q, want one: %t", got, tt.want)
			}
		})
	}
}

func TestRunsAnything(t *testing.T) {
	for _, tt := range []struct {
		rule string
		want bool
	}{
		{"Bash(python *)", true},
		{"Bash(sudo *)", true},
		{"Bash(make *)", false},
		{"Bash(cat *)", false},
		{"Bash(python x.py)", false},
		{"Read", false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if got := RunsAnything(tt.rule); (got != "") != tt.want {
				t.Errorf("got %q, want one: %t", got, tt.want)
			}
		})
	}
}

// Each entry of wide.txt has a name and a meaning, and no line that is not understood.
func TestWideTable(t *testing.T) {
	table := wideTable()
	if len(table) < 20 {
		t.Errorf("got %d entries", len(table))
	}
	for _, w := range table {
		if len(w.names) == 0 || w.meaning == "" {
			t.Errorf("incomplete: %+v", w)
		}
	}
	for line := range strings.Lines(widePrograms) {
		if key, _, _ := strings.Cut(strings.TrimSpace(line), " "); line[0] == '\t' && key != "then" && key != "runs" && key != "means" {
			t.Errorf("what is %q?", line)
		}
	}
}
