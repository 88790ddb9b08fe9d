package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assent/internal/policy/importer"
	"assent/internal/terminal"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) rulesImportCmd() *cobra.Command {
	var write, everywhere bool
	var to string
	from := importer.FromClaude
	c := &cobra.Command{
		Use:   "import [SETTINGS]",
		Short: "Create a rule file from an agent's settings",
		Long: `Create a rules file from the permissions in Claude Code's settings (default
~/.claude/settings.json) and print it, or with --write save it as your rules file. The settings
are not changed.

--from codex reads Codex's rules ($CODEX_HOME/rules, else ~/.codex/rules; or a file *.rules, or
its config.toml), --from gemini Gemini CLI's (~/.gemini/policies; or a file *.toml, or its
settings.json), --from qwen Qwen Code's (~/.qwen/settings.json), --from copilot Copilot CLI's
(settings.json, config.json and permissions-config.json of $COPILOT_HOME, else ~/.copilot; or a
script with copilot --allow-tool …).

Nothing is allowed that the settings did not allow. Entries that cannot be converted are reported
line by line, and so is what a wide rule such as Bash(python:*) means. Settings inside a checkout
may come from somebody else, and your rules file applies to every project. So the deny and ask
entries of such settings are converted, but their allow entries are left out, and so are the flags
in a script that allow something. --everywhere converts these entries too.`,
		Example: `  assent rules import
  assent rules import ~/.claude/settings.json --write
  assent rules import .claude/settings.local.json --everywhere > more.yaml
  assent rules import --from codex
  assent rules import --from gemini ~/.gemini/settings.json --json
  assent rules import --from qwen
  assent rules import --from copilot review.sh --everywhere`,
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
			userDir, path := importer.SettingsOf(from, o.Home, o.ConfigDir, os.Getenv)
			if len(args) == 1 {
				path = args[0]
			}
			m, err := importer.ReadFrom(from, importer.Config{Settings: path, UserDir: userDir, Everywhere: everywhere})
			if err != nil {
				return err
			}
			text, err := m.File()
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
				if err := importer.Create(to, text); err != nil {
					return err
				}
			} else {
				to = ""
			}
			if a.json {
				return a.printJSON(reportOf(m, to, text))
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
	c.Flags().StringVar(&from, "from", from, "whose settings: claude, codex, gemini, qwen or copilot")
	c.Flags().BoolVar(&everywhere, "everywhere", false, "let what a project's settings or a script's flags allow hold everywhere")
	c.Flags().BoolVar(&a.json, "json", false, "the file and what became of each entry, as JSON")
	return c
}

// importReport is what import says as JSON.
type importReport struct {
	Settings string           `json:"settings"`
	Project  string           `json:"project,omitempty"` // the checkout that the settings come from
	Written  string           `json:"written,omitempty"`
	Rules    string           `json:"rules"` // the file
	Entries  []importer.Entry `json:"entries"`
}

func reportOf(m *importer.Import, to string, text []byte) importReport {
	entries := m.Entries
	if entries == nil {
		entries = []importer.Entry{}
	}
	return importReport{m.Settings, m.Project(), to, string(text), entries}
}

// tellImport says on standard error what a person must know and does not see: the file that goes
// to a terminal says it itself.
func (a *app) tellImport(m *importer.Import, to string) {
	say := func(label, text string) {
		fmt.Fprintln(a.err, layout.Wrap(show.Line(text), fmt.Sprintf("%-9s", label), "         "))
	}
	if note := m.Note(); note != "" {
		say("NOTE", note)
	}
	for _, e := range m.Entries {
		if to == "" && terminal.IsTerminal(a.out) {
			break
		}
		switch {
		case e.State == importer.Left:
			say("LEFT OUT", e.Action+" "+e.Text+": "+e.Why)
		case e.State == importer.Changed:
			say("CHANGED", e.Action+" "+e.Text+": "+e.Why)
		case e.Meaning != "":
			say("WIDE", e.Action+" "+e.Text+": "+e.Meaning)
		}
	}
	fmt.Fprintf(a.err, "%d carried over, %d changed, %d left out.\n", m.Count(importer.Carried), m.Count(importer.Changed), m.Count(importer.Left))
	if to != "" {
		fmt.Fprintln(a.err, "Written to "+show.Line(to)+". Next: assent rules check")
	}
}
