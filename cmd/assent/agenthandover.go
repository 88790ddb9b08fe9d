package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) agentHandoverCmd() *cobra.Command {
	f := agentFlags{wait: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "handover SESSION",
		Short: "Hand a session of an agent over to a terminal",
		Long: `Hand a session of an agent over to a terminal. When the running turn is over, the host ends the
session's process and refuses the prompts that wait for it. Then the command prints the line that
continues the session in a terminal of the host; standard output holds nothing else. A session
whose process has ended is handed over at once.

Two programs on one session lose each other's turns. So after the handover the session takes only
assent agent resume, and only once the terminal has ended the session. SESSION is the session's
id, or a beginning of it that no other session shares. Ctrl-C ends the waiting but not the
handover; run the command again to print the line.`,
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
					return fmt.Errorf("the session is not handed over: %s", terminal.MessageOutcome(m))
				}
				_, err := fmt.Fprintln(a.out, cmp.Or(show.Line(m.Command), "claude --resume "+show.Line(m.SessionID)))
				return err
			}
			return a.toSession(cmd.Context(), f, args[0], hook.Message{Kind: hook.MessageHandover})
		},
	}
	c.Flags().StringVar(&f.agent, "agent", "", "the agent that has the session; needed while its host is away")
	f.add(a, c, false)
	c.Flags().Lookup("wait").Usage = "how long to wait for the end of the turn; 0: not at all"
	return c
}
