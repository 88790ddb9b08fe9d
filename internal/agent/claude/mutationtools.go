package claude

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
)

// MutationTools are the tools whose calls are mutations.
type MutationTools struct {
	names    []string // in lower case
	prefixes []string // of names that end in *
}

// DefaultMutationTools are those of Claude Code that change files or may, and those of MCP servers,
// of which nobody knows what they do.
func DefaultMutationTools() MutationTools {
	t, err := ParseMutationTools(DefaultMutationNames())
	if err != nil {
		panic(err) // the table's names are names
	}
	return t
}

// DefaultMutationNames are the names of DefaultMutationTools, as ParseMutationTools reads them.
func DefaultMutationNames() []string {
	return append(tools.Where(tool.Tool.MayWrite), tools.MCP+"*")
}

// AllMutationTools are all tools.
func AllMutationTools() MutationTools { return MutationTools{prefixes: []string{""}} }

// maxMutationTools bounds a list.
const maxMutationTools = 200

// ParseMutationTools reads names of tools, in any case. A * at the end stands for any end, alone for
// all tools.
func ParseMutationTools(list []string) (t MutationTools, err error) {
	if len(list) == 0 || len(list) > maxMutationTools {
		return t, fmt.Errorf("want 1 to %d names of tools, or * for all", maxMutationTools)
	}
	for _, text := range list {
		low := strings.ToLower(strings.TrimSpace(text))
		name, open := strings.CutSuffix(low, "*")
		odd := func(r rune) bool { return r == '*' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
		if low == "" || len(low) > 255 || !utf8.ValidString(text) || strings.ContainsFunc(name, odd) {
			return t, fmt.Errorf("%.64q is no name of a tool, such as Write; a * may stand at its end, or alone for all", text)
		}
		if open {
			t.prefixes = append(t.prefixes, name)
		} else {
			t.names = append(t.names, name)
		}
	}
	return t, nil
}

func (t MutationTools) has(tool string) bool {
	low := strings.ToLower(tool)
	return slices.Contains(t.names, low) || slices.ContainsFunc(t.prefixes, func(p string) bool { return strings.HasPrefix(low, p) })
}
