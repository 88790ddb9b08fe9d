package acp

import (
	"path"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/copilot"
	"assent/internal/agent/dialect"
	"assent/internal/agent/opencode"
	"assent/internal/agent/qwen"
)

// Prefix stands before the name of an agent that asks over ACP, and before a kind of call in the place of
// a tool whose name is not known.
const Prefix = "acp:"

// The names of agents that were measured, as nameOf makes them.
const (
	claudeACP = "claude-agent-acp"
	codexACP  = "codex-acp"
	gemini    = "gemini-cli"
	goose     = "goose"
	kimi      = "kimi-code-cli"
	kilo      = "kilo"
	qwenCode  = "qwen-code"
)

// known is what was measured of an agent: by which of its words its calls are known for what they do. Of
// what is not here no rule allows anything.
type known struct {
	tools map[string]dialect.Tool // by their names in a payload
	names bool                    // it has Claude Code's tools, by their names
	title bool                    // the first title of a call is the tool's name
	dir   []string                // members that say in which directory a command runs
	spare map[string]string       // members that say nothing more, and their values; "*": whatever they are
}

// shell is a tool that runs a command with bash, as the request shows it.
var shell = dialect.Tool{Name: tools.Bash, Members: map[string]string{"is_background": "run_in_background"}}

var agents = map[string]known{ // read-only
	claudeACP: {names: true},
	codexACP:  {tools: map[string]dialect.Tool{Prefix + "execute": shell}, dir: []string{"cwd"}},
	copilot.Name: {
		tools: map[string]dialect.Tool{Prefix + "execute": shell},
		spare: map[string]string{"commands": "*", "mode": `"sync"`},
	},
	"opencode": {tools: opencode.OpenCode().Words.Tools, title: true, dir: []string{"workdir", "cwd"}},
	kilo:       {tools: opencode.Kilo().Words.Tools, title: true, dir: []string{"workdir", "cwd"}},
	qwenCode:   {tools: withShell(qwen.New().Words.Tools, "run_shell_command")},
	goose:      {tools: map[string]dialect.Tool{"shell": shell}},
	kimi:       {title: true},
}

// withShell is a table in which the tool of this name is shell.
func withShell(table map[string]dialect.Tool, name string) map[string]dialect.Tool {
	all := map[string]dialect.Tool{name: shell}
	for k, v := range table {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// tidy takes out of the input of a command what says in which directory it runs, which is cwd where
// nothing does, and what says nothing more. What stays is what runs.
func (k known) tidy(in []byte, cwd string) (rest []byte, dir string) {
	o := readObject(in)
	var left []member
	taken, said := 0, false
	for _, m := range membersOf(in) {
		at := o.text(m.key)
		spare, is := k.spare[m.key]
		switch {
		case is && (spare == "*" || spare == string(m.value)):
			taken++
		case slices.Contains(k.dir, m.key) && path.IsAbs(at) && (!said || at == cwd):
			cwd, said = at, true
			taken++
		default:
			left = append(left, m)
		}
	}
	if taken == 0 {
		return in, cwd
	}
	return compose(left...), cwd
}

// nameOf is what an agent is called, by what it calls itself or the name of its program: lower-case letters,
// digits, dashes and underscores, 64 at most.
func nameOf(text string) string {
	text = strings.ToLower(text)
	text = text[strings.LastIndexAny(text, `/\`)+1:]
	text = strings.TrimSuffix(text, ".exe")
	var b strings.Builder
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case b.Len() > 0:
			b.WriteByte('-')
		}
		if b.Len() == 64 {
			break
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "agent"
}
