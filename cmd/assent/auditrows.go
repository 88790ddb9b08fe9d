package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/terminal"
)

// named finds the session that is meant, if one is named. One that is unknown by now may still stand in the record.
func (q *auditQuery) named(ctx context.Context, c *client) error {
	if q.Session = q.session; q.session == "" {
		return nil
	}
	s, err := c.FindSession(ctx, q.session, false)
	if n := (*api.NameError)(nil); errors.As(err, &n) && !n.Short {
		return nil
	}
	if err == nil {
		q.Session = s.SessionID
	}
	return withExit(err)
}

// audit calls visit with the rows that are meant of the requests that ended since then and the messages that were sent, newest first,
// and with what a request would do in words. What else is to be known goes to notes.
func (c *client) audit(ctx context.Context, notes io.Writer, since time.Time, q *audit.Query, visit func(r *audit.Row, sentence string) error) error {
	next, stop := iter.Pull2(c.auditMessages(ctx, notes, since, q))
	defer stop()
	message, err, more := next()
	// messages visits those that were sent after at.
	messages := func(at time.Time) error {
		for ; more && (err != nil || message.Asked.After(at)); message, err, more = next() {
			if err != nil {
				return err
			}
			if err := visit(message, ""); err != nil {
				return err
			}
		}
		return nil
	}
	if q.Kind != audit.MessageRow {
		err := c.auditRequests(ctx, since, q, func(r *audit.Row, sentence string) error {
			if err := messages(r.Settled); err != nil {
				return err
			}
			return visit(r, sentence)
		})
		if err != nil {
			return err
		}
	}
	return messages(time.Time{})
}

// auditRequests is audit of requests.
func (c *client) auditRequests(ctx context.Context, since time.Time, q *audit.Query, visit func(r *audit.Row, sentence string) error) error {
	return c.eachEnded(ctx, since, func(r *api.Request) error {
		row := audit.RowOf(r, nil)
		// A device or a token may be named by its key, which only the records have; so is who it was shown to.
		first := *q
		first.ShownTo = ""
		if q.Device == "" && !first.Meant(&row) || q.Device != "" && row.ByKind != hook.KindDevice && row.ByKind != hook.KindToken {
			return nil
		}
		records, err := c.auditRecords(ctx, r.ID)
		if err != nil || records == nil {
			return err
		}
		if row = audit.RowOf(r, records); !q.Meant(&row) {
			return nil
		}
		return visit(&row, terminal.Marked(r))
	})
}

// auditMessages are the rows of messages, the one that was sent last first. An error is the last that comes.
func (c *client) auditMessages(ctx context.Context, notes io.Writer, since time.Time, q *audit.Query) iter.Seq2[*audit.Row, error] {
	return func(yield func(*audit.Row, error) bool) {
		if !q.Messages() {
			return
		}
		for m, err := range c.RecordedMessages(ctx, since, q.Session) {
			if api.NotFound(err) {
				fmt.Fprintln(notes, "This broker is of an earlier version, which does not list messages to agents: none are here.")
				return
			}
			var records []api.Record
			if err == nil {
				records, err = c.auditRecords(ctx, m.ID)
			}
			if err != nil {
				yield(nil, fmt.Errorf("messages (--kind request leaves them out): %w", withExit(err)))
				return
			}
			if r, ok := audit.MessageRowOf(m.ID, records); ok && !r.Asked.Before(since) && q.Meant(&r) && !yield(&r, nil) {
				return
			}
		}
	}
}

// auditRecords reads what the record has of a request or a message; nil of one that was forgotten since.
func (c *client) auditRecords(ctx context.Context, id string) ([]api.Record, error) {
	var records []api.Record
	err := c.call(ctx, "GET", "/v1/requests/"+url.PathEscape(id)+"/trace", nil, &records)
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status == http.StatusNotFound {
		return nil, nil
	}
	return records, err
}
