package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// maxSampled is how many rules Mistakes looks at.
const maxSampled = 1000

// Mistakes lists rule strings that are no errors but do less or something else than they seem
// to: allows that never match what they say, or that a deny or an ask always beats, and paths that
// mean other places. It asks the rules about an example of each.
func (s *Set) Mistakes() []Problem {
	var all []Problem
	note := func(r *rule, format string, args ...any) {
		all = append(all, Problem{r.file, r.line, r.column, fmt.Sprintf(format, args...)})
	}
	examined := 0
	for _, r := range s.rules {
		if r.spec == "" || r.layer == Builtin {
			continue
		}
		if examined++; examined > maxSampled {
			break
		}
		if path := rootPath(r.spec); path != "" {
			also := "and nothing else"
			if r.guard() {
				also = "and here also the absolute path"
			}
			note(r, "a path with one / in front is below the settings' directory or the project, %s; the absolute path is written /%s", also, path)
		}
		if r.guard() {
			if why := UnknownMember(r.spec); why != "" {
				note(r, "%s", why)
			}
			if command, by := s.onlyThis(r); command != "" {
				note(r, "%s may have other commands that do what %s does: this %s does not find them, and %s allows them; allow by name what may be done", quote(r.match.command.programs[0].src), quote(command), r.action, quote(by.spec))
			}
			continue
		}
		if _, spec, ok := strings.Cut(r.spec, "("); ok && r.match.file != nil && strings.HasPrefix(strings.TrimSpace(spec), "**/") {
			note(r, "in an allow **/ means below the project, not anywhere; write ~/**/ or //**/ for other places")
		}
		examples := r.examples()
		if len(examples) == 0 || r.match.command != nil && r.match.command.script != nil && !r.match.command.script.exact {
			continue // the file's reader said so
		}
		alone := &Set{protect: s.protect}
		alone.addRule(r)
		alone.rules = []*rule{r}
		if v, never := alone.never(examples); never {
			note(r, "this allow never matches: %s%s", v.Reason, seen(examples[0]))
			continue
		}
		if by := s.beaten(examples); by != nil {
			note(r, "this allow is never reached: the %s %s in line %d of %s always beats it", by.action, quote(by.id), by.line, by.file)
		}
	}
	return all
}

// onlyThis returns the command of a program that a rule denies or asks about, and the rule that allows all others of
// that program, where nobody here knows which of those do the same: see alikecommands.txt.
func (s *Set) onlyThis(r *rule) (command string, by *rule) {
	m := r.match.command
	if m == nil || m.script != nil || len(m.programs) != 1 || !m.programs[0].exact || len(m.args) == 0 || !m.args[0][0].exact || strings.HasPrefix(m.args[0][0].src, "-") {
		return "", nil
	}
	name := m.programs[0].src
	if programOf(name).alike != nil || verbNames[name] != nil || waysOf(name) != 0 {
		return "", nil
	}
	for _, a := range s.rules {
		if a.action != hook.ActionAllow || a.shadow || a.spec == "" || a.layer == Builtin || a.match.command == nil {
			continue
		}
		if open := a.match.command; open.script == nil && open.rest && len(open.args) == 0 && matchAny(open.programs, name) {
			return name + " " + m.args[0][0].src, a
		}
	}
	return "", nil
}

// NeverMatches says why an allow of a rule string would never match what it says; empty when it
// would, or when that cannot be told.
func NeverMatches(text string) string {
	data, err := json.Marshal(map[string]any{"version": 1, "allow": []string{text}})
	if err != nil {
		return ""
	}
	s, err := Load([]Source{{Name: "x", Data: data}}, LoadOptions{})
	if err != nil || len(s.rules) != 1 {
		return ""
	}
	r := s.rules[0]
	if r.match.command != nil && r.match.command.script != nil && !r.match.command.script.exact {
		return "beside |, ;, $( ) and the like, * is not read; write a rule for each command"
	}
	examples := r.examples()
	if v, never := s.never(examples); never {
		return v.Reason + seen(examples[0])
	}
	return ""
}

// never says whether no example is allowed.
func (s *Set) never(examples []Call) (v hook.Verdict, never bool) {
	for _, c := range examples {
		if v = s.Eval(c); v.Action == hook.ActionAllow {
			return v, false
		}
	}
	return v, len(examples) > 0
}

// beaten returns a rule that denies or asks about every example, whatever the circumstances.
func (s *Set) beaten(examples []Call) *rule {
	var by *rule
	for _, c := range examples {
		v := s.Eval(c)
		i := slices.IndexFunc(s.rules, func(r *rule) bool { return r.id == v.Rule && r.file == v.File && r.guard() })
		if v.Action == hook.ActionAllow || i < 0 {
			return nil
		}
		if by = s.rules[i]; by.match.session != nil || by.match.time != nil || by.match.cwd != nil {
			return nil
		}
	}
	return by
}

// seen says what is left of a command for rules to look at, where that is not what it says.
func seen(c Call) string {
	if tools.Of(c.Tool).Kind != tool.Command {
		return ""
	}
	var in struct{ Command string }
	if json.Unmarshal(c.Input, &in) != nil {
		return ""
	}
	script := shell.Read(in.Command, shell.Options{Dir: c.Cwd, Home: c.Home, Project: c.Project, Zsh: true})
	var parts []string
	for i := range script.Units {
		if u := &script.Units[i]; !u.DenyOnly {
			parts = append(parts, quote(unitText(u)))
		}
	}
	if len(parts) == 1 && parts[0] == quote(in.Command) || len(parts) == 0 {
		return ""
	}
	return "; rules are asked about " + strings.Join(parts, " and ")
}

// examples are calls that an allow of a rule string means; none where they cannot be made up.
func (r *rule) examples() []Call {
	tool, spec, has := strings.Cut(strings.TrimSuffix(r.spec, ")"), "(")
	spec = strings.TrimSpace(spec)
	call := func(tool string, input map[string]string) Call {
		raw, _ := json.Marshal(input) // of texts: cannot fail
		return Call{Agent: "claude", Tool: tool, Input: raw, Cwd: "/home/user/project", Project: "/home/user/project", Home: "/home/user", Shell: "bash", Mode: "default", Time: testTime}
	}
	m := r.match
	switch {
	case m.command != nil && m.command.script != nil:
		return []Call{call(tools.Bash, map[string]string{"command": spec})}
	case m.command != nil:
		text := strings.TrimSuffix(spec, ":*")
		text, open := strings.CutSuffix(text, " *")
		text = strings.ReplaceAll(text, "*", "x")
		all := []Call{call(tools.Bash, map[string]string{"command": text})}
		if open || text+":*" == spec {
			all = append(all, call(tools.Bash, map[string]string{"command": text + " x"}))
		}
		return all
	case m.file != nil && has:
		path := examplePath(spec, r)
		if path == "" {
			return nil
		}
		if m.file.ops&opRead == 0 {
			return []Call{call(tools.Edit, map[string]string{"file_path": path})}
		}
		return []Call{call(tools.Read, map[string]string{"file_path": path})}
	case m.url != nil:
		return []Call{call(tools.WebFetch, map[string]string{"url": "https://" + strings.ReplaceAll(m.url.hosts[0].src, "*", "x") + "/"})}
	case m.mcp != nil:
		name := strings.ReplaceAll(tool, "*", "x")
		if m.mcp.tool == nil {
			name += "__x"
		}
		return []Call{call(name, map[string]string{})}
	}
	return nil
}

// examplePath is a path that the pattern of an allow means.
func examplePath(spec string, r *rule) string {
	alternatives, err := braces(spec)
	if err != nil {
		return ""
	}
	s := alternatives[0]
	if strings.HasSuffix(s, "/") {
		s += "x"
	}
	var parts []string
	for part := range strings.SplitSeq(s, "/") {
		parts = append(parts, fill(strings.ReplaceAll(part, "**", "*")))
	}
	s = strings.Join(parts, "/")
	switch {
	case strings.HasPrefix(s, "//"):
		return s[1:]
	case s == "~" || strings.HasPrefix(s, "~/"):
		return "/home/user" + s[1:]
	case strings.HasPrefix(s, "/"):
		if dir := r.match.file.paths[0].dir; dir != "" {
			return dir + s
		}
	}
	return "/home/user/project/" + strings.TrimPrefix(strings.TrimPrefix(s, "./"), "/")
}

// rootPath is the path of a rule string about files that begins with one / and the name of a
// directory of the system, so that its author most likely meant the absolute path.
func rootPath(text string) string {
	name, spec, _ := strings.Cut(text, "(")
	spec = strings.TrimSpace(strings.TrimSuffix(spec, ")"))
	if !tools.Of(name).AboutFiles() || !strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "//") {
		return ""
	}
	if !systemRoot(spec) {
		return ""
	}
	return spec
}

func systemRoot(path string) bool {
	top, _, below := strings.Cut(path[1:], "/")
	switch top {
	case "etc", "home", "Users", "root", "var", "usr", "proc", "dev", "opt", "private", "mnt", "media", "Volumes", "Library", "System", "sys", "run", "boot", "srv":
		return below
	}
	return false
}
