// Package codex is OpenAI's Codex CLI, as package agent wants it. Its hooks speak Claude Code's
// dialect, but for one tool, apply_patch.
//
// Codex 0.169.0 was measured. It takes a decision with any member that it does not know for a failed
// hook, and then asks at its own prompt: a denial with interrupt would be lost. So nothing but behavior
// and message is ever written.
package codex

import (
	"fmt"
	"path"
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/codex/patch"
	"assent/internal/agent/codex/tools"
	"assent/internal/agent/dialect"
	"assent/internal/hook"
	"assent/internal/text/show"
	"assent/internal/text/strictjson"
)

// Name is what hooks, flags and records call it.
const Name = "codex"

// Events are the types of its hooks' events.
var Events = []string{ // read-only
	"PermissionRequest", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "PostCompact",
	"SubagentStart", "SubagentStop", "Stop", "Interrupt", "SessionEnd",
}

// Agent is Codex.
type Agent struct{ dialect.Agent }

// New returns Codex.
func New() Agent {
	return Agent{dialect.Agent{ID: Name, Is: agent.Facts{
		Title: "Codex", Version: "0.169.0", Newest: "0.171.0", Package: "@openai/codex", Events: Events,
		Can: hook.Can{Words: true},
		Failed: agent.Failed{
			Terminal: "its own prompt asks",
			Headless: "`codex exec` asks no hook; with `--approve-for-me` its own model decides",
		},
	}}}
}

// Describe tells of a call. Of a patch it names the files, and what is done to them.
func (a Agent) Describe(name string, input []byte) (verb string, fields []show.Field) {
	verb, fields = a.Agent.Describe(name, input)
	text, ok := patchOf(name, input)
	if !ok {
		return verb, fields
	}
	p := patch.Read(text)
	if len(p.Files) == 0 {
		return "Apply a patch that names no file", fields
	}
	return sentence(p), append([]show.Field{{Name: "files", Text: show.Text(list(p)), Kind: show.KindText}}, fields...)
}

// Detail reads the rest of an event. A patch is known by its files.
func (a Agent) Detail(event string, raw []byte) hook.Detail {
	d := a.Agent.Detail(event, raw)
	if p, err := a.Decode(event, raw); err == nil {
		if text, ok := patchOf(p.ToolName, p.ToolInput); ok {
			if read := patch.Read(text); len(read.Files) > 0 {
				d.ToolArg = strings.ReplaceAll(list(read), "\n", ", ")
			}
		}
	}
	return d
}

// patchOf returns the patch of a call of apply_patch.
func patchOf(name string, input []byte) (text string, ok bool) {
	if name != tools.Patch {
		return "", false
	}
	ms, err := strictjson.Object(input)
	if err != nil {
		return "", false
	}
	if _, twice := strictjson.Repeated(ms); twice {
		return "", false
	}
	for _, m := range ms {
		if m.Key == tools.Of(name).Title && m.Value[0] == '"' {
			return strictjson.Text(m.Value), true
		}
	}
	return "", false
}

// list is a line for each file.
func list(p patch.Patch) string {
	lines := make([]string, len(p.Files))
	for i, f := range p.Files {
		lines[i] = string(f.Op) + " " + f.Path
		if !f.Sure {
			lines[i] += " (perhaps a line of the text before it)"
		}
	}
	if !p.Whole {
		lines = append(lines, "and perhaps more: not every line of the patch is one that assent knows")
	}
	return strings.Join(lines, "\n")
}

// sentence names one or two files, and counts more.
func sentence(p patch.Patch) string {
	verbs := map[patch.Op]string{patch.Add: "add", patch.Update: "edit", patch.Delete: "delete", patch.Move: "move to"}
	var parts []string
	for _, f := range p.Files {
		if len(parts) == 2 && len(p.Files) > 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(p.Files)-2))
			break
		}
		name := path.Base(f.Path)
		if r := []rune(name); len(r) > 40 {
			name = string(r[:27]) + "…" + string(r[len(r)-12:])
		}
		parts = append(parts, verbs[f.Op]+" "+show.Line(name))
	}
	s := strings.Join(parts, ", ")
	return strings.ToUpper(s[:1]) + s[1:]
}
