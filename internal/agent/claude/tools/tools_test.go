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
			about := slices.DeleteFunc(slices.Concat(x.Path, []string{x.Command, x.URL, x.Pattern}), func(m string) bool { return m == "" })
			if len(x.Known) > 0 != (len(about) > 0) {
				t.Error("a rule may be about its files, command or address and its members are not known, or the other way round")
			}
			for _, m := range x.Members {
				if len(about) > 0 {
					about = append(about, m.Name)
				}
			}
			for _, m := range about {
				if !slices.Contains(x.Known, m) {
					t.Errorf("member %s is not among those that are known", m)
				}
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
