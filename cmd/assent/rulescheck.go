package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/policy"
	"assent/internal/policy/checked"
	"assent/internal/policy/files"
	"assent/internal/terminal"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) rulesCheckCmd() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Check the rule files for errors",
		Long: `Read the rule files as the broker would, run the tests in them, and print what is wrong and
where; also, whether the signature beside a file counts. Each FILE is checked by itself. Exits 1
when something is wrong.`,
		Example: "  assent rules check\n  assent rules check new.yaml --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			names, err := rulesFiles(file, args)
			if err != nil {
				return err
			}
			report := checked.Report{OK: true, Files: []checked.File{}, Problems: []policy.Problem{}, Notices: []policy.Problem{}}
			for _, name := range names {
				if err := a.checkRulesFile(name, &report); err != nil {
					return err
				}
			}
			if a.json {
				if err := a.printJSON(report); err != nil {
					return err
				}
			}
			if !report.OK {
				return errors.New("something is wrong with the rules")
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "rules", "", "the file to check")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) checkRulesFile(name string, report *checked.Report) error {
	w, err := here()
	if err != nil {
		return err
	}
	cfg, err := a.rulesConfig(name)
	if err != nil {
		return err
	}
	f, err := files.LookAt(cfg, name, w.root)
	if err != nil {
		return err
	}
	found := checked.Check(cfg, f, name)
	report.Add(found)
	if a.json {
		return nil
	}
	for _, c := range found.Files {
		fmt.Fprintln(a.out, strings.Join(terminal.Wrap(checkedLine(&c), columns(a.out), 8), "\n"))
		if c.SignedBy != "" {
			fmt.Fprintln(a.out, "        signed with "+c.SignedBy)
		}
		for _, pack := range c.Packs {
			fmt.Fprintln(a.out, "        with "+pack)
		}
	}
	if name == "" && !slices.ContainsFunc(f.Files, func(file files.Found) bool { return file.There }) {
		a.tell("\nThere are no rules, so every request waits for a person. To write some, see docs/rules.md; assent rules suggest proposes some from what you allowed.")
	}
	if len(found.Problems) > 0 {
		fmt.Fprintln(a.out)
		a.printProblems(a.out, f, found.Problems)
	}
	if len(found.Notices) > 0 {
		fmt.Fprintln(a.out)
	}
	for _, p := range found.Notices {
		fmt.Fprintln(a.out, layout.Wrap(readable("note: "+p.String()), "", "    "))
	}
	return nil
}

func checkedLine(c *checked.File) string {
	head := map[string]string{checked.OK: "ok      ", checked.Broken: "BROKEN  ", checked.Absent: "-       "}[c.State] +
		show.Line(shortPath(c.Path)) + " (" + layerName(policy.Layer(c.Layer)) + ")"
	switch c.State {
	case checked.OK:
		return head + ": " + counted(c.Rules, "rule") + ", " + counted(c.Tests, "test")
	case checked.Absent:
		return head + ": not there"
	}
	return head
}
