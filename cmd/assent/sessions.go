package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) sessionsCmd() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List the agents' sessions and what each is doing",
		Long: `List the agents' sessions, most recent first: what each one is doing, how many of its requests are
waiting, and what it is about.`,
		Example: "  assent sessions\n  assent sessions --limit 5\n  assent sessions --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 1000 {
				return usagef("--limit %d: want 1 to 1000", limit)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := b.call(cmd.Context(), "GET", fmt.Sprintf("/v1/sessions?limit=%d", limit), nil, &raw); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(raw)
			}
			var list []terminal.Session
			if err := json.Unmarshal(raw, &list); err != nil {
				return fmt.Errorf("the broker's answer: %w", err)
			}
			if len(list) == 0 {
				fmt.Fprintln(a.out, "No sessions yet. Is the hook installed? See: assent doctor")
				return nil
			}
			header, rows := []string{"SESSION", "STATE", "WAIT", "LAST", "WHERE", "ABOUT"}, make([][]string, 0, len(list))
			named := slices.ContainsFunc(list, func(s terminal.Session) bool { return terminal.IsOtherAgent(s.Agent) })
			if named {
				header = slices.Insert(header, 1, "AGENT")
			}
			for i := range list {
				s := &list[i]
				row := []string{show.Short(s.SessionID, 13), s.StateRole().On(s.StateName()), s.Waits(), ago(s.LastEventAt), s.Where(), s.About()}
				if s.QueueCount > 0 {
					row[2] = terminal.Attention.On(row[2])
				}
				if named {
					row = slices.Insert(row, 1, show.Line(s.AgentTitle))
				}
				rows = append(rows, row)
			}
			a.printTable(header, rows)
			return nil
		},
	}
	c.Flags().IntVar(&limit, "limit", 30, "at most this many")
	c.Flags().BoolVar(&a.json, "json", false, "the API's JSON")
	return c
}

func ago(t time.Time) string { return terminal.Ago(t, time.Now()) }

// oneSession is the argument of commands about a session.
func oneSession(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("want one SESSION: its id, the beginning or the end of it, or its title (assent sessions lists them)")
	}
	return nil
}
