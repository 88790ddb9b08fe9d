package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
)

// The agents whose files can be imported.
const (
	FromClaude = "claude"
	FromCodex  = "codex"
	FromGemini = "gemini"
)

// From are the agents whose files can be imported.
var From = []string{FromClaude, FromCodex, FromGemini} // read-only

// maxAlternatives bounds what one entry with alternatives becomes, maxFiles the files of one directory.
const (
	maxAlternatives = 64
	maxFiles        = 100
)

// ReadFrom is Read for the policy files of another agent: c.Settings names a file, or a directory of which
// all files with a fitting name are read. An error names file, line and column of what cannot be read.
func ReadFrom(agent string, c Config) (*Import, error) {
	parse, fits := (*Import).codexRules, ".rules"
	switch agent {
	case FromClaude:
		return Read(c)
	case FromCodex:
	case FromGemini:
		parse, fits = (*Import).geminiPolicy, ".toml"
	default:
		return nil, fmt.Errorf("import rules: want one of %s, not %q", strings.Join(From, ", "), agent)
	}
	files := []string{c.Settings}
	if in, err := os.Stat(c.Settings); err == nil && in.IsDir() {
		if files, err = filepath.Glob(filepath.Join(quotedGlob(c.Settings), "*"+fits)); err != nil {
			return nil, fmt.Errorf("read %s: %w", c.Settings, err)
		}
		if len(files) == 0 || len(files) > maxFiles {
			return nil, fmt.Errorf("read %s: %d files *%s are there, want 1 to %d; name one", c.Settings, len(files), fits, maxFiles)
		}
	}
	slices.Sort(files)
	m := &Import{Config: c}
	for _, file := range files {
		text, err := readFile(file)
		if err != nil {
			return nil, err
		}
		read := parse
		switch filepath.Ext(file) {
		case ".json":
			read = (*Import).geminiSettings
		case ".toml":
			if agent == FromCodex {
				read = (*Import).codexConfig
			}
		}
		if err := read(m, file, text); err != nil {
			return nil, err
		}
		if len(m.Entries) > maxSettingsEntries {
			return nil, fmt.Errorf("read %s: more than %d entries", c.Settings, maxSettingsEntries)
		}
	}
	if agent == FromCodex {
		m.allowNothingBesideUnread()
	}
	slices.SortStableFunc(m.Entries, func(a, b Entry) int { return rank(a.Action) - rank(b.Action) })
	return m, nil
}

// quotedGlob is a path as filepath.Glob reads it literally.
func quotedGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func readFile(path string) ([]byte, error) {
	in, err := os.Stat(path)
	if err == nil && (!in.Mode().IsRegular() || in.Size() > maxSettings) {
		err = fmt.Errorf("it is no regular file of at most %d bytes", maxSettings)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, policy.WithoutPath(err))
	}
	return text, nil
}

// rank is the order of entries: deny, ask, allow, then other settings.
func rank(action string) int {
	if i := slices.Index([]string{"deny", "ask", "allow"}, action); i >= 0 {
		return i
	}
	return 3
}

// left adds an entry for which there is nothing.
func (m *Import) left(action, text, why string) {
	m.Entries = append(m.Entries, Entry{Action: action, Text: text, State: Left, Why: why})
}

// foreign adds an entry of another agent that means these rules. What rules cannot say is left out where it
// allows, and asked about for the whole tool where it denies or asks: instead is the rule for that, "" for none.
func (m *Import) foreign(action, text string, rules []string, instead, why string) {
	e := Entry{Action: action, Text: text, State: Changed, Under: action, Why: why}
	guard := action != string(hook.ActionAllow)
	if e.Why == "" {
		e.Why = "the rule that means the same here"
	}
	problem := ""
	if len(rules) == 0 {
		problem = why
	}
	for _, rule := range rules {
		if p := ruleStringProblem(action, rule); p != "" && problem == "" {
			problem = p
		}
		if !guard && problem == "" {
			if p := policy.NeverMatches(rule); p != "" {
				problem = "it would never match here: " + p
			}
		}
		if meaning := WideMeaning(rule); !guard && e.Meaning == "" {
			e.Meaning = meaning
		}
	}
	switch {
	case problem == "":
		e.As = rules
	case guard && instead != "" && ruleStringProblem("ask", instead) == "":
		e.As, e.Under, e.Meaning, e.Why = []string{instead}, "ask", "", problem+"; "+instead+" is asked about instead"
	default:
		e.State, e.As, e.Under, e.Meaning, e.Why = Left, nil, "", "", problem
	}
	m.Entries = append(m.Entries, e)
}
