package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// geminiTools are Gemini CLI's tools by the names that rules have for them.
var geminiTools = map[string]string{ // read-only
	"run_shell_command": tools.Bash, "write_file": tools.Write, "replace": tools.Edit, "read_file": tools.Read,
	"web_fetch": tools.WebFetch, "google_web_search": tools.WebSearch,
}

// geminiRule is a [[rule]] of Gemini CLI's policy files. What it says of priorities is not needed: in rules a deny
// beats an ask beats an allow, so that nothing is wider here than there.
type geminiRule struct {
	ToolName      any    `toml:"toolName"` // a text, or a list of them
	McpName       string `toml:"mcpName"`
	CommandPrefix any    `toml:"commandPrefix"`
	CommandRegex  string `toml:"commandRegex"`
	ArgsPattern   string `toml:"argsPattern"`
	Decision      string `toml:"decision"`
	Modes         []any  `toml:"modes"`
}

// geminiPolicy reads a policy file of Gemini CLI.
func (m *Import) geminiPolicy(path string, text []byte) error {
	var file struct {
		Rule []geminiRule `toml:"rule"`
	}
	meta, err := toml.Decode(string(text), &file)
	if err != nil {
		return tomlError(path, err)
	}
	unknown := map[string]bool{}
	for _, key := range meta.Undecoded() {
		if len(key) > 0 && key[0] != "rule" {
			unknown[key[0]] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		m.left(key, path, "it is no rule")
	}
	if key := misspelt(meta); key != "" {
		return fmt.Errorf("read %s: the member %q of a rule is spelled in another case than Gemini knows it; correct it there first", path, key)
	}
	// Members that narrow a rule in a way that is not known must not be dropped from one that allows.
	narrowed := len(unknownMembers(meta)) > 0
	for _, r := range file.Rule {
		m.geminiRule(r, narrowed, unknownMembers(meta))
	}
	return nil
}

// unknownMembers are members of rules that this reader does not know.
func unknownMembers(meta toml.MetaData) []string {
	known := []string{"priority", "allowRedirection", "denyMessage", "description", "interactive"}
	found := map[string]bool{}
	for _, key := range meta.Undecoded() {
		if len(key) > 1 && key[0] == "rule" && !slices.Contains(known, key[1]) {
			found[key[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// misspelt is a member of a rule that differs from a known one in its case only: Gemini passes it over, and this
// reader of TOML would not.
func misspelt(meta toml.MetaData) string {
	known := []string{"toolName", "mcpName", "commandPrefix", "commandRegex", "argsPattern", "decision", "modes", "rule"}
	for _, key := range meta.Keys() {
		for _, part := range key {
			for _, name := range known {
				if part != name && strings.EqualFold(part, name) {
					return part
				}
			}
		}
	}
	return ""
}

func (m *Import) geminiRule(r geminiRule, narrowed bool, members []string) {
	text := r.text()
	action := map[string]string{"allow": "allow", "ask_user": "ask", "deny": "deny"}[r.Decision]
	if action == "" {
		m.left("rule", text, "its decision is none of allow, ask_user and deny")
		return
	}
	names, ok := texts(r.ToolName)
	if !ok {
		m.left(action, text, "its toolName is no text")
		return
	}
	prefixes, ok := texts(r.CommandPrefix)
	if !ok {
		m.left(action, text, "its commandPrefix is no text")
		return
	}
	for _, name := range names {
		tool, ok := geminiTool(name, r.McpName)
		if !ok {
			m.left(action, text, "which tool "+name+" is here is not known")
			continue
		}
		switch {
		case r.CommandRegex != "" || r.ArgsPattern != "":
			m.foreign(action, text, nil, tool, "a regular expression over the arguments is no rule here")
		case narrowed && action == string(hook.ActionAllow):
			m.left(action, text, "what its members "+strings.Join(members, ", ")+" mean is not known")
		case len(r.Modes) > 0:
			m.foreign(action, text, nil, tool, "it holds in some of Gemini's modes only, and a rule holds in all")
		case len(prefixes) > 0 && tool != tools.Bash:
			m.left(action, text, "a commandPrefix is for commands")
		case len(prefixes) > 0:
			m.prefixes(action, text, prefixes)
		default:
			m.foreign(action, text, []string{tool}, "", "")
		}
	}
}

// prefixes adds a rule about commands that begin with one of these texts.
func (m *Import) prefixes(action, text string, prefixes []string) {
	var rules []string
	for _, p := range prefixes {
		words := strings.Fields(p)
		rule, ok := "", len(words) > 0
		if ok {
			rule, ok = prefixRuleString(words)
		}
		if !ok {
			m.foreign(action, text, nil, tools.Bash, "a prefix of it has characters that a rule string cannot hold")
			return
		}
		rules = append(rules, rule)
	}
	m.foreign(action, text, rules, "", "")
}

// text is the rule as it is told to a person.
func (r geminiRule) text() string {
	parts := []string{}
	for _, x := range []struct {
		name  string
		value any
	}{{"toolName", r.ToolName}, {"mcpName", r.McpName}, {"commandPrefix", r.CommandPrefix}, {"commandRegex", r.CommandRegex}, {"argsPattern", r.ArgsPattern}, {"decision", r.Decision}} {
		if x.value == nil || x.value == "" {
			continue
		}
		b, err := json.Marshal(x.value)
		if err != nil {
			continue
		}
		parts = append(parts, x.name+" = "+string(b))
	}
	return strings.Join(parts, ", ")
}

// geminiTool is the name that rules have for a tool of Gemini CLI.
func geminiTool(name, server string) (string, bool) {
	if server != "" {
		if strings.ContainsAny(server+name, "*_ ") && !plainName(server, name) {
			return "", false
		}
		return "mcp__" + server + "__" + name, plainName(server, name)
	}
	tool, ok := geminiTools[name]
	return tool, ok
}

// plainName says whether names are letters, digits, dashes and single underscores.
func plainName(names ...string) bool {
	for _, name := range names {
		if name == "" || strings.Contains(name, "__") || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}
	return true
}

// texts are a text, or the texts of a list; none for nil.
func texts(v any) (list []string, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case []any:
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}

// geminiSettings reads what Gemini CLI's settings.json allows and excludes: tools.allowed, tools.exclude, and the
// names of before, allowedTools and excludeTools.
func (m *Import) geminiSettings(path string, text []byte) error {
	plain, err := standardJSON(text)
	if err != nil {
		return fmt.Errorf("read settings %s: %w", path, err)
	}
	var settings struct {
		Tools struct {
			Allowed []string        `json:"allowed"`
			Exclude []string        `json:"exclude"`
			Core    json.RawMessage `json:"core"`
			Mode    json.RawMessage `json:"approvalMode"`
		} `json:"tools"`
		Allowed []string `json:"allowedTools"`
		Exclude []string `json:"excludeTools"`
	}
	if err := json.Unmarshal(plain, &settings); err != nil {
		return fmt.Errorf("read settings %s: %w", path, err)
	}
	for _, x := range slices.Concat(settings.Tools.Exclude, settings.Exclude) {
		m.geminiString("deny", x)
	}
	for _, x := range slices.Concat(settings.Tools.Allowed, settings.Allowed) {
		m.geminiString("allow", x)
	}
	for key, raw := range map[string]json.RawMessage{"tools.core": settings.Tools.Core, "tools.approvalMode": settings.Tools.Mode} {
		if raw != nil {
			m.left(key, string(raw), "it stays Gemini's; no rule stands for it")
		}
	}
	return nil
}

// geminiString reads an entry such as run_shell_command(git status) or write_file.
func (m *Import) geminiString(action, text string) {
	name, rest, has := strings.Cut(text, "(")
	tool, ok := geminiTool(strings.TrimSuffix(name, "Tool"), "")
	if name == "ShellTool" {
		tool, ok = tools.Bash, true
	}
	switch {
	case !ok:
		m.left(action, text, "which tool "+name+" is here is not known")
	case !has:
		m.foreign(action, text, []string{tool}, "", "")
	case tool == tools.Bash && strings.HasSuffix(rest, ")"):
		m.prefixes(action, text, []string{strings.TrimSuffix(rest, ")")})
	default:
		m.foreign(action, text, nil, tool, "what stands in the parentheses is no rule here")
	}
}

// tomlError names the place of what cannot be read.
func tomlError(path string, err error) error {
	var at toml.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("read %s:%d:%d: %s", path, at.Position.Line, at.Position.Col, at.Message)
	}
	return fmt.Errorf("read %s: %w", path, err)
}
