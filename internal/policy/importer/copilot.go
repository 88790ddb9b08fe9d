package importer

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// Copilot CLI 1.0.102 was measured. What denies beats what allows there, as here. It takes deniedUrls of a
// repository's settings, and no allowedUrls.

//go:embed copilot.txt
var copilotPrograms string

// copilotSettings reads a JSON file of Copilot's: settings.json, config.json or permissions-config.json.
func (m *Import) copilotSettings(path string, text []byte) error {
	settings, err := objectOf(path, text)
	if err != nil {
		return err
	}
	m.each("deny", settings["deniedUrls"], m.copilotURL)
	m.each("deny", settings["disabledMcpServers"], func(action, server string) { m.mcpServer(action, "disabledMcpServers "+server, server) })
	m.each("allow", settings["allowedUrls"], m.copilotURL)
	for _, key := range []string{"trustedFolders", "trusted_folders", "defaultPermissionMode", "defaultMode", "sandbox"} {
		if raw := settings[key]; raw != nil {
			m.left(key, string(raw), "it stays Copilot's; no rule stands for it")
		}
	}
	var locations map[string]json.RawMessage
	if raw := settings["locations"]; raw != nil && json.Unmarshal(raw, &locations) != nil {
		m.left("locations", string(raw), "expected an object")
	}
	for _, dir := range slices.Sorted(maps.Keys(locations)) {
		m.copilotLocation(dir, locations[dir])
	}
	return nil
}

// copilotApproval is what was approved for one directory.
type copilotApproval struct {
	Kind     string   `json:"kind"`
	Commands []string `json:"commandIdentifiers"`
	Server   string   `json:"serverName"`
	Tool     *string  `json:"toolName"` // nil: all
}

// copilotLocation reads what was approved in one directory: it holds there only, here too.
func (m *Import) copilotLocation(dir string, raw json.RawMessage) {
	var in struct {
		Approvals   []json.RawMessage `json:"tool_approvals"`
		Directories json.RawMessage   `json:"allowed_directories"`
	}
	allow := string(hook.ActionAllow)
	if err := json.Unmarshal(raw, &in); err != nil {
		m.left(allow, dir+" "+string(raw), "what was approved there cannot be read")
		return
	}
	if in.Directories != nil {
		m.left("allowed_directories", dir+" "+string(in.Directories), "directories stay Copilot's; a rule can name paths")
	}
	place := filepath.Clean(dir)
	for _, raw := range in.Approvals {
		text := "in " + dir + " " + string(raw)
		var a copilotApproval
		switch {
		case json.Unmarshal(raw, &a) != nil:
			m.left(allow, text, "what was approved cannot be read")
			continue
		case !filepath.IsAbs(dir) || place == "/" || !plainPattern("/"+place) || strings.Contains(place, "*"):
			m.left(allow, text, "its directory cannot be written in a rule")
			continue
		}
		within, why := []string{place + "/**"}, "the rule that means the same here, in "+place
		add := func(match map[string]any, meaning string) {
			match["cwd"] = within
			m.structured(text, match, meaning, why)
		}
		switch a.Kind {
		case "commands":
			for _, name := range a.Commands {
				words, open := copilotCommand(name)
				if words == nil {
					m.left(allow, text+" "+name, neverCopilot)
					continue
				}
				args := append(make([]string, 0, len(words)), words[1:]...) // a list, also where there are none
				if open {
					args = append(args, "...")
				}
				if rule, ok := prefixRuleString(words); !ok {
					m.left(allow, text+" "+name, "a word of it has characters that a rule string cannot hold")
				} else {
					add(map[string]any{"command": map[string]any{"program": words[:1], "args": args}}, WideMeaning(rule))
				}
			}
		case "write":
			m.structured(text, map[string]any{"file": map[string]any{"op": []string{"edit", "write"}, "path": within}}, "files that are run later (scripts, hooks, Makefiles) are among those that it changes", why)
		case "read":
			m.structured(text, map[string]any{"file": map[string]any{"op": "read", "path": within}}, "", why)
		case "mcp":
			switch {
			case !plainName(a.Server) || a.Tool != nil && !plainName(*a.Tool):
				m.left(allow, text, "a name in it has characters that a rule cannot hold")
			case a.Tool == nil:
				add(map[string]any{"mcp": map[string]any{"server": a.Server}}, WideMeaning(tools.MCP+a.Server))
			default:
				add(map[string]any{"mcp": map[string]any{"server": a.Server, "tool": *a.Tool}}, "")
			}
		default:
			m.left(allow, text, "rules have nothing for it")
		}
	}
}

const neverCopilot = "which commands Copilot means by it is not known, or none"

// copilotCommand are the words that a command of this name begins with for certain in Copilot, and whether any may
// follow; nil where that is not known.
func copilotCommand(name string) (words []string, open bool) {
	words = strings.Fields(name)
	if len(words) == 0 {
		return nil, false
	}
	kind := lineWith(copilotPrograms, words[0])
	switch {
	case len(words) == 1:
		return words, kind == "one"
	case len(words) == 2 && kind == "two":
		return words, true
	}
	return nil, false
}

// copilotPattern reads what --allow-tool and --deny-tool take: kind or kind(argument).
func (m *Import) copilotPattern(action, text string) {
	kind, arg, has := strings.Cut(strings.TrimSpace(text), "(")
	kind = strings.TrimSpace(kind)
	guard := action != string(hook.ActionAllow)
	closed := true
	if has {
		arg, closed = strings.CutSuffix(arg, ")")
		arg = strings.TrimSpace(arg)
	}
	switch {
	case !closed || kind == "":
		m.unread(action, text, "expected kind or kind(argument)")
	case kind == "shell" && arg == "":
		m.foreign(action, text, []string{tools.Bash}, "", "")
	case kind == "shell":
		m.copilotShell(action, text, arg)
	case kind == "write" && guard:
		path := arg
		if strings.HasPrefix(path, "/") {
			path = "/" + path
		} else if path != "" {
			path = "**/" + strings.TrimPrefix(path, "./")
		}
		rules := []string{tools.Edit + "(" + path + ")"}
		if path == "" {
			rules = []string{tools.Edit}
		}
		m.foreign(action, text, rules, tools.Edit, "")
	case kind == "write":
		m.copilotWrite(text, arg)
	case kind == "url" && arg == "":
		m.foreign(action, text, []string{tools.WebFetch}, "", "")
	case kind == "url":
		m.copilotURL(action, arg)
	case kind == "read" || kind == "memory":
		if kind == "read" && guard && arg == "" {
			m.foreign(action, text, readers(), "", "")
			return
		}
		m.unread(action, text, "what it means is not known")
	case arg == "":
		m.mcpServer(action, text, kind)
	default:
		m.mcpTool(action, text, kind, arg)
	}
}

// copilotShell adds a rule about commands. One that denies is read as wide as it can be meant.
func (m *Import) copilotShell(action, text, arg string) {
	name, stem := strings.CutSuffix(arg, ":*")
	words, open := copilotCommand(name)
	if stem && (len(strings.Fields(name)) == 1 || words != nil) {
		words, open = strings.Fields(name), true
	}
	instead := tools.Bash
	if action != string(hook.ActionAllow) {
		words, open = strings.Fields(name), true
		if len(words) > 0 {
			instead = programRule(words)
		}
	}
	if len(words) == 0 {
		m.foreign(action, text, nil, instead, neverCopilot)
		return
	}
	rule, ok := prefixRuleString(words)
	switch {
	case !ok:
		m.foreign(action, text, nil, instead, "a word of it has characters that a rule string cannot hold")
	case open:
		m.foreign(action, text, []string{rule}, instead, "")
	default:
		m.foreign(action, text, []string{strings.TrimSuffix(rule, ":*)") + ")"}, instead, "for certain it means the command without arguments only")
	}
}

// copilotWrite adds an allow for changing files: Copilot keeps to its working directory and below, and so does
// the rule.
func (m *Import) copilotWrite(text, path string) {
	const runLater = "files that are run later (scripts, hooks, Makefiles) are among those that it changes"
	pattern, meaning := "", ""
	switch {
	case path == "":
		pattern, meaning = "${project}/**", runLater
	case strings.Contains(path, "*") || !plainPattern(path) && !(strings.HasPrefix(path, "/") && plainPattern("/"+path)):
		m.left(string(hook.ActionAllow), text, "its path may mean something else here")
		return
	case strings.HasPrefix(path, "/"):
		pattern = path
	default:
		pattern = "${project}/**/" + strings.TrimPrefix(path, "./")
	}
	m.structured(text, map[string]any{"file": map[string]any{"op": []string{"edit", "write"}, "path": pattern}}, meaning, "the rule that means the same here")
}

// copilotURL adds a rule about an address: a host, with or without scheme, or an exact address. Copilot looks for
// addresses in commands too: what denies one is about commands in which the host stands.
func (m *Import) copilotURL(action, text string) {
	full := strings.TrimSpace(text)
	if !strings.Contains(full, "://") {
		full = "https://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || strings.Trim(u.Hostname(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-*") != "" {
		m.foreign(action, text, nil, tools.WebFetch, "it is no address with a plain host")
		return
	}
	host := strings.ToLower(u.Hostname())
	if action != string(hook.ActionAllow) {
		m.foreign(action, text, []string{tools.WebFetch + "(domain:" + host + ")", tools.Bash + "(* *" + strings.TrimPrefix(host, "*.") + "*)"}, tools.WebFetch, "")
		return
	}
	name := strings.TrimPrefix(host, "*.")
	if u.Port() != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" || name == "" || strings.Contains(name, "*") {
		m.left(action, text, "a rule for it would allow more, or cannot be written")
		return
	}
	match := map[string]any{"scheme": u.Scheme, "host": host}
	if u.Path != "" && u.Path != "/" {
		if strings.ContainsAny(u.Path, "*?[]{}") {
			m.left(action, text, "its path may mean something else here")
			return
		}
		match["path"] = u.EscapedPath()
	}
	m.structured(text, map[string]any{"url": match}, "", "the rule that means the same here")
}

// copilotFiles are the files of Copilot's that say what is allowed, in its directory.
var copilotFiles = []string{"config.json", "permissions-config.json", "settings.json"} // read-only

// errNoCopilot says that a script starts no Copilot.
func errNoCopilot(path string) error {
	return fmt.Errorf("read %s: no command in it starts copilot; name settings.json, config.json, permissions-config.json, or a script with copilot --allow-tool …", path)
}
