package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/internal/host/gitrepo"
	"assent/internal/outlet/ledger"
)

// queryName is the other name of the program, under which it is assent ledger query.
const queryName = "hookd-query"

// commandLine is what the program was called with, whatever its name.
func commandLine(args []string) []string {
	if filepath.Base(args[0]) == queryName {
		return append([]string{"ledger", "query"}, args[1:]...)
	}
	return args[1:]
}

func (a *app) ledgerCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Show which agent changed which file, on which branch, at which commit",
		Long: `Read the ledgers of this machine's repositories: which agent changed which file, on which branch
and at which commit. A ledger is the file .hookd/mutations.db in a git work tree. A broker that
runs with serve --ledger writes the ledgers; on a machine without a broker, assent ledger consume
does.`,
		Example: `  assent ledger query --since 1h
  assent ledger stats`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOrUnknown,
	}
	c.AddCommand(a.ledgerQueryCmd(), a.ledgerStatsCmd(), a.ledgerConsumeCmd())
	return c
}

// span is the part of a ledger that flags choose.
type span struct {
	repo, since, until string
	flags              *pflag.FlagSet
}

func (s *span) add(c *cobra.Command) {
	s.flags = c.Flags()
	c.Flags().StringVar(&s.repo, "repo", ".", "the git work tree, or a directory in it")
	c.Flags().StringVar(&s.since, "since", "", "only from this time on: 90s, 15m, 1h, 7d ago, or a time such as 2026-02-06 or 2026-02-06T15:04")
	c.Flags().StringVar(&s.until, "until", "", "only before this time, written as for --since")
}

// read returns the root and the times, zero where nothing was said.
func (s *span) read(now time.Time) (root string, since, until time.Time, err error) {
	for name, text := range map[string]string{"since": s.since, "until": s.until} {
		if text == "" && s.flags.Changed(name) { // of a script, most likely, whose variable is not set
			return "", since, until, usagef("--%s is empty: want how long ago, such as 1h, or a time; leave it out for all", name)
		}
	}
	if since, err = ledger.ParseTime(s.since, now); err != nil {
		return "", since, until, usagef("--since %w", err)
	}
	if until, err = ledger.ParseTime(s.until, now); err != nil {
		return "", since, until, usagef("--until %w", err)
	}
	if !until.IsZero() && !since.Before(until) {
		return "", since, until, usagef("--until %s is not after --since %s: no time is between them", s.until, s.since)
	}
	dir, err := filepath.Abs(s.repo)
	if err != nil {
		return "", since, until, fmt.Errorf("find the work tree: %w", err)
	}
	if root = gitrepo.Find(dir).Root; root == "" {
		return "", since, until, fmt.Errorf("%s is in no git work tree; say which one with --repo DIR", dir)
	}
	return root, since, until, nil
}
