package tools

import (
	"slices"
	"strings"
	"testing"

	"assent/internal/agent/tool"
)

// TestTable holds the table against what its readers take for granted.
func TestTable(t *testing.T) {
	if !slices.IsSorted(Names()) || len(Names()) != len(all) {
		t.Errorf("names: %q", Names())
	}
	for _, x := range all {
		t.Run(x.Name, func(t *testing.T) {
			if strings.HasPrefix(x.Name, MCP) {
				t.Error("it looks like a tool of an MCP server")
			}
			if x.Same != "" && Of(x.Same).Same != x.Name {
				t.Errorf("it is another name of %s, but not the other way round", x.Same)
			}
			if file := len(x.Path) > 0; file != slices.Contains([]tool.Kind{tool.Read, tool.ListDir, tool.Find, tool.Search, tool.Edit, tool.Write}, x.Kind) {
				t.Error("its kind is about files and it names no member for them, or the other way round")
			}
			if (len(x.Known) > 0) != (len(x.Path) > 0 && !x.MayWrite()) {
				t.Error("a tool reads files and its members are not known, or the other way round")
			}
		})
	}
	for _, c := range []struct {
		what string
		is   func(tool.Tool) bool
		want string
	}{
		{"may write", tool.Tool.MayWrite, "Write Edit MultiEdit NotebookEdit Bash"},
		{"a rule's pattern is one of files", tool.Tool.AboutFiles, "Write Edit MultiEdit NotebookEdit Read LS Glob Grep"},
		{"a yes is no answer", tool.Tool.NeedsAnswer, "AskUserQuestion ExitPlanMode"},
	} {
		if got := strings.Join(Where(c.is), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestUnknown: of an unknown tool, or of another spelling of a known one, nothing is known.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"", "bash", "Edit ", "mcp__github__get_issue"} {
		if got := Of(name); got.Name != name || got.Kind != tool.Other || got.Title != "" {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
