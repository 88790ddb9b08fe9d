package history

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"assent/internal/hook"
)

// Messages returns the messages to agents that the record has, the one sent last first. An After that is not known is
// ErrNotFound; a query that takes too long is ErrSlow.
func (h *History) Messages(ctx context.Context, q hook.MessageQuery) ([]hook.RecordedMessage, error) {
	conditions, args := []string{"TRUE"}, []any{}
	add := func(condition string, values ...any) {
		conditions, args = append(conditions, condition), append(args, values...)
	}
	if q.After != "" {
		known, sent := false, int64(0)
		if err := h.query(ctx, "read messages", `SELECT sent FROM messages WHERE id = ?`, []any{q.After}, func(row *sql.Rows) error {
			known = true
			return row.Scan(&sent)
		}); err != nil {
			return nil, err
		}
		if !known {
			return nil, fmt.Errorf("message %q: %w", q.After, ErrNotFound)
		}
		add("(sent, id) < (?, ?)", sent, q.After)
	}
	if q.Session != "" {
		add("session = ?", q.Session)
	}
	if !q.Since.IsZero() {
		add("sent >= ?", q.Since.UnixMilli())
	}
	list := []hook.RecordedMessage{}
	err := h.slow(ctx, "read messages", func(ctx context.Context) error {
		return h.query(ctx, "read messages", `SELECT id, session, sent FROM messages WHERE `+strings.Join(conditions, " AND ")+` ORDER BY sent DESC, id DESC LIMIT ?`,
			append(args, pageLimit(q.Limit)), func(row *sql.Rows) error {
				var m hook.RecordedMessage
				var sent int64
				if err := row.Scan(&m.ID, &m.SessionID, &sent); err != nil {
					return err
				}
				m.SentAt = time.UnixMilli(sent).UTC()
				list = append(list, m)
				return nil
			})
	})
	return list, err
}
