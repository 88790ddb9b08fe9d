package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/outlet/ledger"
	"assent/internal/text/show"
)

func (a *app) ledgerStatsCmd() *cobra.Command {
	var s span
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count mutations by tool, agent, branch and file",
		Long: `Count the entries in the ledger of a git work tree, including calls that were started or failed:
by hook type, tool, agent, branch and file, the ten most frequent of each.`,
		Example: `  assent ledger stats
  assent ledger stats --repo ~/src/shop --since 7d --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, since, until, err := s.read(time.Now())
			if err != nil {
				return err
			}
			sum, err := ledger.Summarize(cmd.Context(), root, since, until)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(sum)
			}
			return a.printSummary(sum)
		},
	}
	s.add(c)
	c.Flags().BoolVar(&a.json, "json", false, "as JSON")
	return c
}

func (a *app) printSummary(s ledger.Summary) error {
	fmt.Fprintf(a.out, "%s, %d KB\n", show.Line(s.Path), (s.Bytes+1023)/1024)
	if s.Rows == 0 {
		_, err := fmt.Fprintln(a.out, "No mutation matches.")
		return err
	}
	fmt.Fprintf(a.out, "%s from %s to %s\n", counted(int(s.Rows), "mutation"), ledger.LocalTime(s.First), ledger.LocalTime(s.Last))
	for _, part := range []struct {
		title  string
		counts []ledger.Count
	}{{"HOOK TYPE", s.HookTypes}, {"TOOL", s.Tools}, {"AGENT", s.Agents}, {"BRANCH", s.Branches}, {"FILE", s.Files}} {
		if len(part.counts) == 0 {
			continue
		}
		fmt.Fprintf(a.out, "\n%s\n", part.title)
		for _, c := range part.counts {
			if _, err := fmt.Fprintf(a.out, "%8d  %s\n", c.Rows, cmp.Or(show.Line(c.Value), "-")); err != nil {
				return err
			}
		}
	}
	return nil
}
