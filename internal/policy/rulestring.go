package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/policy/shell"
)

// toolName is the name of a tool, or a pattern for one.
var toolName = lazily(`^[A-Za-z_*][A-Za-z0-9_.*-]*$`)

// readRuleString compiles a permission rule of Claude Code's settings: Tool, Tool(specifier) or
// mcp__server__tool. guard: the rule denies or asks, and is read as wide as it can be meant.
func readRuleString(s, settingsDir string, guard bool) (*match, error) {
	name, spec, has := strings.Cut(s, "(")
	t := tools.Of(name)
	if has {
		var ok bool
		if spec, ok = strings.CutSuffix(spec, ")"); !ok {
			return nil, errors.New("the ( has no ) at the end")
		}
	}
	if !toolName.MatchString(name) {
		return nil, fmt.Errorf("expected the name of a tool, such as Bash(npm test:*), Read(./docs/**), %s(domain:go.dev), mcp__github__get_*; got %q", tools.WebFetch, short(name))
	}
	if err := toolMistake(name); err != nil {
		return nil, err
	}
	if has && strings.TrimSpace(spec) == "" {
		return nil, errors.New("there is nothing between ( and )")
	}
	if has && strings.TrimSpace(spec) == "*" && t.Kind != tool.Command {
		has = false
	}
	if has && !strings.HasPrefix(name, tools.MCP) {
		if err := unmatchable(name, spec, t); err != nil {
			return nil, err
		}
	}
	if has {
		switch p, sure, ok := parameter(name, spec); {
		case t.Kind == tool.Fetch && p.key != "url" && p.key != "prompt": // WebFetch(https://HOST) is no member https
		case ok && sure && !guard:
			return nil, fmt.Errorf("%s(%s) is about the parameter %s, which only a rule that denies or asks may be about", name, short(spec), p.key)
		case ok && sure && p.key == "file_path" || ok && sure && p.key == "notebook_path":
			_, spec, _ = strings.Cut(spec, ":")
		case ok && sure, ok && guard && (strings.HasPrefix(name, tools.MCP) || !t.Specified):
			m := &match{tools: sameTools(name), agents: []inputMatch{p}}
			if strings.HasPrefix(name, tools.MCP) {
				m.tools = append(m.tools, textGlob(name+"__*"))
			}
			return m, nil
		}
	}
	if strings.HasPrefix(name, tools.MCP) {
		if has {
			return nil, errors.New("a rule for an MCP tool has no (…); use rules: with match: {mcp: …}")
		}
		return mcpString(name, guard)
	}
	if !has {
		return bareTool(name, guard)
	}
	switch {
	case !t.Specified:
	case t.Kind == tool.Command:
		return bashString(spec, guard)
	case t.AboutFiles() && t.MayWrite():
		return fileString(opEdit|opWrite, spec, settingsDir, guard)
	case t.AboutFiles():
		if guard && t.Kind == tool.Read { // as Claude Code has it: who may not read a file may not change it
			m, err := fileString(opRead, spec, settingsDir, guard)
			if err == nil {
				m.file.also = opEdit | opWrite
			}
			return m, err
		}
		return fileString(opRead, spec, settingsDir, guard)
	case t.Kind == tool.Fetch:
		host, ok := strings.CutPrefix(spec, "domain:")
		host = strings.TrimRight(strings.ToLower(strings.TrimSpace(host)), ".")
		if !ok || host == "" || strings.ContainsAny(host, "/: '\"`()[]{},;?#@\\|&=") {
			return nil, errors.New("expected " + name + "(domain:HOST), with * for parts of the host")
		}
		if !guard && strings.Trim(host, "*.") == "" {
			return nil, errors.New("a rule that allows needs a host")
		}
		return &match{url: &urlMatch{hosts: []glob{textGlob(host)}}}, nil
	case t.Kind == tool.Subagent:
		m := &match{tools: sameTools(name), agents: []inputMatch{{"subagent_type", []glob{textGlob(strings.TrimSpace(spec))}}}}
		if p, _, ok := parameter(name, spec); ok && guard { // plugin:agent is a name, too
			m.orInput = &p
		}
		return m, nil
	case t.Kind == tool.Skill:
		skill := strings.TrimSuffix(spec, ":*")
		skill = strings.TrimSuffix(skill, " *")
		return &match{tools: []glob{{src: name, exact: true}}, agents: []inputMatch{{"skill", []glob{textGlob(strings.TrimSpace(skill))}}}}, nil
	}
	return nil, fmt.Errorf("what %s(…) means is not known here; a bare %s means the whole tool", name, name)
}

func bareTool(name string, guard bool) (*match, error) {
	if !guard {
		switch {
		case tools.Of(name).Kind == tool.Command:
			return nil, errors.New("a rule that allows must name a program; this one allows every command")
		case strings.Contains(name, "*"):
			return nil, errors.New("a rule that allows must name the tool in full")
		}
	}
	m := &match{tools: sameTools(name)}
	if guard && name == tools.Edit { // who may not edit may not do it with another tool either
		for _, other := range tools.Where(func(t tool.Tool) bool { return t.Kind == tool.Edit || t.Kind == tool.Write }) {
			m.tools = append(m.tools, textGlob(other))
		}
	}
	if guard && name == tools.Read { // nor read or change anything, as with Read(PATH)
		for _, other := range tools.Where(func(t tool.Tool) bool {
			return slices.Contains([]tool.Kind{tool.Read, tool.ListDir, tool.Find, tool.Search, tool.Edit, tool.Write}, t.Kind)
		}) {
			m.tools = append(m.tools, textGlob(other))
		}
	}
	return m, nil
}

func mcpString(tool string, guard bool) (*match, error) {
	server, name, has := strings.Cut(tool[len("mcp__"):], "__")
	if server == "" {
		return nil, errors.New("expected mcp__SERVER or mcp__SERVER__TOOL")
	}
	if !guard && strings.Contains(server, "*") {
		return nil, errors.New("a rule that allows must name the MCP server in full")
	}
	m := &mcpMatch{server: []glob{textGlob(server)}}
	if has {
		m.tool = []glob{textGlob(name)}
	}
	if guard {
		// Wide: however the name is cut into server and tool.
		g := &match{tools: []glob{textGlob(tool), textGlob(tool + "__*")}}
		if !has || strings.Trim(name, "*") == "" {
			g.server = m.server
		}
		return g, nil
	}
	return &match{mcp: m}, nil
}

func fileString(ops operation, spec, settingsDir string, guard bool) (*match, error) {
	patterns, err := stringPatterns(strings.TrimSpace(spec), settingsDir, guard)
	if err != nil {
		return nil, err
	}
	return &match{file: &fileMatch{ops: ops, paths: patterns}}, nil
}

// shellSyntax are the characters that make a rule string more than words separated by spaces.
const shellSyntax = "|&;<>()$`\"'\\{}\n#!"

// bashString compiles the specifier of Bash(…). A * at the end after a space (or :*) stands for
// any further arguments. Elsewhere an allow takes * as a part of one argument, never across
// two; a guard takes it as anything at all.
func bashString(spec string, guard bool) (*match, error) {
	spec = strings.TrimSpace(spec)
	if s, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = strings.TrimSpace(s) + " *"
	}
	if strings.Contains(spec, ":* ") || strings.HasSuffix(spec, ":*") {
		return nil, errors.New(":* stands at the end only, for any further arguments; between words write *")
	}
	if program, _, _ := strings.Cut(spec, " "); !strings.Contains(program, "/") && strings.Contains(program, ":") && !strings.ContainsAny(program, shellSyntax) {
		return nil, fmt.Errorf("no program is named %q; write its arguments after a space", short(program))
	}
	m := &commandMatch{argsSet: true}
	if guard && fromHome.MatchString(spec) {
		spec, m.home = fromHome.ReplaceAllString(spec, "${1}"+homeMark+"${2}"), true
	}
	words, plain := stringWords(spec)
	if !plain {
		if m.home {
			spec = strings.ReplaceAll(spec, homeMark, "$HOME")
		}
		g := textGlob(spec)
		m.script = &g
		return &match{command: m}, nil
	}
	if len(words) == 0 {
		return bareTool(tools.Bash, guard)
	}
	if last := words[len(words)-1]; last == "*" {
		m.rest, words = true, words[:len(words)-1]
	} else if strings.HasSuffix(last, "*") {
		m.rest = true // ls* and git log* go on in any way
	}
	if len(words) == 0 || strings.Trim(words[0], "*./~") == "" {
		if !guard {
			return nil, errors.New("a rule that allows must name a program; a * in its place allows every command")
		}
		if len(words) == 0 {
			return bareTool(tools.Bash, guard)
		}
	}
	m.programs = []glob{textGlob(words[0])}
	for _, w := range words[1:] {
		if guard && m.wantFlags(w, words[0]) {
			continue
		}
		g := []glob{textGlob(w)}
		if guard && len(m.args) == 0 {
			for _, other := range sameVerbs(words[0], w) {
				g = append(g, textGlob(other))
			}
		}
		m.args = append(m.args, g)
	}
	if guard {
		text := textGlob(strings.Join(strings.Fields(spec), " "))
		m.text = &text
	}
	return &match{command: m}, nil
}

// homeMark stands for the home directory in a rule about commands: ~/x, $HOME/x and "$HOME"/x are
// one to a rule that denies or asks.
const homeMark = "/@home@"

var fromHome = lazily(`(^|[ =:"])(?:"\$(?:HOME|\{HOME\})"|\$(?:HOME|\{HOME\})|~)($|[ /*"])`)

// wantFlags takes a flag of a rule that denies or asks out of the words: it is meant in any place
// and order, and -rf is -r and -f.
func (m *commandMatch) wantFlags(w, program string) bool {
	if short, ok := strings.CutSuffix(w, "*"); ok && cluster.MatchString(short) && !writesOneDash(program) {
		w = short // rm -rf* means rm -fr too
	}
	if len(w) < 2 || w[0] != '-' || w == "--" || strings.ContainsAny(w, "*=") {
		return false
	}
	entries := []string{w}
	if w[1] != '-' && !writesOneDash(program) {
		entries = nil
		for _, c := range w[1:] {
			entries = append(entries, "-"+string(c))
		}
	}
	var sets []*flagSet
	for _, entry := range entries {
		set, err := newFlagSet(append([]string{entry}, m.sameFlags(program, entry)...), []string{program})
		if err != nil {
			return false
		}
		sets = append(sets, set)
	}
	m.allFlags = append(m.allFlags, sets...)
	return true
}

var cluster = lazily(`^-[A-Za-z]+$`)

// stringWords splits the text of a rule into the words that a command would have. It is not
// plain when it is more than one simple command.
func stringWords(spec string) ([]string, bool) {
	if !strings.ContainsAny(spec, shellSyntax) {
		return strings.Fields(spec), true
	}
	script := shell.Read(spec, shell.Options{})
	if len(script.Doubts) > 0 || len(script.Units) != 1 {
		return nil, false
	}
	u := script.Units[0]
	if u.Kind != shell.Command || len(u.Via) > 0 {
		return nil, false
	}
	var words []string
	for _, w := range u.Argv {
		if !w.Static && w.Text != "*" {
			return nil, false
		}
		words = append(words, w.Text)
	}
	return words, true
}
