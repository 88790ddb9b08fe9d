package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

func (a *app) rulesImportCmd() *cobra.Command {
	var write, everywhere bool
	var to string
	c := &cobra.Command{
		Use:   "import [SETTINGS]",
		Short: "Make a file of rules from Claude Code's settings",
		Long: `Make a file of rules from the permissions in Claude Code's settings (default
~/.claude/settings.json) and print it, or with --write put it where your rules stand. The settings
stay as they are.

Nothing is allowed that was not allowed there. What cannot be carried over is said, line by line,
and so is what a wide rule such as Bash(python:*) means. What a project's settings allow holds in
that project only, but your file of rules counts everywhere: it is left out unless you say
--everywhere.`,
		Example: `  assent rules import
  assent rules import ~/.claude/settings.json --write
  assent rules import .claude/settings.local.json --everywhere > more.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("takes one file of settings, got %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.agentOptions()
			if err != nil {
				return err
			}
			userDir := o.ConfigDir
			if userDir == "" {
				userDir = filepath.Join(o.Home, ".claude")
			}
			path := filepath.Join(userDir, "settings.json")
			if len(args) == 1 {
				path = args[0]
			}
			m := &imported{path: path, userDir: userDir, everywhere: everywhere}
			if err := m.read(); err != nil {
				return err
			}
			text, err := m.file()
			if err != nil {
				return err
			}
			if to != "" {
				write = true
			}
			if write {
				if to == "" {
					dir := configDir(os.Getenv)
					if dir == "" {
						return usagef("HOME is not set; say where to write it: --to FILE")
					}
					to = filepath.Join(dir, "rules.yaml")
				}
				if err := createRules(to, text); err != nil {
					return err
				}
			} else {
				to = ""
			}
			if a.json {
				return a.printJSON(m.report(to, text))
			}
			if !write {
				if _, err := a.out.Write(text); err != nil {
					return err
				}
			}
			a.tellImport(m, to)
			return nil
		},
	}
	c.Flags().BoolVar(&write, "write", false, "write it to your file of rules, if there is none yet")
	c.Flags().StringVar(&to, "to", "", "write it to this file, if there is none yet")
	c.Flags().BoolVar(&everywhere, "everywhere", false, "let what a project's settings allow hold everywhere")
	c.Flags().BoolVar(&a.json, "json", false, "the file and what became of each entry, as JSON")
	return c
}

// maxSettings is how large a file of settings may be, and maxSettingsEntries how many permissions
// are read of it.
const (
	maxSettings        = 4 << 20
	maxSettingsEntries = 10_000
)

// imported is a file of settings on its way to become one of rules.
type imported struct {
	path, userDir string
	everywhere    bool
	entries       []importedEntry
}

// importedEntry is one permission.
type importedEntry struct {
	Action  string   `json:"action"` // allow, ask, deny; of other settings their name
	Text    string   `json:"text"`
	State   string   `json:"state"`             // carried, changed, left
	As      []string `json:"as,omitempty"`      // what stands in the file of rules for it
	Under   string   `json:"under,omitempty"`   // the key that it stands under
	Meaning string   `json:"meaning,omitempty"` // of a wide rule: what it allows
	Why     string   `json:"why,omitempty"`     // it was changed or left out
}

func (m *imported) read() error {
	in, err := os.Stat(m.path)
	if err == nil && (!in.Mode().IsRegular() || in.Size() > maxSettings) {
		err = fmt.Errorf("it is no regular file of at most %d bytes", maxSettings)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(m.path)
	}
	if err != nil {
		return fmt.Errorf("read settings %s: %s", m.path, reason(err))
	}
	plain, err := hujson.Standardize(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return fmt.Errorf("read settings %s: %w", m.path, err)
	}
	var settings, permissions map[string]json.RawMessage
	if err := json.Unmarshal(plain, &settings); err != nil {
		return fmt.Errorf("read settings %s: expected a JSON object", m.path)
	}
	if raw := settings["permissions"]; raw != nil {
		if err := json.Unmarshal(raw, &permissions); err != nil {
			return fmt.Errorf("read settings %s: permissions is no JSON object", m.path)
		}
	}
	keys := []string{"deny", "ask", "allow"}
	for key := range permissions {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys[3:])
	for _, key := range keys {
		raw := permissions[key]
		if raw == nil {
			continue
		}
		var list []json.RawMessage
		if slices.Index(keys, key) > 2 || json.Unmarshal(raw, &list) != nil {
			m.entries = append(m.entries, importedEntry{Action: key, Text: string(raw), State: "left", Why: otherSetting(key)})
			continue
		}
		for _, item := range list {
			if len(m.entries) >= maxSettingsEntries {
				return fmt.Errorf("read settings %s: more than %d permissions", m.path, maxSettingsEntries)
			}
			m.entry(key, item)
		}
	}
	return nil
}

// otherSetting says what becomes of a setting that is no list of rules.
func otherSetting(key string) string {
	switch key {
	case "defaultMode":
		return "the mode stays Claude Code's; no rule stands for it"
	case "additionalDirectories":
		return "directories stay Claude Code's; a rule can name paths"
	case "allow", "ask", "deny":
		return "expected a list"
	}
	return "it is no rule"
}

// entry decides what becomes of one permission.
func (m *imported) entry(action string, raw json.RawMessage) {
	e := importedEntry{Action: action, State: "left"}
	defer func() { m.entries = append(m.entries, e) }()
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
				e.State, e.As, e.Under = "changed", []string{narrower}, "ask"
				e.Why += "; " + narrower + " is asked about instead"
			}
		}
		return
	}
	project := m.projectDir() != ""
	switch atSettings := settingsPath(e.Text); {
	case !guard && project && !m.everywhere:
		e.As, e.Under = nil, ""
		e.Why = "it holds in " + m.projectDir() + " only, and here it would hold everywhere; --everywhere says that you mean that"
		return
	case atSettings == "" || project: // in a project's settings and in rules it means the project
	case !guard:
		e.As, e.Under = nil, ""
		e.Why = "a path that begins with one / is below the settings' directory there, and below each project here; write //… or ~/…"
		return
	default:
		e.State, e.As = "changed", m.anchored(e.Text, atSettings)
		e.Why = "a path that begins with one / means something else in rules"
		return
	}
	e.State = "carried"
	if !guard {
		if why := policy.NeverMatches(e.Text); why != "" {
			e.State, e.As, e.Under, e.Why = "left", nil, "", "it would never match here: "+why
			return
		}
		e.Meaning = wideMeaning(e.Text)
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

// projectDir is the project whose settings these are, "" for the user's own and for a copy.
func (m *imported) projectDir() string {
	abs, err := filepath.Abs(m.path)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(abs)
	if filepath.Base(dir) != ".claude" || dir == filepath.Clean(m.userDir) {
		return ""
	}
	return filepath.Dir(dir)
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
func (m *imported) anchored(text, path string) []string {
	tool, _, _ := strings.Cut(text, "(")
	abs, err := filepath.Abs(m.path)
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

// quotedYAML writes a text so that YAML reads exactly it, and a terminal shows it safely.
func quotedYAML(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always can be
	return strings.TrimSpace(string(show.JSON(b.Bytes())))
}

// file writes the rules, and loads them to be certain.
func (m *imported) file() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The permissions of %s,\n# as: assent rules import\nversion: 1\n", show.Line(m.path))
	for _, key := range []string{"deny", "ask", "allow"} {
		seen := map[string]bool{}
		for _, e := range m.entries {
			for _, text := range e.As {
				if e.Under != key || seen[text] {
					continue
				}
				if len(seen) == 0 {
					fmt.Fprintf(&b, "\n%s:\n", key)
				}
				seen[text] = true
				if e.Meaning != "" {
					fmt.Fprintln(&b, wrapped("WIDE: "+e.Meaning+".", "  # ", "  #   "))
				}
				if e.State == "changed" {
					fmt.Fprintln(&b, wrapped("for "+e.Action+" "+show.Line(e.Text), "  # ", "  #   "))
				}
				fmt.Fprintf(&b, "  - %s\n", quotedYAML(text))
			}
		}
	}
	if left := m.count("left"); left > 0 {
		b.WriteString("\n# Left out:\n")
		for _, e := range m.entries {
			if e.State == "left" {
				fmt.Fprintln(&b, wrapped(show.Line(e.Action+" "+e.Text)+": "+show.Line(e.Why), "#   ", "#     "))
			}
		}
	}
	if _, err := policy.Load([]policy.Source{{Name: "import", Layer: policy.User, Data: b.Bytes()}}, policy.LoadOptions{}); err != nil {
		return nil, fmt.Errorf("the rules made of the settings cannot be read back: %w", err)
	}
	return b.Bytes(), nil
}

func (m *imported) count(state string) int {
	n := 0
	for _, e := range m.entries {
		if e.State == state {
			n++
		}
	}
	return n
}
