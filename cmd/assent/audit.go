package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) auditCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Who allowed what, and whether its signature fits",
		Long: `Look through past requests: which device or rule decided each one, and whether its signature still
fits the record. All these commands but verify need a running broker.`,
		Example: "  assent audit search --device \"Alice's phone\" --since 7d\n  assent audit report --since 30d --format csv > decisions.csv",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.auditSearchCmd(), a.auditReportCmd(), a.auditCheckpointCmd(), a.auditProveCmd(), a.auditExportCmd(), a.auditVerifyCmd(), a.auditWatchCmd())
	return c
}

// auditQuery are the flags that say which requests are meant.
type auditQuery struct {
	audit.Query
	since string
}

// began is the time that --since says.
func (q *auditQuery) began() (time.Time, error) {
	ago, err := longDuration(q.since)
	if err != nil {
		return time.Time{}, usagef("--since %s: want a time that has passed, such as 24h or 7d", q.since)
	}
	switch q.Risk {
	case "", hook.Calm, hook.Normal, hook.Attention, hook.Danger:
	default:
		return time.Time{}, usagef("--risk %s: want calm, normal, attention or danger", q.Risk)
	}
	switch q.Outcome {
	case "", hook.Allowed, hook.Denied, hook.Expired, hook.Withdrawn, hook.HandedBack:
	default:
		return time.Time{}, usagef("--outcome %s: want allowed, denied, expired, withdrawn or handed_back", q.Outcome)
	}
	return time.Now().Add(-ago), nil
}

func (a *app) auditSearchCmd() *cobra.Command {
	var q auditQuery
	c := &cobra.Command{
		Use:   "search",
		Short: "Show the requests that a device or a rule decided, or a device showed",
		Long: `Show past requests, newest first: when each one was decided, its outcome, who or what decided,
whether the device's signature fits, and which devices had the request on their screen; the
signature is verified again with the key that the record holds, and who had it on the screen is
the broker's word. Name a device by its name, its id or its key, and a rule by its id. Exits 1 if a
signature does not fit the record.`,
		Example: `  assent audit search --device "Alice's phone" --since 7d
  assent audit search --shown-to "Alice's phone" --outcome expired
  assent audit search --rule go-test --since 24h --json
  assent audit search --risk danger --outcome allowed --since 30d`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, err := q.began()
			if err != nil {
				return err
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			found, misfits, palette := 0, 0, a.palette()
			err = b.audit(cmd.Context(), since, &q.Query, func(r *audit.Row, sentence string) error {
				found++
				if !r.Signature.Fits() {
					misfits++
				}
				if a.json {
					return a.printJSON(r)
				}
				for _, row := range terminal.Wrap(auditLine(r, sentence), columns(a.out), 6) {
					fmt.Fprintln(a.out, palette.Paint(row))
				}
				return nil
			})
			if err != nil {
				return err
			}
			if found == 0 && !a.json {
				fmt.Fprintf(a.err, "Nothing like that ended in %s. See assent audit search --help\n", q.since)
			}
			return misfit(misfits)
		},
	}
	f := c.Flags()
	f.StringVar(&q.since, "since", "7d", "how far back")
	f.StringVar(&q.Device, "device", "", "decided by the device of this name or id, or by a device or token with this key")
	f.StringVar(&q.ShownTo, "shown-to", "", "was on the screen of the device of this name, id or key, says the broker")
	f.StringVar(&q.Rule, "rule", "", "decided by the rule of this id")
	f.StringVar((*string)(&q.Risk), "risk", "", "calm, normal, attention or danger")
	f.StringVar((*string)(&q.Outcome), "outcome", "", "allowed, denied, expired, withdrawn or handed_back")
	f.BoolVar(&a.json, "json", false, "lines of JSON")
	return c
}

func (a *app) auditReportCmd() *cobra.Command {
	q, format := auditQuery{}, ""
	c := &cobra.Command{
		Use:   "report",
		Short: "Write all decisions as a table",
		Long: `Write past requests, newest first, as comma-separated values or as lines of JSON: times, agent,
directory, tool, the digest of the tool's input, outcome, who or what decided, the key, whether the
signature fits, and on which devices' screens each was, and when. The report holds no inputs and no
text of an agent. Cells that a spreadsheet could take for a formula begin with an apostrophe. Exits
1 if a signature does not fit the record, after the complete report.`,
		Example: "  assent audit report --since 30d --format csv > decisions.csv\n  assent audit report --since 7d --format json | jq -r '.byName'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, err := q.began()
			if err != nil {
				return err
			}
			if format != "csv" && format != "json" {
				return usagef("--format %s: want csv or json", format)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			misfits := 0
			write, end := func(r *audit.Row) error { return a.printJSON(r) }, func() error { return nil }
			if format == "csv" {
				table, err := audit.NewCSV(a.out)
				if err != nil {
					return err
				}
				write, end = table.Write, table.Close
			}
			err = b.audit(cmd.Context(), since, &q.Query, func(r *audit.Row, _ string) error {
				if !r.Signature.Fits() {
					misfits++
				}
				return write(r)
			})
			if err := errors.Join(err, end()); err != nil {
				return err
			}
			return misfit(misfits)
		},
	}
	c.Flags().StringVar(&q.since, "since", "30d", "how far back")
	c.Flags().StringVar(&format, "format", "csv", "csv, or json: lines of it")
	return c
}

// misfit is the error of so many signatures that do not fit.
func misfit(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s not fit what the record says: look at them with assent trace ID", map[bool]string{true: "one signature does", false: fmt.Sprintf("%d signatures do", n)}[n == 1])
}

// audit calls visit with the rows that are meant of the requests that ended since then, newest first, and with what each
// would do in words.
func (c *client) audit(ctx context.Context, since time.Time, q *audit.Query, visit func(r *audit.Row, sentence string) error) error {
	return c.eachEnded(ctx, since, func(r *api.Request) error {
		row := audit.RowOf(r, nil)
		// A device or a token may be named by its key, which only the records have; so is who it was shown to.
		first := *q
		first.ShownTo = ""
		if q.Device == "" && !first.Meant(&row) || q.Device != "" && row.ByKind != hook.KindDevice && row.ByKind != hook.KindToken {
			return nil
		}
		var records []api.Record
		err := c.call(ctx, "GET", "/v1/requests/"+url.PathEscape(r.ID)+"/trace", nil, &records)
		if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status == http.StatusNotFound {
			return nil // forgotten since
		}
		if err != nil {
			return err
		}
		if row = audit.RowOf(r, records); !q.Meant(&row) {
			return nil
		}
		return visit(&row, terminal.Marked(r))
	})
}

// auditLine is a row for a person.
func auditLine(r *audit.Row, sentence string) string {
	who := "nobody"
	if r.ByKind != "" {
		who = show.Line(api.ApproverName(&hook.Approver{Kind: r.ByKind, ID: r.ByID, Name: r.ByName}))
	}
	line := r.Settled.Local().Format("2006-01-02 15:04:05") + "  " + show.Line(string(r.Outcome)) + " by " + who
	switch r.Signature {
	case audit.Unsigned:
	case audit.Rules:
		line += ", of rules signed with device:" + r.Key
	default:
		line += ", signature " + string(r.Signature)
	}
	if r.Edited {
		line += ", edited"
	}
	if len(r.ShownTo) > 0 {
		names := make([]string, len(r.ShownTo))
		for i, s := range r.ShownTo {
			names[i] = show.Line(s.Who())
		}
		line += ", shown to " + strings.Join(names, ", ")
	}
	if r.Risk != "" {
		line += "  " + string(r.Risk)
	}
	return line + "  " + show.Line(sentence) + "  " + r.Request[:min(8, len(r.Request))]
}
