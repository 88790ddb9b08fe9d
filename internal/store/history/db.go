package history

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"time"

	"modernc.org/sqlite" // also registers the driver
)

// schema makes an empty file. A change to it needs a new layout number and a migration, or
// the number alone: a file of a layout that is not known is made anew from the streams.
//
//go:embed schema.sql
var schema string

// layout is the number of the schema, kept in the file's user_version.
const layout = 11

// migrations lead from the layout that is the key to the next.
var migrations = map[int]string{
	1: `
ALTER TABLE requests ADD COLUMN repo TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN gist TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN text TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN by_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN by_name TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN reason TEXT NOT NULL DEFAULT '';
UPDATE requests SET text = lower(tool), (by_kind, by_name, reason) = (SELECT by_kind, by_name, reason FROM decisions
  WHERE request = id AND step IN ('decided', 'ended') ORDER BY record LIMIT 1)
  WHERE EXISTS (SELECT 1 FROM decisions WHERE request = id AND step IN ('decided', 'ended'));
CREATE INDEX requests_settled ON requests (settled, asked, outcome, by_kind, by_name);`,
	2: `
ALTER TABLE requests ADD COLUMN edited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN wanted TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN answers TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN unattended INTEGER NOT NULL DEFAULT 0;`,
	3: `
DROP TABLE runs;
ALTER TABLE place RENAME TO cursor;
ALTER TABLE requests RENAME COLUMN gist TO summary;`,
	4: `
ALTER TABLE requests ADD COLUMN changes TEXT NOT NULL DEFAULT '';`,
	5: `
ALTER TABLE requests ADD COLUMN input BLOB NOT NULL DEFAULT x'';`,
	6: `
ALTER TABLE raw ADD COLUMN submitter TEXT NOT NULL DEFAULT '';`,
	7: `
ALTER TABLE requests ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;`,
	8: `
ALTER TABLE cursor ADD COLUMN event_stream INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursor ADD COLUMN record_stream INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursor ADD COLUMN former INTEGER NOT NULL DEFAULT 0;`,
	9: `
CREATE TABLE messages (id TEXT PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX messages_session ON messages (session);
CREATE INDEX messages_at ON messages (at);`,
	10: `
ALTER TABLE messages ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET sent = at;
CREATE INDEX messages_sent ON messages (sent);`,
}

// db is the open file: one connection that writes, some that read.
type db struct {
	path  string
	write *sql.DB
	conn  *sql.Conn // of write
	read  *sql.DB
	users sync.WaitGroup // of read
}

// readers is how many reads run at a time; further ones wait.
const readers = 4

// openDB opens or makes the file, in today's layout.
func openDB(path string) (_ *db, err error) {
	if err := private(path); err != nil {
		return nil, err
	}
	d := &db{path: path}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", path, err), d.close())
		}
	}()
	// secure_delete: what is forgotten shall not stay in the free parts of the file. NORMAL: the
	// streams are the truth, so a power cut may cost the last transactions.
	d.write, err = sql.Open("sqlite", dsn(path, "rw",
		"busy_timeout(5000)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(ON)",
		"cache_size(-4000)", "temp_store(MEMORY)", "journal_size_limit(16777216)", "foreign_keys(OFF)", "trusted_schema(OFF)"))
	if err != nil {
		return nil, err
	}
	d.write.SetMaxOpenConns(1)
	if d.conn, err = d.write.Conn(context.Background()); err != nil {
		return nil, err
	}
	if err := d.migrate(); err != nil {
		return nil, err
	}
	d.read, err = sql.Open("sqlite", dsn(path, "ro", "busy_timeout(5000)", "query_only(ON)", "cache_size(-2000)", "temp_store(MEMORY)", "trusted_schema(OFF)"))
	if err != nil {
		return nil, err
	}
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers)
	d.read.SetConnMaxIdleTime(time.Minute) // their caches are worth little to an idle broker
	return d, nil
}

func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// private makes the file if it is not there, and sees that only its owner can read it. SQLite
// gives the files beside it the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(p, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("open history: %w", err)
		}
	}
	return nil
}

// errLayout says that the file is of a layout that this program does not know.
var errLayout = errors.New("another version of the program made this file")

// migrate brings the file to today's layout.
func (d *db) migrate() error {
	for {
		var have int
		if err := d.conn.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		if have == layout {
			return nil
		}
		change, known := migrations[have]
		if have == 0 {
			change, known = schema, true
		}
		if !known {
			return fmt.Errorf("%w (layout %d, this is %d)", errLayout, have, layout)
		}
		next := have + 1
		if have == 0 {
			next = layout
		}
		if err := d.exec("BEGIN IMMEDIATE;" + change + fmt.Sprintf(";PRAGMA user_version=%d;COMMIT", next)); err != nil {
			_ = d.exec("ROLLBACK")
			return fmt.Errorf("change layout %d to %d: %w", have, next, err)
		}
	}
}

// exec runs statements on the connection that writes. It takes no context: interrupting a
// statement costs a goroutine for each, and all of them are short.
func (d *db) exec(query string, args ...any) error {
	_, err := d.conn.ExecContext(context.Background(), query, args...)
	return err
}

// close waits for reads and closes the file.
func (d *db) close() error {
	d.users.Wait()
	var errs []error
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	if d.write != nil {
		errs = append(errs, d.write.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", d.path, err)
	}
	return nil
}

// Result codes of SQLite.
const (
	sqliteCorrupt = 11
	sqliteNotADB  = 26
)

// isDamage reports whether err says that the file is of no use.
func isDamage(err error) bool {
	if errors.Is(err, errLayout) || errors.Is(err, errState) || errors.Is(err, errPacked) {
		return true
	}
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqliteCorrupt || e.Code()&0xff == sqliteNotADB)
}

// asidePath is where a damaged file goes.
func asidePath(path string) string { return path + ".damaged" }

// moveAside renames the file, so that a new one is made and a person can look at the old one.
// There is one such file at most.
func (h *History) moveAside() error {
	aside := asidePath(h.cfg.Path)
	// First what SQLite would otherwise mix into the new file. A part of the old one is then
	// missing, which it is anyway.
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(h.cfg.Path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move a damaged file away: %w", err)
		}
	}
	if err := os.Rename(h.cfg.Path, aside); err != nil {
		return fmt.Errorf("move a damaged file away: %w", err)
	}
	h.setCursor(cursor{})
	h.cfg.Logf("history: %s was moved to %s, and is made anew from the streams: what is older than they reach back is in the moved file only", h.cfg.Path, aside)
	return nil
}
