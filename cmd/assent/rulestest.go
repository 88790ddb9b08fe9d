package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) rulesTestCmd() *cobra.Command {
	var file string
	var verbose bool
	c := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Run the tests in the rule files",
		Long: `Run the tests in the rule files. For each that fails it prints what was decided and
why, part by part. Exits 1 when one fails.`,
		Example: "  assent rules test\n  assent rules test rules.yaml -v",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			names, err := rulesFiles(file, args)
			if err != nil {
				return err
			}
			var results []policy.TestResult
			for _, name := range names {
				w, err := here()
				if err != nil {
					return err
				}
				f, err := a.readRules(name, w.root)
				if err != nil {
					return err
				}
				set, problems := f.Load(true)
				if len(problems) > 0 {
					a.printProblems(a.err, f, problems)
					return errors.New("the rules have mistakes, so their tests were not run")
				}
				results = append(results, set.Test()...)
			}
			return a.printTests(results, verbose)
		},
	}
	c.Flags().StringVar(&file, "rules", "", "the file to test")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "name the tests that pass, too")
	c.Flags().BoolVar(&a.json, "json", false, "every test as a line of JSON")
	return c
}

// testedRule is a test as JSON.
type testedRule struct {
	File   string      `json:"file"`
	Line   int         `json:"line"`
	Column int         `json:"column"`
	Name   string      `json:"name"`
	Passed bool        `json:"passed"`
	Want   hook.Action `json:"want"`
	Got    hook.Action `json:"got"`
	Rule   string      `json:"rule,omitempty"`
	Reason string      `json:"reason"`
	Failed string      `json:"failed,omitempty"`
}

func (a *app) printTests(results []policy.TestResult, verbose bool) error {
	failed := 0
	for _, r := range results {
		if r.Failed != "" {
			failed++
		}
		if a.json {
			if err := a.printJSON(testedRule{r.File, r.Line, r.Column, r.Name, r.Failed == "", r.Want, r.Got.Action, r.Got.Rule, r.Got.Reason, r.Failed}); err != nil {
				return err
			}
			continue
		}
		name := show.Short(r.Name, layout.Most-16)
		switch {
		case r.Failed != "":
			fmt.Fprintf(a.out, "FAIL  %s\n", name)
			fmt.Fprintln(a.out, layout.Wrap(readable(fmt.Sprintf("%s:%d:%d: %s", r.File, r.Line, r.Column, r.Failed)), "      ", "      "))
			a.printUnits(&r.Got, "      ")
			fmt.Fprintln(a.out)
		case verbose:
			fmt.Fprintf(a.out, "ok    %-5s  %s\n", r.Got.Action, name)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s failed", failed, counted(len(results), "test"))
	}
	if a.json {
		return nil
	}
	if len(results) == 0 {
		fmt.Fprintln(a.out, "There are no tests. Add some under the key tests; see docs/rules.md.")
		return nil
	}
	fmt.Fprintln(a.out, "ok:", counted(len(results), "test"))
	return nil
}
