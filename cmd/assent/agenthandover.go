package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/text/show"
)

func (a *app) agentHandoverCmd() *cobra.Command {
	f := agentFlags{wait: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "handover SESSION",
		Short: "Hand a session of an agent over to a terminal",
		Long: `Hand a session of an agent over to a terminal. Once no turn of it runs, its host ends the process, and what
waits for the session is refused. Then the line is printed that goes on with it in a terminal of the host; it
alone is on standard output. A session whose process has ended is handed over at once.

Two programs on one session lose each other's turns. So nothing is sent to it after that but assent agent resume,
and that only once the terminal has ended it. SESSION is an id, or the beginning of one that only one
session has. Ctrl-C ends the waiting, and not the handover; the same command again prints the line.`,
		Example: "  assent agent handover 25e5a0e9\n  assent agent handover 25e5a0e9 --json | jq -r .command",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want a SESSION")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			waiting := false
			f.settled = func(m hook.Message) bool {
				if m.State == hook.MessageStarted && !waiting {
					waiting = true
					fmt.Fprintf(a.err, "%s: a turn runs; it is handed over at its end\n", show.Line(m.SessionID))
				}
				return m.State.Over()
			}
			f.print = func(m hook.Message) error {
				switch {
				case m.State == hook.MessageStarted:
					return fmt.Errorf("the turn has not ended yet; the session is handed over at its end: then run this again, or see the page")
				case m.Outcome != hook.OutcomeCompleted:
					return fmt.Errorf("the session is not handed over: %s", outcomeOfAgent(m))
				}
				_, err := fmt.Fprintln(a.out, cmp.Or(show.Line(m.Command), "claude --resume "+show.Line(m.SessionID)))
				return err
			}
			return a.toSession(cmd.Context(), f, args[0], hook.Message{Kind: hook.MessageHandover})
		},
	}
	c.Flags().StringVar(&f.agent, "agent", "", "whose session it is, if its host is away")
	f.add(a, c, false)
	c.Flags().Lookup("wait").Usage = "how long to wait for the end of the turn; 0: not at all"
	return c
}
