package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// The oldest rows go some at a time, so that what comes in meanwhile does not wait.
const (
	tidyFirst = time.Minute // after the start
	tidyEvery = time.Hour
	tidySoon  = 100 * time.Millisecond // while there is more to remove
	tidyRows  = 500
	tidyPages = 2000 // given back to the disk at a time
)

// tidy removes rows that are too old, or the oldest if the file is too large, and says when it
// wants to be called again.
func (w *writer) tidy(now time.Time) (again time.Duration, err error) {
	cutoff := now.Add(-w.cfg.Retention)
	w.removeAside(cutoff)
	upTo, err := w.oldRows(cutoff)
	if err != nil {
		return 0, err
	}
	if upTo == 0 {
		free, err := w.pragma("freelist_count")
		if err != nil {
			return 0, err
		}
		if free < tidyPages {
			_, err := w.emptyLog()
			return tidyEvery, err
		}
		return tidySoon, w.wrap(w.d.exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", tidyPages)))
	}
	if err := w.begin(); err != nil {
		return 0, err
	}
	if err := w.removeUpTo(upTo, cutoff.UnixMilli()); err != nil {
		return 0, err
	}
	if err := w.end(); err != nil {
		return 0, err
	}
	w.states.init() // some of them may be gone
	w.requests.init()
	return tidySoon, nil
}

// oldRows returns the last feed id of a piece that is to be removed, 0 for none.
func (w *writer) oldRows(cutoff time.Time) (upTo int64, err error) {
	pages, err := w.pragma("page_count")
	if err != nil {
		return 0, err
	}
	free, err := w.pragma("freelist_count")
	if err != nil {
		return 0, err
	}
	size, err := w.pragma("page_size")
	if err != nil {
		return 0, err
	}
	if (pages-free)*size > w.cfg.MaxBytes {
		cutoff = time.UnixMilli(1<<62 - 1)
	}
	err = w.d.conn.QueryRowContext(context.Background(),
		`SELECT coalesce(max(id), 0) FROM (SELECT id, at FROM feed ORDER BY id LIMIT ?) WHERE at < ?`,
		tidyRows, cutoff.UnixMilli()).Scan(&upTo)
	return upTo, w.wrap(err)
}

// removeUpTo removes feed events up to id upTo and what belongs to them alone. Sessions go when
// nothing of them is left and they are older than cutoff.
func (w *writer) removeUpTo(upTo, cutoff int64) error {
	for _, x := range []struct {
		text string
		args []any
	}{
		{`DELETE FROM events WHERE seq <= (SELECT event FROM feed WHERE id = ?1) AND
			seq < (SELECT coalesce(min(event), 0) FROM (SELECT event FROM feed WHERE id > ?1 ORDER BY id LIMIT 1)) AND
			?1 > (SELECT former FROM cursor)`, []any{upTo}},
		{`INSERT INTO search (search, rowid, text) SELECT 'delete', id, text FROM feed WHERE id <= ? AND text <> ''`, []any{upTo}},
		{`DELETE FROM raw WHERE id <= ?`, []any{upTo}},
		{`DELETE FROM feed WHERE id <= ?`, []any{upTo}},
		{`DELETE FROM decisions WHERE request IN (SELECT id FROM requests WHERE at < ?)`, []any{cutoff}},
		{`DELETE FROM requests WHERE at < ?`, []any{cutoff}},
		{`DELETE FROM messages WHERE at < ?1 AND sent < ?1`, []any{cutoff}},
		{`DELETE FROM gaps WHERE last < (SELECT coalesce(min(seq), 0) FROM events)`, nil},
		{`DELETE FROM sessions AS s WHERE at < ? AND NOT EXISTS (SELECT 1 FROM feed WHERE session = s.key)
			AND NOT EXISTS (SELECT 1 FROM requests WHERE session = s.key)`, []any{cutoff}},
	} {
		if err := w.d.exec(x.text, x.args...); err != nil {
			return w.wrap(err)
		}
	}
	return nil
}

// emptyLog brings all that stands in the file's log into the file. It reports false if a reader
// was in the way.
func (w *writer) emptyLog() (bool, error) {
	busy := 0
	err := w.d.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, new(int), new(int))
	return busy == 0, w.wrap(err)
}

func (w *writer) pragma(name string) (n int64, err error) {
	err = w.d.conn.QueryRowContext(context.Background(), "PRAGMA "+name).Scan(&n)
	return n, w.wrap(err)
}

// removeAside removes a damaged file that was moved away before cutoff.
func (w *writer) removeAside(cutoff time.Time) {
	path := asidePath(w.d.path)
	info, err := os.Stat(path)
	if err != nil || info.ModTime().After(cutoff) {
		return
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.cfg.Logf("history: remove an old damaged file: %v", err)
	}
}

// drop removes every row of a session.
func (w *writer) drop(key int64) error {
	if err := w.saveRequests(); err != nil { // so that they go, too
		return err
	}
	w.requests.stored()
	for _, text := range []string{
		`INSERT INTO search (search, rowid, text) SELECT 'delete', id, text FROM feed WHERE session = ? AND text <> ''`,
		`DELETE FROM raw WHERE id IN (SELECT id FROM feed WHERE session = ?)`,
		`DELETE FROM feed WHERE session = ?`,
		`DELETE FROM decisions WHERE request IN (SELECT id FROM requests WHERE session = ?)`,
		`DELETE FROM requests WHERE session = ?`,
		`DELETE FROM events WHERE session = ?`,
		`DELETE FROM messages WHERE session = (SELECT id FROM sessions WHERE key = ?)`,
		`DELETE FROM sessions WHERE key = ?`,
	} {
		if err := w.d.exec(text, key); err != nil {
			return w.wrap(err)
		}
	}
	return nil
}
