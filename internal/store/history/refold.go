package history

import (
	"context"
	"database/sql"
	"fmt"

	"assent/internal/feed"
)

// querier reads, on any connection.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// otherFold sees to a file whose rows another version of the fold made: what the streams still
// hold is folded again from the start, and sessions that are over for so long that they do not
// hold them stay as they are.
func (w *writer) otherFold(ctx context.Context) error {
	var have int
	if err := w.d.conn.QueryRowContext(ctx, "SELECT fold FROM cursor").Scan(&have); err != nil {
		return w.wrap(err)
	}
	if have == feed.Version {
		return nil
	}
	if have != 0 {
		oldest, _, err := w.cfg.EventBounds(ctx)
		if err != nil {
			return fmt.Errorf("fold again: %w", err)
		}
		w.cfg.Logf("history: the feed is made by another version of the program; making it again, from event %d on", oldest)
		if err := w.restart(oldest); err != nil {
			return err
		}
	}
	return w.saveCursor()
}

// restart drops the sessions that have an event from oldest on, and begins again.
func (w *writer) restart(oldest uint64) error {
	var keys []int64
	rows, err := w.d.conn.QueryContext(context.Background(), "SELECT key FROM sessions WHERE event >= ?", oldest)
	if err != nil {
		return w.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return w.wrap(err)
		}
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil {
		return w.wrap(err)
	}
	if err := w.begin(); err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.drop(key); err != nil {
			return err
		}
	}
	if err := w.d.exec("UPDATE sessions SET fold = NULL"); err != nil {
		return w.wrap(err)
	}
	w.cursor = cursor{clock: w.cursor.clock, eventIn: w.cursor.eventIn, recordIn: w.cursor.recordIn}
	if err := w.saveCursor(); err != nil {
		return err
	}
	return w.end()
}
