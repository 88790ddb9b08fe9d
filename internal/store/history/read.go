package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"assent/internal/feed"
)

// Event is one event of a feed as it is kept.
type Event struct {
	// ID is the event's position in the order of all sessions. It is new when the file is made
	// anew.
	ID uint64
	// Pos is its position in its session's feed.
	Pos uint64
	// JSON is the feed.Event, without its raw member; see Raw.
	JSON json.RawMessage
}

// Session is a session as it stands.
type Session struct {
	ID   string
	Info feed.Info
	// At is when history last heard of it, by the stream's clock.
	At time.Time
	// Cursor is what Sessions takes to go on behind this one.
	Cursor SessionCursor
}

// SessionCursor is a position in the list of sessions. The zero value is its beginning.
type SessionCursor struct{ At, Key int64 }

// Pages are no longer than this. Every reader of a live feed that is slow to take a page holds one.
const (
	maxPage      = 1000
	maxPageBytes = 512 << 10 // but one event at least
)

func pageLimit(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, maxPage)
}

// Sessions returns up to limit sessions, the one last heard of first, from behind a cursor on.
func (h *History) Sessions(ctx context.Context, after SessionCursor, limit int) ([]Session, error) {
	return h.sessions(ctx, `WHERE ? = 0 OR (at, key) < (?, ?) ORDER BY at DESC, key DESC LIMIT ?`,
		after.Key, after.At, after.Key, pageLimit(limit))
}

// Session returns one session, or ErrNotFound.
func (h *History) Session(ctx context.Context, id string) (Session, error) {
	if s, ok := h.standsNow(id, time.Now()); ok {
		return s, nil
	}
	list, err := h.sessions(ctx, `WHERE id = ?`, id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return Session{}, err
	}
	return list[0], nil
}

func (h *History) sessions(ctx context.Context, which string, args ...any) ([]Session, error) {
	var list []Session
	now := time.Now()
	args = append([]any{now.Add(-stillAfter).UnixMilli()}, args...)
	err := h.query(ctx, "read sessions", `SELECT key, id, at, CASE WHEN at > ? THEN fold END, info FROM sessions `+which, args, func(row *sql.Rows) error {
		var s Session
		var state, info []byte
		if err := row.Scan(&s.Cursor.Key, &s.ID, &s.Cursor.At, &state, &info); err != nil {
			return err
		}
		s.At = time.UnixMilli(s.Cursor.At)
		if state != nil {
			f, err := readFold(s.ID, state)
			if err != nil {
				return err
			}
			s.Info = f.Info(now)
		} else {
			text, err := unpack(info)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, &s.Info); err != nil {
				return fmt.Errorf("%w: %w", errPacked, err)
			}
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

// Feed returns up to limit events of a session's feed, from behind the position after on. A
// session that is not known is ErrNotFound.
func (h *History) Feed(ctx context.Context, session string, after uint64, limit int) ([]Event, error) {
	key, err := h.key(ctx, session)
	if err != nil {
		return nil, err
	}
	return h.events(ctx, `SELECT id, pos, body FROM feed WHERE session = ? AND pos > ? ORDER BY pos LIMIT ?`,
		key, int64(after), pageLimit(limit))
}

// Raw returns the payload that a feed event came from, or ErrNotFound: not every event has one,
// and the largest are not kept.
func (h *History) Raw(ctx context.Context, session string, pos uint64) ([]byte, error) {
	raw, _, err := h.Prompt(ctx, session, pos)
	return raw, err
}

// Prompt is Raw with whom a prompt came from; empty where the event is none, no hook of the agent's own
// brought it at once, or a version stored it that did not keep that.
func (h *History) Prompt(ctx context.Context, session string, pos uint64) (raw []byte, submitter string, err error) {
	key, err := h.key(ctx, session)
	if err != nil {
		return nil, "", err
	}
	err = h.query(ctx, "read payload", `SELECT raw.body, raw.submitter FROM feed JOIN raw USING (id) WHERE session = ? AND pos = ?`,
		[]any{key, int64(pos)}, func(row *sql.Rows) (err error) {
			var packed []byte
			if err := row.Scan(&packed, &submitter); err != nil {
				return err
			}
			raw, err = unpack(packed)
			return err
		})
	if err == nil && raw == nil {
		err = fmt.Errorf("payload of event %d of session %q: %w", pos, session, ErrNotFound)
	}
	return raw, submitter, err
}

// Found is one event that Search found.
type Found struct {
	Session string
	Event
}

// Search returns up to limit events that have all words of the query, newest first, of those
// older than the event with the ID before (0: from the newest). Words in double quotes must
// stand together. A word is also found as the beginning of longer ones, unless it is frequent by
// itself. A query without a word is ErrQuery, one that takes too long ErrSlow.
func (h *History) Search(ctx context.Context, query string, before uint64, limit int) ([]Found, error) {
	terms := searchTerms(query)
	if len(terms) == 0 {
		return nil, fmt.Errorf("search: %w", ErrQuery)
	}
	bounded, cancel := context.WithTimeout(ctx, h.cfg.searchTime)
	defer cancel()
	var found []Found
	var err error
	select {
	case h.searches <- struct{}{}:
		found, err = h.search(bounded, terms, before, limit)
		<-h.searches
	case <-bounded.Done():
		err = bounded.Err()
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("search: %w", ErrSlow)
	}
	return found, err
}

// A phrase of frequent words can keep FTS5 busy for minutes. Such searches are given up, and leave
// half of the connections to other reads.
const (
	searchTime  = 5 * time.Second
	maxSearches = readers / 2
)

func (h *History) search(ctx context.Context, terms []term, before uint64, limit int) ([]Found, error) {
	match, err := h.match(ctx, terms)
	if err != nil {
		return nil, err
	}
	top := int64(before)
	if top <= 0 {
		top = 1<<63 - 1
	}
	var found []Found
	size := 0
	err = h.query(ctx, "search", `SELECT sessions.id, feed.id, feed.pos, feed.body
		FROM search CROSS JOIN feed ON feed.id = search.rowid CROSS JOIN sessions ON sessions.key = feed.session
		WHERE search MATCH ? AND search.rowid < ? ORDER BY search.rowid DESC LIMIT ?`,
		[]any{match, top, pageLimit(limit)}, func(row *sql.Rows) (err error) {
			var f Found
			if err := scanEvent(row, &f.Event, &f.Session); err != nil {
				return err
			}
			found = append(found, f)
			return pageFull(&size, len(f.JSON))
		})
	return found, err
}

// frequent is from how many events on a word is not looked for as a beginning: FTS5 gathers all
// words that begin with it before it can tell the newest.
const frequent = 500

// match is the query of FTS5 for terms.
func (h *History) match(ctx context.Context, terms []term) (string, error) {
	var match []string
	for _, t := range terms {
		if !t.begins {
			match = append(match, t.text)
			continue
		}
		n := 0
		if err := h.query(ctx, "search", `SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)`, []any{t.text, frequent}, func(row *sql.Rows) error {
			return row.Scan(&n)
		}); err != nil {
			return "", err
		}
		if n == frequent {
			match = append(match, t.text)
		} else {
			match = append(match, t.prefix())
		}
	}
	return strings.Join(match, " AND "), nil
}

// key is the key of a session.
func (h *History) key(ctx context.Context, session string) (key int64, err error) {
	err = h.query(ctx, "read session", `SELECT key FROM sessions WHERE id = ?`, []any{session}, func(row *sql.Rows) error {
		return row.Scan(&key)
	})
	if err == nil && key == 0 {
		err = fmt.Errorf("session %q: %w", session, ErrNotFound)
	}
	return key, err
}

func (h *History) events(ctx context.Context, query string, args ...any) ([]Event, error) {
	var list []Event
	size := 0
	err := h.query(ctx, "read feed", query, args, func(row *sql.Rows) error {
		var e Event
		if err := scanEvent(row, &e); err != nil {
			return err
		}
		list = append(list, e)
		return pageFull(&size, len(e.JSON))
	})
	return list, err
}

func scanEvent(row *sql.Rows, e *Event, more ...any) error {
	var packed []byte
	if err := row.Scan(append(more, &e.ID, &e.Pos, &packed)...); err != nil {
		return err
	}
	var err error
	e.JSON, err = unpack(packed)
	return err
}

// errEnough ends a query before its last row.
var errEnough = errors.New("the page is full")

func pageFull(size *int, more int) error {
	if *size += more; *size > maxPageBytes {
		return errEnough
	}
	return nil
}

// query runs a read and calls each for every row.
func (h *History) query(ctx context.Context, what, query string, args []any, each func(*sql.Rows) error) error {
	d, done, err := h.reading()
	if err != nil {
		return err
	}
	defer done()
	rows, err := d.read.QueryContext(ctx, query, args...)
	if err != nil {
		return h.readFailed(what, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return h.readFailed(what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return h.readFailed(what, err)
	}
	return nil
}
