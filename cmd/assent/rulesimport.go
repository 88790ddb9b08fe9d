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
		Long: `Create a rule file from the permissions in Claude Code's settings (default
~/.claude/settings.json) and print it, or with --write put it where your rules stand. The settings
stay as they are.

--from codex reads Codex's rules ($CODEX_HOME/rules, else ~/.codex/rules; or a file *.rules, or its
config.toml), --from gemini Gemini CLI's (~/.gemini/policies; or a file *.toml, or its settings.json).

Nothing is allowed that was not allowed there. What cannot be carried over is said, line by line,
and so is what a wide rule such as Bash(python:*) means. What a project's settings allow holds in
that project only, but your file of rules counts everywhere: it is left out unless you say
--everywhere.`,
		Example: `  assent rules import
  assent rules import ~/.claude/settings.json --write
  assent rules import .claude/settings.local.json --everywhere > more.yaml
  assent rules import --from codex
  assent rules import --from gemini ~/.gemini/settings.json --json`,
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
			if len(args) == 0 && from != importer.FromClaude {
				path = policyDir(from, o.Home, os.Getenv)
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
	c.Flags().StringVar(&from, "from", from, "whose settings: claude, codex or gemini")
	c.Flags().BoolVar(&everywhere, "everywhere", false, "let what a project's settings allow hold everywhere")
	c.Flags().BoolVar(&a.json, "json", false, "the file and what became of each entry, as JSON")
	return c
}

// policyDir is where an agent of this user keeps its rules.
func policyDir(agent, home string, env func(string) string) string {
	if agent == importer.FromGemini {
		return filepath.Join(home, ".gemini", "policies")
	}
	if dir := env("CODEX_HOME"); dir != "" {
		return filepath.Join(dir, "rules")
	}
	return filepath.Join(home, ".codex", "rules")
}

// importReport is what import says as JSON.
type importReport struct {
	Settings string           `json:"settings"`
	Written  string           `json:"written,omitempty"`
	Rules    string           `json:"rules"` // the file
	Entries  []importer.Entry `json:"entries"`
}

func reportOf(m *importer.Import, to string, text []byte) importReport {
	entries := m.Entries
	if entries == nil {
		entries = []importer.Entry{}
	}
	return importReport{m.Settings, to, string(text), entries}
}

// tellImport says on standard error what a person must know and does not see: the file that goes
// to a terminal says it itself.
func (a *app) tellImport(m *importer.Import, to string) {
	say := func(label, text string) {
		fmt.Fprintln(a.err, layout.Wrap(show.Line(text), fmt.Sprintf("%-9s", label), "         "))
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
