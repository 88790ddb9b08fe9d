package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/store/integrity"
	"assent/internal/store/stream"
	"assent/internal/text/show"
)

func (a *app) repairCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "repair",
		Short: "Fix a damaged record, and say what is lost",
		Long: `Compare the record with its mark, the list of what was acknowledged, and if they differ, rebuild
the record from what is left. The broker must not be running. Every lost message is listed with
its file, position and time. Tokens, devices, grants and saved rules whose latest state is lost
are no longer valid; if the mark itself is lost, none of them are. Requests that seem to be
waiting although one of their records is lost are ended, because they may have been decided
already. The damaged files are kept unchanged in the directory damaged.

An intact record is left alone. serve --repair does the same before it starts the broker.`,
		Example: "  assent repair\n  assent repair --json --state-dir /var/lib/assent",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			rep, err := stream.Repair(a.stateDir)
			var locked *stream.LockedError
			if errors.Is(err, stream.ErrNoState) {
				return fmt.Errorf("%s: %w; name the broker's state directory with --state-dir", a.stateDir, err)
			}
			if errors.As(err, &locked) {
				return fmt.Errorf("%w; repair works while no broker runs, or use serve --repair", err)
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(rep)
			}
			a.printRepair(rep)
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) printRepair(rep integrity.Report) {
	if len(rep.Damages) == 0 {
		fmt.Fprintln(a.out, "The record is what its mark says. Nothing was changed.")
		return
	}
	fmt.Fprintln(a.out, "Damaged:")
	for _, d := range rep.Damages {
		switch {
		case d.Seq > 0:
			fmt.Fprintf(a.out, "  %s, message %d (%s), acknowledged %s\n    %s: %s, byte %d\n", show.Line(d.Stream), d.Seq,
				show.Line(d.Subject), d.Time.Local().Format(time.DateTime), d.What, show.Line(d.File), d.Offset)
		default:
			fmt.Fprintf(a.out, "  %s: %s, byte %d\n", d.What, show.Line(d.File), d.Offset)
		}
	}
	a.printList("Count no more:", rep.GivenUp)
	a.printList("Ended, since their records are lost:", rep.Ended)
	a.printList("The files as they were, in "+show.Line(a.stateDir)+":", rep.Copies)
	fmt.Fprintln(a.out, "Repaired. Start the broker again.")
}

func (a *app) printList(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(a.out, title)
	for _, line := range lines {
		fmt.Fprintln(a.out, "  "+show.Line(line))
	}
}
