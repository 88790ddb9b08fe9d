package importer

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
)

// Qwen Code 0.24.4 was read and measured. A deny beats an ask there, and that an allow, as here.

//go:embed qwen.txt
var qwenNames string

// qwenSettings reads Qwen Code's settings.json: permissions.allow, ask and deny, the older tools.allowed and
// tools.exclude with their names of before, and what else there keeps tools or servers away.
func (m *Import) qwenSettings(path string, text []byte) error {
	settings, err := objectOf(path, text)
	if err != nil {
		return err
	}
	in := func(name string) map[string]json.RawMessage {
		raw := settings[name]
		if raw == nil {
			return nil
		}
		var o map[string]json.RawMessage
		if json.Unmarshal(raw, &o) != nil {
			m.unread("deny", name+" "+string(raw), "expected an object")
		}
		return o
	}
	permissions, toolSettings, mcp := in("permissions"), in("tools"), in("mcp")
	m.each("deny", permissions["deny"], m.qwenRule)
	m.each("deny", toolSettings["exclude"], m.qwenRule)
	m.each("deny", toolSettings["disabled"], m.qwenRule)
	m.each("deny", settings["excludeTools"], m.qwenRule)
	m.each("ask", permissions["ask"], m.qwenRule)
	m.each("allow", permissions["allow"], m.qwenRule)
	m.each("allow", toolSettings["allowed"], m.qwenRule)
	m.each("allow", settings["allowedTools"], m.qwenRule)
	for _, raw := range []json.RawMessage{mcp["excluded"], settings["excludeMCPServers"]} {
		m.each("deny", raw, func(action, server string) { m.mcpServer(action, server, server) })
	}
	m.qwenServers(in("mcpServers"))
	named := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(permissions)) {
		if !slices.Contains([]string{"allow", "ask", "deny"}, key) {
			named["permissions."+key] = permissions[key]
		}
	}
	for _, key := range []string{"approvalMode", "autoAccept", "core", "sandbox"} {
		named["tools."+key] = toolSettings[key]
	}
	for _, key := range []string{"autoAccept", "coreTools", "allowMCPServers"} {
		named[key] = settings[key]
	}
	named["mcp.allowed"] = mcp["allowed"]
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if named[key] != nil {
			m.left(key, string(named[key]), "it stays Qwen Code's; no rule stands for it")
		}
	}
	return nil
}

// qwenServers reads what the settings of MCP servers say of their tools.
func (m *Import) qwenServers(servers map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		var server map[string]json.RawMessage
		if json.Unmarshal(servers[name], &server) != nil {
			m.unread("deny", "mcpServers."+name, "expected an object")
			continue
		}
		m.each("deny", server["excludeTools"], func(action, tool string) {
			m.mcpTool(action, "mcpServers."+name+".excludeTools "+tool, name, tool)
		})
		for _, key := range []string{"trust", "includeTools"} {
			if raw := server[key]; raw != nil {
				m.left("mcpServers."+name+"."+key, string(raw), "it stays Qwen Code's; no rule stands for it")
			}
		}
	}
}

// qwenRule reads a rule: Tool, Tool(specifier) or mcp__server__tool.
func (m *Import) qwenRule(action, text string) {
	rule := strings.TrimSpace(text)
	if rule == "" {
		m.left(action, text, "there is nothing in it")
		return
	}
	name, spec, has := strings.Cut(rule, "(")
	name = strings.TrimSpace(name)
	means := qwenTool(name)
	kind := tools.Of(means).Kind
	closed := true
	if has {
		spec, closed = strings.CutSuffix(spec, ")")
	}
	if strings.HasPrefix(name, tools.MCP) {
		m.qwenMCP(action, text, name, has && spec != "")
		return
	}
	switch {
	case means == "":
		m.stranger(action, text, name)
	case !closed:
		m.foreign(action, text, nil, means, "the ( has no ) at the end, and Qwen Code passes it over")
	case spec == "":
		m.qwenWhole(action, text, means)
	case means == tools.Bash:
		m.qwenCommand(action, text, strings.ReplaceAll(spec, ":*", " *"))
	case tools.Of(means).AboutFiles():
		m.qwenPath(action, text, means, spec)
	case means == tools.WebFetch:
		m.qwenHost(action, text, strings.TrimSpace(strings.TrimPrefix(spec, "domain:")))
	case (kind == tool.Subagent || kind == tool.Skill) && (action != string(hook.ActionAllow) || !strings.ContainsAny(spec, ":*,")) && !strings.Contains(spec, ","):
		m.foreign(action, text, []string{means + "(" + spec + ")"}, means, "")
	default:
		m.foreign(action, text, nil, means, "what stands in the parentheses is no rule here")
	}
}

// qwenTool is the name that rules have for a tool that Qwen Code's call name, "" for others.
func qwenTool(name string) string {
	return lineWith(qwenNames, name)
}

// stranger adds a rule about a tool that rules have no name for: nothing can allow it here, and what denies it is
// carried over under its own name where that can be written.
func (m *Import) stranger(action, text, name string) {
	if guard := action != string(hook.ActionAllow); guard && plainName(name) {
		if ruleStringProblem(action, name) == "" {
			m.foreign(action, text, []string{name}, "", "rules know no tool of that name")
			return
		}
	}
	m.left(action, text, "which tool "+name+" is here is not known, so that no rule of this file allows it")
}

// qwenWhole adds a rule about a whole tool. Read and Edit stand for several there.
func (m *Import) qwenWhole(action, text, tool string) {
	rules := []string{tool}
	switch {
	case tool == tools.Read:
		rules = readers()
	case tool == tools.Edit:
		rules = writers()
	case tool == tools.Bash && action != string(hook.ActionAllow):
		rules = append(rules, tools.Monitor) // runs commands, too
	}
	if tool == tools.Monitor && action == string(hook.ActionAllow) {
		m.left(action, text, "it runs any command; a rule that allows must name a program")
		return
	}
	m.foreign(action, text, rules, "", "")
}

// qwenCommand adds a rule about commands. Without a * it means the words and any further ones; a * elsewhere than
// at the end means anything there, and in an allow here one argument.
func (m *Import) qwenCommand(action, text, spec string) {
	words := strings.Fields(spec)
	instead := tools.Bash
	if len(words) > 0 {
		if p, ok := prefixRuleString(words[:1]); ok {
			instead = p
		}
	}
	switch {
	case len(words) == 0 || spec == "*":
		m.qwenWhole(action, text, tools.Bash)
	case strings.ContainsAny(spec, "|&;<>()$`\"'\\{}\n#!?[]~"):
		m.foreign(action, text, nil, instead, "it has characters that a rule string cannot hold")
	case action == string(hook.ActionAllow) && strings.Join(words, " ") != spec:
		m.left(action, text, "Qwen Code compares its spaces, too, and it never matches there")
	case !strings.Contains(spec, "*"):
		m.foreign(action, text, []string{tools.Bash + "(" + strings.Join(words, " ") + ":*)"}, instead, "")
	case action == string(hook.ActionAllow) && strings.Contains(words[0], "*"):
		m.left(action, text, "a rule that allows must name a program")
	default:
		m.foreign(action, text, []string{tools.Bash + "(" + strings.Join(words, " ") + ")"}, instead, "")
	}
}

// qwenPath adds a rule about files. An allow is carried over where the pattern means the same to both readers.
func (m *Import) qwenPath(action, text, tool, spec string) {
	guard := action != string(hook.ActionAllow)
	path := spec
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		path = "." + path // below the project there; here one / is the directory of the rules
	}
	for strings.Contains(path, "/**/**") {
		path = strings.ReplaceAll(path, "/**/**", "/**")
	}
	if path == "*" && !guard {
		path = "./*" // which here stands for the whole tool
	}
	if guard {
		rule := tools.Read
		if tools.Of(tool).MayWrite() {
			rule = tools.Edit
		}
		m.foreign(action, text, []string{rule + "(" + path + ")"}, rule, "")
		return
	}
	switch {
	case !plainPattern(path):
		m.left(action, text, "its pattern may mean something else here")
	case tool == tools.Read || tool == tools.Edit:
		m.foreign(action, text, []string{tool + "(" + path + ")"}, "", "")
	case tool == tools.Write:
		m.structured(text, map[string]any{"file": map[string]any{"op": "write", "path": rulePath(path)}}, "", "the rule that means the same here")
	default:
		m.left(action, text, "a rule here is about all tools that read, or all that change, and would allow more")
	}
}

// plainPattern says whether a pattern of paths means the same in rules and to the usual matchers of other agents.
func plainPattern(path string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(path, "//"), "~/"), "./"), "/") {
		if part == "" || part == "." || part == ".." || strings.Contains(part, "**") && part != "**" {
			return false
		}
		for _, c := range part {
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-*@+ ", c)) {
				return false
			}
		}
	}
	return path == strings.TrimSpace(path) && !strings.Contains(path, "+(") && !strings.Contains(path, "@(")
}

// rulePath is the path of a rule string as structured rules write it.
func rulePath(path string) string {
	switch {
	case strings.HasPrefix(path, "//"):
		return path[1:]
	case strings.HasPrefix(path, "~/"):
		return path
	}
	return "${project}/" + strings.TrimPrefix(path, "./")
}

// qwenHost adds a rule about a host and what is below it.
func (m *Import) qwenHost(action, text, host string) {
	rules := []string{tools.WebFetch + "(domain:" + host + ")"}
	if action == string(hook.ActionAllow) {
		if strings.Contains(host, "*") {
			m.left(action, text, "Qwen Code reads no * in a host: it never matches there")
			return
		}
		rules = append(rules, tools.WebFetch+"(domain:*."+host+")")
	}
	m.foreign(action, text, rules, tools.WebFetch, "")
}

// qwenMCP adds a rule about the tools of a server.
func (m *Import) qwenMCP(action, text, name string, specified bool) {
	if specified {
		m.foreign(action, text, nil, name, "what stands in the parentheses is no rule here")
		return
	}
	m.foreign(action, text, []string{name}, "", "")
}

// readers are the tools that read files, and writers those that change them.
func readers() []string {
	return tools.Where(func(t tool.Tool) bool { return t.AboutFiles() && !t.MayWrite() })
}

func writers() []string {
	return tools.Where(func(t tool.Tool) bool { return t.AboutFiles() && t.MayWrite() })
}

// lineWith is the key of the line of a table that has a word; "" where none has.
func lineWith(table, word string) string {
	for line := range strings.Lines(table) {
		if key, words, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(key, "#") && slices.Contains(strings.Fields(words), word) {
			return key
		}
	}
	return ""
}

// mcpServer adds a rule about all tools of a server.
func (m *Import) mcpServer(action, text, server string) {
	if !plainName(server) {
		m.unread(action, text, "the server's name has characters that a rule cannot hold")
		return
	}
	m.foreign(action, text, []string{tools.MCP + server}, "", "")
}

// mcpTool adds a rule about one tool of a server.
func (m *Import) mcpTool(action, text, server, tool string) {
	switch {
	case !plainName(server):
		m.unread(action, text, "the server's name has characters that a rule cannot hold")
	case !plainName(tool):
		m.foreign(action, text, nil, tools.MCP+server, "the tool's name has characters that a rule cannot hold")
	default:
		m.foreign(action, text, []string{tools.MCP + server + "__" + tool}, tools.MCP+server, "")
	}
}

// objectOf reads a JSON file that may hold comments.
func objectOf(path string, text []byte) (map[string]json.RawMessage, error) {
	plain, err := standardJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read settings %s: %w", path, err)
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(plain, &o); err != nil {
		return nil, fmt.Errorf("read settings %s: expected a JSON object", path)
	}
	return o, nil
}

// each hands over the texts of a list. What is no list of texts is named, as something that was not understood.
func (m *Import) each(action string, raw json.RawMessage, take func(action, text string)) {
	if raw == nil || string(raw) == "null" {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		m.unread(action, string(raw), "expected a list")
		return
	}
	for _, item := range list {
		var s string
		if len(item) == 0 || item[0] != '"' || json.Unmarshal(item, &s) != nil {
			m.unread(action, string(item), "expected a text")
			continue
		}
		take(action, s)
	}
}
