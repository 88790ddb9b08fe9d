package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"assent/internal/hook"
	"assent/internal/host/regular"
	"assent/internal/policy"
)

// The agents whose files can be imported.
const (
	FromClaude  = "claude"
	FromCodex   = "codex"
	FromGemini  = "gemini"
	FromQwen    = "qwen"
	FromCopilot = "copilot"
)

// From are the agents whose files can be imported.
var From = []string{FromClaude, FromCodex, FromGemini, FromQwen, FromCopilot} // read-only

// maxAlternatives bounds what one entry with alternatives becomes, maxFiles the files of one directory.
const (
	maxAlternatives = 64
	maxFiles        = 100
)

// ReadFrom is Read for the policy files of another agent: c.Settings names a file, or a directory of which
// all files with a fitting name are read. An error names file, line and column of what cannot be read.
func ReadFrom(agent string, c Config) (*Import, error) {
	parse, fits := (*Import).codexRules, "*.rules"
	switch agent {
	case FromClaude:
		return Read(c)
	case FromCodex:
	case FromGemini:
		parse, fits = (*Import).geminiPolicy, "*.toml"
	case FromQwen:
		parse, fits = (*Import).qwenSettings, "settings.json"
	case FromCopilot:
		parse, fits = (*Import).copilotScript, "*.json"
	default:
		return nil, fmt.Errorf("import rules: want one of %s, not %q", strings.Join(From, ", "), agent)
	}
	files := []string{c.Settings}
	if in, err := os.Stat(c.Settings); err == nil && in.IsDir() {
		if files, err = filepath.Glob(filepath.Join(quotedGlob(c.Settings), fits)); err != nil {
			return nil, fmt.Errorf("read %s: %w", c.Settings, err)
		}
		if agent == FromCopilot { // keeps more JSON there
			files = slices.DeleteFunc(files, func(f string) bool { return !slices.Contains(copilotFiles, filepath.Base(f)) })
			fits = strings.Join(copilotFiles, ", ")
		}
		if len(files) == 0 || len(files) > maxFiles {
			return nil, fmt.Errorf("read %s: %d files %s are there, want 1 to %d; name one", c.Settings, len(files), fits, maxFiles)
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
			switch agent {
			case FromGemini:
				read = (*Import).geminiSettings
			case FromCopilot:
				read = (*Import).copilotSettings
			}
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
	switch agent {
	case FromCodex:
		m.allowNothingBesideUnread()
	case FromQwen, FromCopilot:
		m.allowNothingBesideLostDenial(agent)
	}
	slices.SortStableFunc(m.Entries, func(a, b Entry) int { return rank(a.Action) - rank(b.Action) })
	return m, nil
}

// quotedGlob is a path as filepath.Glob reads it literally.
func quotedGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func readFile(path string) ([]byte, error) {
	text, err := readSettings(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, policy.WithoutPath(err))
	}
	return text, nil
}

// readSettings reads a file that an agent may have put there.
func readSettings(path string) ([]byte, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	text, err := regular.Read(path, maxSettings, 0)
	if errors.Is(err, regular.ErrRefused) || errors.Is(err, regular.ErrLarge) {
		err = fmt.Errorf("it is no regular file of at most %d bytes", maxSettings)
	}
	return text, err
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
	if local := m.localAllow(); !guard && local != "" {
		m.left(action, text, local)
		return
	}
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

// structured adds an allow that only a structured rule can say: match is that rule's, and meaning what a person
// should know of it where it is wide.
func (m *Import) structured(text string, match map[string]any, meaning, why string) {
	if local := m.localAllow(); local != "" {
		m.left(string(hook.ActionAllow), text, local)
		return
	}
	b, err := json.Marshal(struct {
		ID     string         `json:"id"`
		Action string         `json:"action"`
		Match  map[string]any `json:"match"`
	}{fmt.Sprintf("imported-%d", len(m.Entries)+1), string(hook.ActionAllow), match})
	if err == nil {
		_, err = policy.Load([]policy.Source{{Name: "import", Layer: policy.User, Data: []byte("version: 1\nrules:\n  - " + safeJSON(b) + "\n")}}, policy.LoadOptions{})
	}
	if err != nil {
		problem := err.Error()
		if ps := policy.Problems(err); len(ps) > 0 {
			problem = ps[0].Message
		}
		m.left(string(hook.ActionAllow), text, problem)
		return
	}
	m.Entries = append(m.Entries, Entry{Action: string(hook.ActionAllow), Text: text, State: Changed, As: []string{safeJSON(b)}, Under: underRules, Meaning: meaning, Why: why})
}

// underRules is the key of structured rules.
const underRules = "rules"

// allowNothingBesideLostDenial leaves out what an agent's settings allow where something that denies or asks is
// not carried over in any form: it may be about the same.
func (m *Import) allowNothingBesideLostDenial(agent string) {
	lost := slices.ContainsFunc(m.Entries, func(e Entry) bool {
		return e.State == Left && e.Unread && (e.Action == string(hook.ActionDeny) || e.Action == string(hook.ActionAsk))
	})
	for i, e := range m.Entries {
		if lost && e.Action == string(hook.ActionAllow) && e.State != Left {
			m.Entries[i] = Entry{Action: e.Action, Text: e.Text, State: Left, Why: "something beside it that denies or asks is not understood, and may be about what this one allows; correct it in " + agent + "'s file first"}
		}
	}
}

// unread adds an entry that cannot be read, of which nobody knows what it is about.
func (m *Import) unread(action, text, why string) {
	m.Entries = append(m.Entries, Entry{Action: action, Text: text, State: Left, Why: why, Unread: true})
}

// standardJSON is JSON without the comments and commas that settings may hold.
func standardJSON(text []byte) ([]byte, error) {
	return hujson.Standardize(bytes.TrimPrefix(text, []byte("\ufeff")))
}
