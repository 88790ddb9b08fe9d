package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
)

// freeText are members whose values are texts of any kind: quotes may stand in them.
var freeText = []string{"args", "command", "content", "description", "edits", "new_source", "new_string", "old_string", "pattern", "prompt", "query"} // read-only

// unmatchable says why no call can match what stands between the parentheses of a rule string: its author means
// something else, and a denial would do nothing.
func unmatchable(name, spec string, t tool.Tool) error {
	spec = strings.TrimSpace(spec)
	if inner, ok := quoted(strings.TrimSpace(strings.TrimSuffix(spec, ":*"))); ok {
		if t.Kind != tool.Command {
			return fmt.Errorf("no call has these quotes around it; write %s(%s)", name, short(inner))
		}
		if strings.ContainsAny(inner, " \t") {
			return fmt.Errorf("no program is named %q; write the command without quotes around it", short(inner))
		}
	}
	if t.Kind == tool.Command {
		return nil
	}
	if strings.ContainsFunc(spec, unicode.IsControl) {
		return errors.New("there is a control character in it, such as a line break")
	}
	if t.AboutFiles() && strings.Contains(spec, "://") {
		return errors.New("a file has a path and no address; write the path")
	}
	key, value, has := strings.Cut(spec, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	names := t.Kind == tool.Subagent || t.Kind == tool.Skill
	if member, rest, ok := strings.Cut(spec, "="); names && ok {
		return fmt.Errorf("a member of the input is written %s:%s", short(strings.TrimSpace(member)), short(strings.TrimSpace(rest)))
	}
	if names && has && value == "" {
		return fmt.Errorf("there is no value behind %q", short(spec))
	}
	if !has || !memberName(key) {
		return nil
	}
	if inner, ok := quoted(value); ok && !slices.Contains(freeText, key) {
		return fmt.Errorf("no call has these quotes in it; write %s(%s:%s)", name, key, short(inner))
	}
	if knownMember(t, key) {
		return nil
	}
	for _, known := range tools.Parameters {
		if len(known) > 4 && len(key) > 4 && misspelt(known, key) {
			return fmt.Errorf("no call of %s has a member %q; did you mean %s?", name, key, known)
		}
	}
	if len(t.Members) > 0 && !t.Specified && value != "" {
		return fmt.Errorf("no call of %s has a member %q", name, key)
	}
	return nil
}

// knownMember says whether calls of a tool may have that member, as far as is known.
func knownMember(t tool.Tool, key string) bool {
	return slices.Contains(tools.Parameters, key) || slices.Contains(t.Known, key) || t.Kind == tool.Fetch && key == "domain" ||
		slices.ContainsFunc(t.Members, func(m tool.Member) bool { return m.Name == key }) || t.List != nil && t.List.Name == key
}

// quoted is the text between quotes that stand around all of it, and nowhere else.
func quoted(s string) (string, bool) {
	if len(s) < 2 || !strings.ContainsRune("'\"`", rune(s[0])) || s[len(s)-1] != s[0] {
		return "", false
	}
	inner := s[1 : len(s)-1]
	return inner, inner != "" && !strings.Contains(inner, s[:1])
}

// UnknownMember notes a rule string that denies or asks about a member that calls of its tool are not known to have;
// "" for others.
func UnknownMember(text string) string {
	name, spec, has := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	key, _, colon := strings.Cut(spec, ":")
	key = strings.TrimSpace(key)
	t := tools.Of(name)
	if !has || !colon || !memberName(key) || t.Specified || strings.HasPrefix(name, tools.MCP) || strings.Contains(name, "*") || knownMember(t, key) {
		return ""
	}
	return fmt.Sprintf("no call of %s is known to have a member %q: the rule may never match", short(name), key)
}
