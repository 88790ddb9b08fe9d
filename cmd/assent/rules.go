package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/policy"
	"assent/internal/policy/files"
	"assent/internal/text/layout"
)

func (a *app) rulesCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "Check, test and try out rule files",
		Long: `Work with the rule files that answer requests without a person. If no file is named, a command
uses the files that the broker would load: the machine's, yours, assent's own, and the one of the
repository around the current directory. With --rules FILE a command uses that file only.`,
		Example: `  assent rules check
  assent rules explain -- 'git push -f'
  assent rules replay --since 7d --rules new.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOrUnknown,
	}
	c.AddCommand(a.rulesCheckCmd(), a.rulesTestCmd(), a.rulesExplainCmd(), a.rulesReplayCmd(), a.rulesSuggestCmd(), a.rulesImportCmd(), a.rulesEvalCmd(), a.rulesKeyCmd(), a.rulesSignCmd(), a.rulesPublishCmd(), a.rulesStatusCmd())
	return c
}

// readRules reads the file that the user named, or else those that the broker would load for an
// agent in the repository at root.
func (a *app) readRules(name, root string) (*files.Look, error) {
	cfg, err := a.rulesConfig(name)
	if err != nil {
		return nil, err
	}
	return files.LookAt(cfg, name, root)
}

// rulesConfig says where the broker of this machine finds its rules, with name in place of the
// person's.
func (a *app) rulesConfig(name string) (files.Config, error) {
	b := *a
	if b.stateDir == "" { // a broker elsewhere was named, but these files are here
		dir, err := defaultStateDir(os.Getenv)
		if err != nil {
			return files.Config{}, err
		}
		b.stateDir = dir
	}
	cfg := b.rulebook(serveFlags{rules: name}, defaultSocket(b.stateDir, os.Getenv), nil, nil)
	var err error
	if cfg.Home, err = os.UserHomeDir(); err != nil {
		cfg.Home = ""
	}
	return cfg, nil
}

// loadedRules is readRules for commands that need rules that are right.
func (a *app) loadedRules(name, root string) (*policy.Set, *files.Look, error) {
	f, err := a.readRules(name, root)
	if err != nil {
		return nil, nil, err
	}
	set, problems := f.Load(false)
	if len(problems) > 0 {
		a.printProblems(a.err, f, problems)
		return nil, nil, errors.New("the broker does not load rules with mistakes either; fix them first")
	}
	return set, f, nil
}

// printProblems prints each problem with its line and a caret below the place.
func (a *app) printProblems(w io.Writer, f *files.Look, problems []policy.Problem) {
	for _, p := range problems {
		fmt.Fprintln(w, layout.Wrap(readable(p.String()), "", "    "))
		for _, s := range f.Files {
			if s.Name == p.File && p.Line > 0 {
				printLine(w, string(s.Data), p.Line, p.Column)
			}
		}
	}
}

// printLine prints a line of a file with a caret below the column.
func printLine(w io.Writer, text string, line, column int) {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return
	}
	from := len(lines[line-1])
	n := 0
	for i := range lines[line-1] {
		if n++; n == column {
			from = i
			break
		}
	}
	number := fmt.Sprintf("%5d | ", line)
	row, marks := layout.Underline(strings.TrimSuffix(lines[line-1], "\r"), from, from, layout.Most-len(number))
	fmt.Fprintf(w, "%s%s\n%s%s\n", number, row, strings.Repeat(" ", len(number)-2)+"| ", marks)
}

// layerName is a layer for a person.
func layerName(l policy.Layer) string {
	switch l {
	case policy.Managed:
		return "the machine's"
	case policy.User:
		return "yours"
	case policy.Assent:
		return "assent's own"
	case policy.Repository:
		return "the repository's"
	}
	return string(l)
}

// shortPath is a file's name with ~ for the home directory. It is not made safe to show.
func shortPath(path string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		if rest, ok := strings.CutPrefix(path, filepath.Clean(home)+"/"); ok {
			path = "~/" + rest
		}
	}
	return path
}

// rulesFiles are the files that a command is told, one empty name when it is told none.
func rulesFiles(flag string, args []string) ([]string, error) {
	if flag != "" {
		args = append([]string{flag}, args...)
	}
	if len(args) == 0 {
		return []string{""}, nil
	}
	for _, name := range args {
		if name == "" {
			return nil, usagef("the name of a file is empty")
		}
	}
	return args, nil
}

// untilDone runs work, which reads standard input, and returns with ctx. A read cannot be called
// off, so the goroutine may outlive ctx; the process then ends.
func untilDone(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
