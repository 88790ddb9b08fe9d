package policy

import (
	"fmt"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
)

// MeantTool is the tool that a misspelt name was most likely meant for; empty for others.
func MeantTool(name string) string {
	if toolMistake(name) == nil {
		return ""
	}
	for _, known := range tools.Names() {
		if misspelt(known, name) {
			return known
		}
	}
	return ""
}

func misspelt(known, name string) bool {
	most := 1
	if len(name) > 5 {
		most = 2
	}
	return strings.EqualFold(known, name) || near(strings.ToLower(known), strings.ToLower(name), most)
}

// toolMistake says that a name was most likely meant to be that of another tool.
func toolMistake(name string) error {
	if slices.Contains(tools.Names(), name) || strings.Contains(name, "*") || strings.HasPrefix(name, "mcp__") {
		return nil
	}
	if strings.HasPrefix(strings.ToLower(name), "mcp_") {
		return fmt.Errorf("there is no tool %q; the tools of an MCP server are mcp__SERVER__TOOL", short(name))
	}
	for _, known := range tools.Names() {
		if misspelt(known, name) {
			return fmt.Errorf("there is no tool %q; did you mean %s?", short(name), known)
		}
	}
	return nil
}

// unknownTool says whether no tool of that name, or that fits the pattern, is known.
func unknownTool(name string) bool {
	g := textGlob(name)
	return !strings.HasPrefix(name, "mcp_") && !slices.ContainsFunc(tools.Names(), g.match)
}

// near says whether two words differ by at most so many letters that are added, left out, changed
// or in the place of their neighbour.
func near(a, b string, most int) bool {
	if len(a)-len(b) > most || len(b)-len(a) > most || len(b) > 64 {
		return false
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := 1
			if a[i-1] == b[j-1] {
				d = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+d)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(b)] <= most
}

// sameTools are the names that a tool has or had: what is said of one holds for the other.
func sameTools(name string) []glob {
	if same := tools.Of(name).Same; same != "" {
		return []glob{textGlob(name), textGlob(same)}
	}
	g := textGlob(name)
	if strings.Contains(name, "*") && g.match(tools.Task) != g.match(tools.Agent) {
		return []glob{g, textGlob(tools.Task), textGlob(tools.Agent)}
	}
	return []glob{g}
}

// parameter reads the specifier parameter:value. sure: it cannot be anything else.
func parameter(name, spec string) (m inputMatch, sure, ok bool) {
	key, value, has := strings.Cut(spec, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !has || value == "" || !memberName(key) {
		return m, false, false
	}
	known := slices.Contains(tools.Parameters, key)
	switch tools.Of(name).Kind {
	case tool.Command:
		// timeout:* is a program's name with anything behind it.
		sure = slices.Contains([]string{"run_in_background", "dangerouslyDisableSandbox"}, key) || value != "*" && slices.Contains([]string{"command", "description", "timeout"}, key)
		if !sure {
			return m, false, false
		}
	case tool.Skill: // plugin:name and name:* are others
		sure = key == "skill" || key == "args" && value != "*"
	case tool.Fetch:
		sure = key != "domain"
	default:
		sure = known
	}
	return inputMatch{key, []glob{textGlob(value)}}, sure, true
}

func memberName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && (c >= '0' && c <= '9' || c == '-')) {
			return false
		}
	}
	return s != ""
}
