package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"assent/internal/hook"
)

// Row is a mutation as it is stored.
type Row struct {
	ID           int64   `json:"id"` // in the order in which they were stored
	EventID      string  `json:"event_id"`
	EventType    string  `json:"event_type"`
	HookType     string  `json:"hook_type"`
	ToolName     string  `json:"tool_name"`
	AgentID      string  `json:"agent_id"`
	SessionID    string  `json:"session_id"`
	FilePath     *string `json:"file_path"`
	FileExt      *string `json:"file_ext"`
	LinesChanged *int64  `json:"lines_changed"`
	Branch       string  `json:"branch"`
	HeadSHA      string  `json:"head_sha"`
	Timestamp    string  `json:"event_timestamp"`
	ReceivedAt   string  `json:"received_at"`
	// RawPayload is set only if the Filter asks for it.
	RawPayload string `json:"-"`
}

// Filter chooses rows. Empty fields choose all.
type Filter struct {
	Since, Until time.Time // from the one on, before the other
	Files        []string  // any of these
	Agent        string
	Branch       string
	Tool         string
	HookType     string
	Newest       int  // only so many, the newest; 0: all
	Payload      bool // with RawPayload
}

// pageRows is how many rows are read at a time. The lock that keeps writers out is held no longer,
// however slowly they are looked at.
const pageRows = 5000

// Query calls fn with the rows of the work tree at root that f chooses, by the time of their
// events, until fn returns an error. It writes nothing.
func Query(ctx context.Context, root string, f Filter, fn func(Row) error) error {
	return read(root, func(db *sql.DB) error {
		q, err := plan(ctx, db, f)
		if err != nil {
			return err
		}
		return q.run(ctx, db, f, fn)
	})
}

// read opens the ledger for reading.
func read(root string, do func(*sql.DB) error) error {
	path := Path(root)
	err := readOnce(path, do)
	var stopped stopError
	if errors.As(err, &stopped) {
		return stopped.error
	}
	if _, none := os.Lstat(path + "-journal"); err != nil && none == nil {
		// A writer was killed. Opening it for writing sets the file right.
		if l, again := Open(root); again == nil {
			if err := l.Close(); err != nil {
				return err
			}
			err = readOnce(path, do)
		}
	}
	if errors.As(err, &stopped) {
		return stopped.error
	}
	if err != nil {
		return fmt.Errorf("read ledger %s: %w", path, sqliteError(err))
	}
	return nil
}

// stopError marks errors of a reader's own function, which say nothing about the file.
type stopError struct{ error }

func readOnce(path string, do func(*sql.DB) error) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	for _, name := range append([]string{""}, besides...) { // the repository may be anybody's
		if fi, err := os.Stat(path + name); err == nil && !fi.Mode().IsRegular() {
			return fmt.Errorf("%s is no file, but %s; move it away", fileName+name, fi.Mode())
		}
	}
	db, err := openSQLite(path, "ro", "busy_timeout(5000)", "query_only(ON)", "cache_size(-8000)", "temp_store(MEMORY)", "trusted_schema(OFF)")
	if err != nil {
		return err
	}
	defer db.Close()
	state, err := look(db)
	if err != nil {
		return err
	}
	if state.tables == 0 && state.version == 0 {
		return ErrNone // it is being made
	}
	if state.first {
		err = showFirst(db)
	} else {
		err = state.check()
	}
	if err != nil {
		return err
	}
	return do(db)
}

// conditions are parts of a WHERE with their arguments.
type conditions struct {
	sql  []string
	args []any
}

func (c *conditions) add(sql string, args ...any) {
	c.sql, c.args = append(c.sql, sql), append(c.args, args...)
}

func (c conditions) where() string {
	if len(c.sql) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.sql, " AND ")
}

// columns are those that a Filter compares, with what it wants of each.
func (f Filter) columns() (names []string, want []conditions) {
	equal := func(column, value string) {
		if value != "" {
			names, want = append(names, column), append(want, conditions{[]string{"= ?"}, []any{value}})
		}
	}
	if len(f.Files) > 0 {
		args := make([]any, len(f.Files))
		for i, file := range f.Files {
			args[i] = file
		}
		names, want = append(names, "file_path"), append(want, conditions{[]string{"IN (?" + strings.Repeat(", ?", len(args)-1) + ")"}, args})
	}
	equal("agent_id", f.Agent)
	equal("branch", f.Branch)
	equal("tool_name", f.Tool)
	equal("hook_type", f.HookType)
	return names, want
}

// times is the condition on the time.
func (f Filter) times() (c conditions) {
	if !f.Since.IsZero() {
		c.add("event_timestamp >= ?", stamp(f.Since))
	}
	if !f.Until.IsZero() {
		c.add("event_timestamp < ?", stamp(f.Until))
	}
	return c
}

// stamp is a time as it is stored. Times that the format has no room for are at its ends.
func stamp(t time.Time) string {
	t = t.UTC()
	switch {
	case t.Year() < 0:
		return "0000"
	case t.Year() > 9999:
		return "9999-12-31T23:59:59.999Z"
	}
	return t.Truncate(time.Millisecond).Format(timeFormat)
}

// probeRows is how many rows of an index are counted, at most, to see which is the best one: that
// takes a few milliseconds, and to read as many rows would take far longer.
const probeRows = 20_000

// plan finds the column whose index leaves the fewest rows. SQLite cannot know: most rows are of
// one branch, and hardly any of one file. Each index has the time behind its column, so any of them
// is at least as good as that of the time alone.
func plan(ctx context.Context, db *sql.DB, f Filter) (q query, err error) {
	names, want := f.columns()
	best, fewest := 0, probeRows+1
	for i, name := range names {
		if len(names) == 1 || name == "hook_type" && f.HookType == hook.HookPostToolUse {
			continue // nothing to choose; or half of all rows
		}
		c := f.times()
		c.add(name+" "+want[i].sql[0], want[i].args...)
		n, err := probe(ctx, db, c, min(fewest, probeRows))
		if err != nil {
			return q, err
		}
		if n < fewest {
			best, fewest = i, n
		}
	}
	q.c = f.times()
	for i, name := range names {
		if i != best {
			name = "+" + name // keeps its index out
		}
		q.c.add(name+" "+want[i].sql[0], want[i].args...)
	}
	return q, nil
}

// probe counts the rows that meet c, up to limit.
func probe(ctx context.Context, db *sql.DB, c conditions, limit int) (n int, err error) {
	err = db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM mutations%s LIMIT %d)", c.where(), limit), c.args...).Scan(&n)
	return n, err
}

// query is a Filter made into SQL.
type query struct{ c conditions }

// run reads page by page, each behind the last row of the one before.
func (q query) run(ctx context.Context, db *sql.DB, f Filter, fn func(Row) error) error {
	const columns = `id, event_id, event_type, hook_type, tool_name, agent_id, session_id, file_path, file_ext, lines_changed, branch, head_sha, event_timestamp, received_at`
	after, id := "", int64(math.MinInt64)
	if f.Newest > 0 {
		var err error
		if after, id, err = q.begin(ctx, db, f.Newest); err != nil {
			return err
		}
	}
	for first := true; ; first = false {
		c := conditions{append([]string{}, q.c.sql...), append([]any{}, q.c.args...)}
		if !first || after != "" {
			c.add("event_timestamp >= ?", after) // SQLite begins there in the index; the next line says the rest
			c.add("(event_timestamp, id) > (?, ?)", after, id)
		}
		rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM mutations%s ORDER BY event_timestamp, id LIMIT %d", columns, c.where(), pageRows), c.args...)
		if err != nil {
			return err
		}
		page := make([]Row, 0, 64)
		for rows.Next() {
			var r Row
			if err := rows.Scan(&r.ID, &r.EventID, &r.EventType, &r.HookType, &r.ToolName, &r.AgentID, &r.SessionID, &r.FilePath, &r.FileExt,
				&r.LinesChanged, &r.Branch, &r.HeadSHA, &r.Timestamp, &r.ReceivedAt); err != nil {
				return errors.Join(err, rows.Close())
			}
			page = append(page, r)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		for _, r := range page {
			if r.Timestamp < after || r.Timestamp == after && r.ID <= id { // no text, and the pages would turn in a circle
				return fmt.Errorf("%w: row %d has an event_timestamp that is none", ErrDamaged, r.ID)
			}
			after, id = r.Timestamp, r.ID
			if f.Payload {
				if err := db.QueryRowContext(ctx, "SELECT raw_payload FROM mutations WHERE id = ?", r.ID).Scan(&r.RawPayload); err != nil {
					return err
				}
			}
			if err := fn(r); err != nil {
				return stopError{err}
			}
		}
		if len(page) < pageRows {
			return nil
		}
	}
}

// begin is the place before the newest n rows.
func (q query) begin(ctx context.Context, db *sql.DB, n int) (after string, id int64, err error) {
	err = db.QueryRowContext(ctx, fmt.Sprintf("SELECT event_timestamp, id - 1 FROM mutations%s ORDER BY event_timestamp DESC, id DESC LIMIT 1 OFFSET %d",
		q.c.where(), n-1), q.c.args...).Scan(&after, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil // there are fewer
	}
	return after, id, err
}
