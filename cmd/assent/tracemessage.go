package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// traceMessages shows the messages of a session, with every step of each.
func (a *app) traceMessages(ctx context.Context, c *client, name string) error {
	s, err := c.session(ctx, name, false)
	if err != nil {
		return err
	}
	path := "/v1/sessions/" + url.PathEscape(s.SessionID) + "/messages"
	if a.json {
		var raw json.RawMessage
		if err := c.call(ctx, "GET", path, nil, &raw); err != nil {
			return err
		}
		return a.printJSON(raw)
	}
	var ms []hook.Message
	if err := c.call(ctx, "GET", path, nil, &ms); err != nil {
		return err
	}
	forged := false
	for i := range ms {
		_, fits := messageSigned(&ms[i])
		forged = forged || !fits
		for _, line := range messageLines(&ms[i]) {
			fmt.Fprintln(a.out, hang(line, 8, columns(a.out)))
		}
	}
	if forged {
		return errors.New("a signature does not fit its message: what is kept of it was changed, or the broker kept what nobody signed")
	}
	return nil
}

// messageSigned says whether a device signed a message, verified anew with the key beside it; false: it did not sign this.
func messageSigned(m *hook.Message) (words string, fits bool) {
	switch {
	case m.PublicKey != nil && m.Forgotten != nil:
		return "signed (its signature was forgotten with its text)", true
	case m.PublicKey != nil && m.Signature == "" && m.Prompt == "": // they stand together, see fleet
		return "signed (neither its signature nor its text is here)", true
	case m.PublicKey == nil && m.Signature == "" && m.By.Kind != hook.KindDevice:
		return "not signed", true
	case m.PublicKey != nil && auth.VerifyMessage(*m):
		return "signed with device:" + auth.Thumbprint(*m.PublicKey) + ", signature verified", true
	}
	return "SIGNATURE DOES NOT FIT", false
}

// messageLines are a message and its steps, for a terminal.
func messageLines(m *hook.Message) []string {
	signed, _ := messageSigned(m)
	what := elide(show.Line(m.Prompt), 120)
	if m.Prompt == "" && !hook.Wordless(m.Kind) {
		what = "(forgotten)"
		if f := m.Forgotten; f != nil && f.By != nil {
			what = fmt.Sprintf("(forgotten by %s at %s)", show.Line(api.ApproverName(f.By)), f.At.Local().Format(time.DateTime))
		}
	}
	lines := []string{fmt.Sprintf("%s  %s to %s, %s, by %s  %s", show.Line(m.ID), show.Line(m.Kind), show.Line(m.Agent), signed, show.Line(api.ApproverName(&m.By)), what)}
	for i, step := range m.Steps {
		line := fmt.Sprintf("    %s  %-8s", step.At.Local().Format("2006-01-02 15:04:05.000"), show.Line(string(step.State)))
		if i > 0 {
			line += "  +" + step.At.Sub(m.Steps[i-1].At).Round(time.Millisecond).String()
		}
		if step.State == hook.MessageTaken && m.Way != "" {
			line += "  by " + show.Line(m.Way)
		}
		if step.State == hook.MessageEnded && m.Outcome != "" {
			line += "  " + show.Line(m.Outcome)
		}
		if step.Why != "" {
			line += "  (" + show.Line(step.Why) + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
