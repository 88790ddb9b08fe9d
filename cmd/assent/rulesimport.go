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
	var to, from string
	c := &cobra.Command{
		Use:   "import [SETTINGS]",
		Short: "Create a rule file from an agent's settings",
		Long: `Create a rule file from the permissions in Claude Code's settings (default
~/.claude/settings.json) and print it, or with --write put it where your rules stand. The settings
stay as they are. With --from codex, read Codex's files of rules (default ~/.codex/rules/*.rules):
calls of prefix_rule with literal words, for the files are not run.

Nothing is allowed that was not allowed there. What cannot be carried over is said, line by line,
and so is what a wide rule such as Bash(python:*) means. What a project's settings allow holds in
that project only, but your file of rules counts everywhere: it is left out unless you say
--everywhere.`,
		Example: `  assent rules import
  assent rules import ~/.claude/settings.json --write
  assent rules import .claude/settings.local.json --everywhere > more.yaml
  assent rules import --from codex`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("takes one file of settings, got %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.readImport(from, everywhere, args)
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
	c.Flags().StringVar(&from, "from", "claude", "whose settings: claude or codex")
	c.Flags().BoolVar(&write, "write", false, "write it to your file of rules, if there is none yet")
	c.Flags().StringVar(&to, "to", "", "write it to this file, if there is none yet")
	c.Flags().BoolVar(&everywhere, "everywhere", false, "let what a project's settings allow hold everywhere")
	c.Flags().BoolVar(&a.json, "json", false, "the file and what became of each entry, as JSON")
	return c
}

// readImport reads the settings of an agent: those that args name, else the user's own.
func (a *app) readImport(from string, everywhere bool, args []string) (*importer.Import, error) {
	o, err := a.agentOptions()
	if err != nil {
		return nil, err
	}
	switch from {
	case "claude":
		userDir := o.ConfigDir
		if userDir == "" {
			userDir = filepath.Join(o.Home, ".claude")
		}
		path := filepath.Join(userDir, "settings.json")
		if len(args) == 1 {
			path = args[0]
		}
		return importer.Read(importer.Config{Settings: path, UserDir: userDir, Everywhere: everywhere})
	case "codex":
		userDir := os.Getenv("CODEX_HOME")
		if userDir == "" {
			userDir = filepath.Join(o.Home, ".codex")
		}
		c := importer.Config{Settings: filepath.Join(userDir, "rules"), UserDir: userDir, Everywhere: everywhere}
		if len(args) == 1 {
			c.Settings = args[0]
			return importer.ReadCodex(c, args)
		}
		paths, err := filepath.Glob(filepath.Join(c.Settings, "*.rules"))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("there is no file of rules %s; name one: assent rules import --from codex FILE", filepath.Join(c.Settings, "*.rules"))
		}
		return importer.ReadCodex(c, paths)
	}
	return nil, usagef("--from takes claude or codex, not %q", from)
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
