package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) traceCmd() *cobra.Command {
	messages := false
	c := &cobra.Command{
		Use:   "trace NUMBER|ID",
		Short: "Show the full history of one request",
		Long: `Show the full history of one request, pending or past: every recorded step, what the agent asked
for, which devices had it on their screen and since when, what a device showed of it and signed, and
what was allowed instead if somebody edited the request. The last digits of a number are enough if
no other request of the last hour ends in them; the beginning of an id, if it is unique among the
pending requests and the last hundred that ended. A device's signature is verified again, with the
key that the record holds; exits 1 if the signature does not fit the record.

A message to an agent is traced by its id: when it was sent, to which session and by whom, and each
step that it took. With --messages, name a session (SESSION) instead of a request: the messages that
people sent to its agent are shown, with who sent each one, whether its device's signature fits,
when it was handed over, when it entered the agent's context, and when it was done.`,
		Example: "  assent trace 417\n  assent trace 4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1\n  assent trace 4f1c --json\n  assent trace --messages 25e5a0e9",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			if messages {
				return a.traceMessages(cmd.Context(), b, args[0])
			}
			if a.json {
				var raw json.RawMessage
				if _, err := b.recorded(cmd.Context(), args[0], &raw); err != nil {
					return err
				}
				return a.printJSON(raw)
			}
			var rs []api.Record
			id, err := b.recorded(cmd.Context(), args[0], &rs)
			if err != nil {
				return err
			}
			forged, palette := false, a.palette()
			a.traceHeading(cmd.Context(), b, id)
			for i := range rs {
				words, fits := signatureWords(&rs[i])
				forged = forged || !fits
				if shown := shownWords(&rs[i]); shown != "" {
					for _, row := range terminal.Wrap(shown, columns(a.out), 6) {
						fmt.Fprintln(a.out, row)
					}
				}
				line := recordLine(&rs[i])
				if role := stepRole(&rs[i], fits); role != 0 {
					line = strings.Replace(line, string(rs[i].Step), role.On(string(rs[i].Step)), 1)
				}
				for _, row := range terminal.Wrap(line+words, columns(a.out), 6) {
					fmt.Fprintln(a.out, palette.Paint(row))
				}
				for _, l := range recordDetail(&rs[i]) {
					fmt.Fprintln(a.out, hang(l, 8, columns(a.out)))
				}
			}
			if err := a.tracePlace(cmd.Context(), b, id); err != nil {
				return err
			}
			if forged {
				return errors.New("a signature does not fit its record: the record was changed, or the broker recorded what nobody signed")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "the records as JSON")
	c.Flags().BoolVar(&messages, "messages", false, "the messages to a session, with their steps")
	return c
}

// recorded reads what the record has of a request, or of a message: of that also by its whole id alone.
func (c *client) recorded(ctx context.Context, name string, into any) (id string, err error) {
	read := func(id string) error {
		return c.call(ctx, "GET", "/v1/requests/"+url.PathEscape(id)+"/trace", nil, into)
	}
	if _, ok := hook.MessageOfRecord(name); ok {
		return name, read(name)
	}
	if id, err = c.anyRequest(ctx, name); err != nil {
		return "", err
	}
	err = read(id)
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status == http.StatusNotFound && id == name {
		if message := hook.MessageRecord(name); read(message) == nil {
			return message, nil
		}
	}
	return id, err
}

// traceHeading says which request this is, at a terminal: its number, its project, what it would do.
func (a *app) traceHeading(ctx context.Context, c *client, id string) {
	r, err := c.find(ctx, id)
	if err != nil {
		return // the records tell it
	}
	a.keepShown(a.out, r)
	if !terminal.IsTerminal(a.out) {
		return
	}
	risk := terminal.RiskOf(r)
	line := terminal.Strong.On("#"+number(r)) + "  " + terminal.Project(r) + "  " + terminal.RiskSign(risk) + " " + terminal.RiskRole(risk).On(terminal.Marked(r))
	for _, row := range terminal.Wrap(line, columns(a.out), 6) {
		fmt.Fprintln(a.out, a.palette().Paint(row))
	}
}

// stepRole is how a step stands out.
func stepRole(r *api.Record, fits bool) terminal.Role {
	switch {
	case !fits, r.Step == hook.StepOverruled, r.Outcome == hook.Denied:
		return terminal.Danger
	case r.Failure != "", r.Step == hook.StepRefused:
		return terminal.Attention
	case r.Outcome == hook.Allowed, r.Step == hook.StepConfirmed:
		return terminal.Calm
	}
	return 0
}

func recordLine(r *api.Record) string {
	line := fmt.Sprintf("%s  %-9s  seq %d", r.Time.Local().Format("2006-01-02 15:04:05.000"), show.Line(string(r.Step)), r.Seq)
	if r.Request != nil {
		line += "  " + show.Line(r.Request.ToolName) + " in session " + show.Line(r.Request.SessionID)
		if r.Request.Sample() {
			line += ", a sample: nothing runs"
		}
	}
	if r.Outcome != "" {
		line += "  " + show.Line(string(r.Outcome)) + asEdited(r.Allowed)
	}
	if r.Decision != nil && r.Decision.Contain != "" {
		line += ", contained"
	}
	if r.Reason != "" {
		line += " (" + show.Line(r.Reason) + ")"
	}
	if r.Step == hook.StepShown && r.By != nil {
		return line + "  on the screen of " + show.Line(r.By.Who()) + ", says the broker"
	}
	if r.By != nil {
		line += "  by " + show.Line(api.ApproverName(r.By))
	}
	if r.Decision != nil && r.Decision.Message != "" {
		line += "  words: " + elide(show.Line(r.Decision.Message), 120)
	}
	if r.Step == hook.StepRefused {
		return line + "  by the hook, so the agent's own prompt decides: " + elide(show.Short(r.Failure, 300), 300)
	}
	if r.Failure != "" {
		line += "  the tool failed: " + elide(show.Short(r.Failure, 300), 300)
	}
	if m := r.Message; m != nil {
		if m.Sent != nil {
			line += "  " + show.Line(m.Sent.Kind) + " to " + show.Line(m.Sent.Agent) + " in session " + show.Line(m.Sent.SessionID)
		}
		if m.Way != "" {
			line += "  by " + show.Line(m.Way)
		}
		if m.Outcome != "" {
			line += "  " + show.Line(m.Outcome)
		}
	}
	if r.EventSeq != 0 {
		line += fmt.Sprintf("  proved by event %d", r.EventSeq)
	}
	return line
}

// shownWords are the line about what a device said that it had shown before the decision that it signed; "" of others. The
// device's clock says when.
func shownWords(r *api.Record) string {
	at, ok := audit.ShownAt(r)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s  %-9s  seq %d  to %s, who signed that it was: %s", at.Local().Format("2006-01-02 15:04:05.000"), hook.StepShown, r.Seq, show.Line(api.ApproverName(r.By)), elide(show.Line(r.Decision.Shown), 300))
}

// recordDetail is what the step is about: the input that was asked for, and what was allowed in its place.
func recordDetail(r *api.Record) []string {
	if r.Request != nil {
		return inputLines(r.Request.Fields(), "      ")
	}
	if d := r.Decision; d != nil && d.Contain != "" {
		ran, _ := contained.TextOf(d.UpdatedInput)
		return []string{"      ran as: " + elide(show.Line(ran), 2000)}
	}
	return allowedLines(r.Allowed, "      ")
}

// signatureWords says whether the device's signature still fits what the record says, and reports
// false where it should and does not.
func signatureWords(r *api.Record) (words string, ok bool) {
	signature, name, kind := audit.Verify(r), "", "device "
	code := ""
	if r.By != nil {
		if r.By.Kind == hook.KindToken {
			kind = "token "
		}
		name = show.Line(r.By.Name)
		if r.By.CodeOrigin != "" {
			code = ", code " + show.Line(string(r.By.CodeOrigin))
		}
	}
	of := kind + name
	if r.Decision != nil && r.Decision.Rules != nil {
		of = "the key of the rules"
	}
	switch signature {
	case audit.Rules:
		s := r.Decision.Rules
		words = "  of rules " + show.Short(s.SHA256, 12) + " signed with device:" + auth.Thumbprint(s.PublicKey) + ", " + show.Line(s.SignedAt) + ", signature verified"
	case audit.RulesOver:
		s := r.Decision.Rules
		words = "  of rules whose signature, by device:" + auth.Thumbprint(s.PublicKey) + ", counted no more since " + show.Line(s.Until)
	case audit.Good:
		words = "  signed by " + kind + name + code + ", signature verified"
	case audit.Confirmed:
		words = "  signed by device " + name + code + ", signature verified; its owner confirmed with face, fingerprint or PIN"
	case audit.NoKey:
		words = "  not verified: recorded without a key, by an earlier version"
	case audit.Bad:
		words = "  SIGNATURE DOES NOT FIT: not what " + of + " signed"
	case audit.Unverified:
		words = "  VERIFICATION DOES NOT FIT: nobody was verified on device " + name + " for this"
	case audit.Unsigned:
		if r.Decision != nil && r.By != nil && r.By.Kind == hook.KindRule {
			words = "  of rules that nobody signed"
		}
	}
	return words, signature.Fits()
}
