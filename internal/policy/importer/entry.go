package importer

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
)

// entry decides what becomes of one permission.
func (m *Import) entry(action string, raw json.RawMessage) {
	e := Entry{Action: action, State: Left}
	defer func() { m.Entries = append(m.Entries, e) }()
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &e.Text) != nil {
		e.Text, e.Why = string(raw), "expected a text"
		return
	}
	guard := action != string(hook.ActionAllow)
	e.As, e.Under = []string{e.Text}, action
	if e.Why = ruleStringProblem(action, e.Text); e.Why != "" {
		e.As, e.Under = nil, ""
		tool, _, spec := strings.Cut(e.Text, "(")
		if guard {
			if meant := policy.MeantTool(tool); meant != "" {
				tool = meant
			}
			switch narrower := askedInstead(e.Text, tool, spec); {
			case narrower == "":
			case ruleStringProblem("ask", narrower) == "":
				e.State, e.As, e.Under = Changed, []string{narrower}, "ask"
				e.Why += "; " + narrower + " is asked about instead"
			}
		}
		return
	}
	if why := policy.UnknownMember(e.Text); guard && why != "" {
		tool, _, _ := strings.Cut(e.Text, "(")
		e.State, e.As, e.Under, e.Why = Changed, []string{tool}, "ask", why+"; "+tool+" is asked about instead"
		return
	}
	project := m.Project() != ""
	local := m.localAllow()
	switch atSettings := settingsPath(e.Text); {
	case !guard && local != "":
		e.As, e.Under, e.Why = nil, "", local
		return
	case atSettings == "" || project: // in a project's settings and in rules it means the project
	case !guard:
		e.As, e.Under = nil, ""
		e.Why = "a path that begins with one / is below the settings' directory there, and below each project here; write //… or ~/…"
		return
	default:
		e.State, e.As = Changed, m.anchored(e.Text, atSettings)
		e.Why = "a path that begins with one / means something else in rules"
		return
	}
	e.State = Carried
	if !guard {
		if why := policy.NeverMatches(e.Text); why != "" {
			e.State, e.As, e.Under, e.Why = Left, nil, "", "it would never match here: "+why
			return
		}
		e.Meaning = WideMeaning(e.Text)
	}
}

// askedInstead is a rule that asks about all that one which cannot be read denies or asks about:
// the tool, or of a command with a :* in its middle the program.
func askedInstead(text, tool string, spec bool) string {
	if tool == tools.Bash && spec {
		_, rest, _ := strings.Cut(text, "(")
		if program, _, ok := strings.Cut(rest, ":"); ok && program != "" && !strings.ContainsAny(program, " *()") {
			return "Bash(" + program + " *)"
		}
	}
	return tool
}

// settingsPath is the path of a rule about files that is relative to the settings, else nothing.
func settingsPath(text string) string {
	tool, spec, _ := strings.Cut(text, "(")
	spec = strings.TrimSpace(strings.TrimSuffix(spec, ")"))
	if !tools.Of(tool).AboutFiles() ||
		!strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "//") {
		return ""
	}
	return spec
}

// anchored writes a rule that denies or asks with absolute paths, for both directories that it may
// be relative to.
func (m *Import) anchored(text, path string) []string {
	tool, _, _ := strings.Cut(text, "(")
	abs, err := filepath.Abs(m.Settings)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(abs)
	list := []string{tool + "(/" + dir + path + ")"}
	if filepath.Base(dir) == ".claude" {
		list = append(list, tool+"(/"+filepath.Dir(dir)+path+")")
	}
	return list
}

// ruleStringProblem says why a file of rules cannot hold the text under a key.
func ruleStringProblem(key, text string) string {
	_, err := policy.Load([]policy.Source{{Name: "import", Layer: policy.User, Data: []byte("version: 1\n" + key + ":\n  - " + quotedYAML(text) + "\n")}}, policy.LoadOptions{})
	if err == nil {
		return ""
	}
	message := err.Error()
	if ps := policy.Problems(err); len(ps) > 0 {
		message = ps[0].Message
	}
	if i := strings.Index(message, `": `); strings.HasPrefix(message, "rule string ") && i > 0 {
		message = message[i+3:]
	}
	return message
}
