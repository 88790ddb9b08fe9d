package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) pendingCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "pending",
		Short: "List the requests that wait for an answer",
		Long: `List the waiting requests: the number of each, how long it has been waiting, its project (behind
the agent's name, if an agent other than Claude Code asks), its risk (· calm, • normal, !
attention, !! danger) and what it would do. If standard output is not a terminal, each request is
one line that ends with the complete id.`,
		Example: "  assent pending\n  assent pending --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.warnOfHalt(cmd.Context())
			defer a.warnOfRules(cmd.Context())
			b, err := a.broker()
			if err != nil {
				return err
			}
			raw, waiting, err := b.waiting(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				a.keepShown(a.out, waiting...)
				return a.printJSON(raw)
			}
			if len(waiting) == 0 {
				fmt.Fprintln(a.out, "Nothing waits. Try: "+typed()+" simulate")
				return nil
			}
			a.printWaiting(waiting)
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "the API's JSON")
	return c
}

// waiting are the requests that wait, in the order in which they were asked, and the broker's own text.
func (c *client) waiting(ctx context.Context) (json.RawMessage, []*api.Request, error) {
	var raw json.RawMessage
	if err := c.call(ctx, "GET", "/v1/requests?state=pending", nil, &raw); err != nil {
		return nil, nil, err
	}
	var rs []*api.Request
	if err := json.Unmarshal(raw, &rs); err != nil {
		return nil, nil, fmt.Errorf("the broker's answer: %w", err)
	}
	return raw, rs, nil
}

// palette is the palette of standard output.
func (a *app) palette() terminal.Palette { return terminal.NewPalette(screenOf(a.out), os.Getenv) }

// printWaiting prints requests as a table, and keeps that they were shown.
func (a *app) printWaiting(rs []*api.Request) {
	now, width := time.Now(), columns(a.out)
	people, named := terminal.IsTerminal(a.out), terminal.OtherAgents(rs)
	var rows [][]string
	if !people {
		rows = append(rows, []string{"NUMBER", "AGE", "PROJECT", "RISK", "WHAT", "INPUT", "ID"})
	}
	for _, r := range rs {
		row := []string{number(r), terminal.Ago(r.CreatedAt, now), placeOf(r, named, width)}
		what := terminal.Elide(terminal.Marked(r), 100)
		if people {
			risk := terminal.RiskOf(r)
			row = append([]string{" " + terminal.Strong.On(row[0])}, row[1], row[2], terminal.RiskSign(risk)+" "+terminal.RiskRole(risk).On(what))
		} else {
			row = append(row, string(terminal.RiskOf(r)), what, summary(r, 100), show.Line(r.ID))
		}
		rows = append(rows, row)
	}
	palette := a.palette()
	for i, line := range terminal.Table(rows) {
		if people && width > 0 {
			line = terminal.Cut(line, width)
		}
		fmt.Fprintln(a.out, palette.Paint(strings.TrimRight(line, " ")))
		if people {
			text := "      " + summary(rs[i], 300)
			if width > 0 {
				text = terminal.Cut(text, width)
			}
			fmt.Fprintln(a.out, palette.Paint(terminal.Dim.On(text)))
		}
	}
	if people {
		n := number(rs[0])
		for _, line := range terminal.Wrap(terminal.Dim.On(fmt.Sprintf("%[1]s allow %[2]s · %[1]s deny %[2]s -m WORDS · %[1]s watch", typed(), n)), width, 0) {
			fmt.Fprintln(a.out, palette.Paint(line))
		}
	}
	a.keepShown(a.out, rs...)
}

// placeOf is the project of a request, of at most a quarter of a terminal: whoever names a directory must not push out of
// sight what the requests of all projects would do.
func placeOf(r *api.Request, named bool, width int) string {
	most := 36
	if width > 0 {
		most = min(most, max(12, width/4))
	}
	return terminal.Elide(terminal.ProjectOf(r, named), most)
}

// keepShown keeps that requests were shown to this user, where out is a terminal: what goes into a pipe or
// a file may be read by nobody. A command goes on without.
func (a *app) keepShown(out io.Writer, rs ...*api.Request) {
	if !terminal.IsTerminal(out) {
		return
	}
	if err := a.shown.Add(rs...); err != nil {
		fmt.Fprintln(a.err, "assent:", readable(err.Error()))
	}
}

// number is what a person calls a request by; its id where the broker gives it no number.
func number(r *api.Request) string {
	if r.Number == 0 {
		return show.Line(r.ID)
	}
	return strconv.FormatUint(r.Number, 10)
}

// confirmNumbered shows the request that was named by its number before it is allowed, and asks where
// it is dangerous or was never shown to this user: a number is mistyped easily.
func (a *app) confirmNumbered(ctx context.Context, r *api.Request) error {
	if r.State != "pending" {
		return nil // the broker will say by whom it was answered
	}
	n, danger, seen := number(r), terminal.RiskOf(r) == hook.Danger, a.shown.Has(r)
	byID := fmt.Sprintf("or allow it by its whole id, without a question: %s allow %s", typed(), show.Line(r.ID))
	switch {
	case r.Uninspectable != "":
		return refusedf("request %s cannot be shown faithfully (%s), so its number does not allow it; see %s trace --json %[1]s, %[4]s", n, show.Line(r.Uninspectable), typed(), byID)
	case danger && !a.interactive():
		return refusedf("request %s is dangerous and needs a yes at a terminal: %s. Run this there, %s", n, terminal.Sentence(r), byID)
	case !seen && !a.interactive():
		return refusedf("request %s was never shown to you here; look at it first: %s pending, %s", n, typed(), byID)
	}
	out := a.out
	if a.json {
		out = a.err
	}
	palette, width := terminal.NewPalette(out, os.Getenv), columns(out)
	for _, row := range terminal.Detail(r, ruleNote(r.Verdict), time.Now(), width) {
		fmt.Fprintln(out, palette.Paint(row))
	}
	a.keepShown(out, r)
	if !danger && seen {
		return nil
	}
	question := "Allow this?"
	if danger {
		question = "This is dangerous. Allow it?"
	}
	ok, err := a.confirm(ctx, question, false)
	if err != nil {
		return fmt.Errorf("nothing was allowed: %w", err)
	}
	if !ok {
		return refusedf("nothing was allowed")
	}
	return nil
}
