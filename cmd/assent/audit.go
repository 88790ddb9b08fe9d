package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
		Long: `Look through past requests, and messages that people sent to agents: which device or rule decided
each request, who sent each message, and whether the signature still fits the record. All these
commands but verify need a running broker.`,
		Example: "  assent audit search --device \"Alice's phone\" --since 7d\n  assent audit report --since 30d --format csv > decisions.csv",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.auditSearchCmd(), a.auditReportCmd(), a.auditCheckpointCmd(), a.auditProveCmd(), a.auditExportCmd(), a.auditVerifyCmd(), a.auditWatchCmd())
	return c
}

// auditQuery are the flags that say which requests and messages are meant.
type auditQuery struct {
	audit.Query
	since, session string
}

// flags adds those that all commands have.
func (q *auditQuery) flags(f *pflag.FlagSet, since string) {
	f.StringVar(&q.since, "since", since, "how far back")
	f.StringVar(&q.session, "session", "", "of the session of this id, or of the one whose id begins so")
	f.StringVar(&q.Kind, "kind", "", "request or message; both if not named")
}

// began is the time that --since says.
func (q *auditQuery) began() (time.Time, error) {
	ago, err := longDuration(q.since)
	if err != nil {
		return time.Time{}, usagef("--since %s: want a time that has passed, such as 24h or 7d", q.since)
	}
	switch q.Kind {
	case "", audit.RequestRow, audit.MessageRow:
	default:
		return time.Time{}, usagef("--kind %s: want request or message", q.Kind)
	}
	if q.Kind == audit.MessageRow && !q.Messages() {
		return time.Time{}, usagef("--rule, --shown-to, --risk and --outcome are about requests: leave --kind message out")
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
		Short: "Show the requests that a device or a rule decided, and the messages it sent",
		Long: `Show past requests and messages to agents, newest first. Of a request: when it was decided, its
outcome, who or what decided, and which devices had it on their screen. Of a message: when it was
sent, by whom, to which session, and how far it came. The device's signature is verified again with
the key that the record holds; who had a request on the screen is the broker's word.

Name a device by its name, its id or its key, and a rule by its id. --rule, --shown-to, --risk and
--outcome are about requests alone: with one of them no messages are shown. Exits 1 if a signature
does not fit the record.`,
		Example: `  assent audit search --device "Alice's phone" --since 7d
  assent audit search --kind message --session 25e5a0e9
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
			if err := q.named(cmd.Context(), b); err != nil {
				return err
			}
			found, misfits, palette := 0, 0, a.palette()
			err = b.audit(cmd.Context(), a.err, since, &q.Query, func(r *audit.Row, sentence string) error {
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
				fmt.Fprintf(a.err, "Nothing like that ended, or was sent, in %s. See assent audit search --help\n", q.since)
			}
			return misfit(misfits)
		},
	}
	f := c.Flags()
	q.flags(f, "7d")
	f.StringVar(&q.Device, "device", "", "decided or sent by the device of this name or id, or by a device or token with this key")
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
		Short: "Write all decisions and messages as a table",
		Long: `Write past requests and messages to agents, newest first, as comma-separated values or as lines of
JSON. Of a request: times, agent, directory, tool, the digest of the tool's input, outcome, who or
what decided, the key, whether the signature fits, and on which devices' screens it was, and when.
Of a message: times, to which agent and session, the digest of its text, who sent it, the key,
whether the signature fits, and how far it came. The column kind tells the two apart.

The report holds no inputs, no texts of messages and no text of an agent. Cells that a spreadsheet
could take for a formula begin with an apostrophe. Exits 1 if a signature does not fit the record,
after the complete report.`,
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
			if err := q.named(cmd.Context(), b); err != nil {
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
			err = b.audit(cmd.Context(), a.err, since, &q.Query, func(r *audit.Row, _ string) error {
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
	q.flags(c.Flags(), "30d")
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

// auditLine is a row for a person.
func auditLine(r *audit.Row, sentence string) string {
	who := "nobody"
	if r.ByKind != "" {
		who = show.Line(api.ApproverName(&hook.Approver{Kind: r.ByKind, ID: r.ByID, Name: r.ByName}))
	}
	at, what := r.Settled, show.Line(string(r.Outcome))
	if m := r.Message; m != nil {
		at, what = r.Asked, show.Line(m.Kind)+" sent"
	}
	line := at.Local().Format("2006-01-02 15:04:05") + "  " + what + " by " + who
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
	if m := r.Message; m != nil {
		line += "  to " + show.Line(m.To) + " in session " + show.Line(r.Session) + "  " + show.Line(string(m.State))
		if m.Result != "" {
			line += ", " + show.Line(m.Result)
		}
		if r.Reason != "" {
			line += " (" + show.Line(r.Reason) + ")"
		}
		return line + "  " + show.Line(r.Request) // whole, as trace takes it
	}
	return line + "  " + show.Line(sentence) + "  " + r.Request[:min(8, len(r.Request))]
}
