// Package ledger keeps which agent changed which file, on which branch and at which commit, in
// the repository itself: one SQLite file per work tree, {root}/.hookd/mutations.db, kept out of
// git. Rows are added and never changed; each event id is in a file once.
//
// It writes into other people's directories by paths that come from hooks, so it is careful: see
// checkRoot. Whatever it cannot write with certainty it leaves alone, files included that it
// cannot read or that a newer program made.
//
// # Concurrency
//
// A Ledger belongs to one goroutine. Files may be written and read by several processes at once;
// SQLite's locks keep them apart. The goroutine of a Follower is that of its caller.
package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite" // also registers the driver

	"assent/internal/hook"
)

// Where a ledger is below the root of its work tree.
const (
	dirName  = ".hookd"
	fileName = "mutations.db"
)

// Errors of a ledger. Any other error may go away without help: a full disk, a lock.
var (
	// ErrGone says that there is no work tree at the root, on this machine.
	ErrGone = errors.New("there is no git work tree")
	// ErrElsewhere says that a path leads somewhere else through a symbolic link.
	ErrElsewhere = errors.New("a symbolic link leads elsewhere")
	// ErrNewer says that a newer version of the program made the file.
	ErrNewer = errors.New("a newer version of assent made this ledger; update assent")
	// ErrBusy says that another program holds the file's lock, for longer than the caller waits.
	ErrBusy = errors.New("another program keeps it locked")
	// ErrDamaged says that the file is no ledger, or a damaged one. It is left as it is.
	ErrDamaged = errors.New("the file is damaged, or no ledger of assent; move it away and a new one is begun")
	// ErrNone says that nothing was stored for this work tree yet.
	ErrNone = errors.New("there is no ledger yet; the broker keeps one if it runs with: assent serve --ledger")
)

// user_version is the version of a file's schema; application_id marks the file as a ledger.
// A change of the schema needs a new layout and a migration from each before it.
const (
	layout        = 1
	applicationID = 0x6173736c // "assl"
)

//go:embed schema.sql
var schema string

// marks says that a file is a ledger of today's form.
var marks = fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, layout)

// sequence is the table that SQLite makes for AUTOINCREMENT.
const sequence = "\nCREATE TABLE sqlite_sequence(name,seq);"

// Path is where the ledger of the work tree at root is.
func Path(root string) string { return filepath.Join(root, dirName, fileName) }

// Ledger is the open file of one work tree, for writing.
type Ledger struct {
	path string
	file fs.FileInfo // of the file that was opened
	db   *sql.DB
}

// noTreeError marks errors of checkRoot.
type noTreeError struct{ error }

func (e noTreeError) Unwrap() error { return e.error }

// lockWait is how long another program's lock is waited for.
const lockWait = 2 * time.Second

// Open opens the ledger of the work tree at root, or begins it. Opening takes about a millisecond
// and is meant to be done for each batch: a file that is kept open may be removed meanwhile, and
// what is written then is lost without an error.
func Open(root string) (*Ledger, error) { return open(root, lockWait) }

// open is Open that waits for locks for as long as wait.
func open(root string, wait time.Duration) (_ *Ledger, err error) {
	path := Path(root)
	defer func() {
		if err != nil {
			err = fmt.Errorf("open ledger %s: %w", path, sqliteError(err))
		}
	}()
	if err := checkRoot(root); err != nil {
		return nil, noTreeError{err}
	}
	if err := untracked(root); err != nil {
		return nil, err
	}
	if err := exclude(root); err != nil {
		return nil, err
	}
	if err := adoptFirst(root); err != nil {
		return nil, err
	}
	file, err := makeFile(root)
	if err != nil {
		return nil, err
	}
	// FULL: what is committed is acknowledged to a queue, which then forgets it. No WAL: it would
	// leave files behind that a reader has to be able to write.
	db, err := openSQLite(path, "rw", fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "synchronous(FULL)", "cache_size(-4000)", "temp_store(MEMORY)", "trusted_schema(OFF)")
	if err != nil {
		return nil, err
	}
	l := &Ledger{path: path, file: file, db: db}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// Close closes the file.
func (l *Ledger) Close() error {
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("close ledger %s: %w", l.path, err)
	}
	return nil
}

// openSQLite opens a file with one connection.
func openSQLite(path, mode string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"mode": {mode}, "_pragma": pragmas, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// begin makes the table if the file is new, and refuses what is no ledger of this version.
func (l *Ledger) begin() error {
	state, err := look(l.db)
	if err != nil {
		return err
	}
	// The file that was opened has to be the one that was checked: between the two, somebody
	// could have replaced a directory by a link.
	if state.file != l.path {
		return fmt.Errorf("%w: to %s", ErrElsewhere, state.file)
	}
	if state.first {
		if err := l.migrateFirst(); err != nil {
			return err
		}
		if state, err = look(l.db); err != nil {
			return err
		}
	}
	if state.tables > 0 || state.version > 0 {
		return state.check()
	}
	tx, err := l.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var tables int
	if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 { // another process was quicker
		return tx.Commit()
	}
	if _, err := tx.Exec(schema + marks); err != nil {
		return err
	}
	return tx.Commit()
}

// fileState is what a file says of itself.
type fileState struct {
	file                         string
	application, version, tables int
	first                        bool // it is of the first form, see first.go
	odd                          int  // what a ledger has not: triggers, views, tables and indexes of others
}

// look compares the tables and indexes to the letter: an expression in somebody's index is computed
// at each insert, with as much time and memory as it wants. ANALYZE may have been here.
func look(db *sql.DB) (s fileState, err error) {
	err = db.QueryRow(`SELECT d.file, a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')),
		(SELECT count(*) FROM sqlite_schema WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4') AND instr(?, coalesce(sql, ' ') || ';') = 0)
		FROM pragma_database_list d, pragma_application_id a, pragma_user_version v WHERE d.name = 'main'`, schema+sequence).
		Scan(&s.file, &s.application, &s.version, &s.tables, &s.odd)
	if err == nil && s.application == 0 && s.version == 0 && s.tables > 0 {
		s.first, err = isFirst(db)
	}
	return s, err
}

// check returns nil for a ledger of this version.
func (s fileState) check() error {
	switch {
	case s.application != applicationID || s.version < 1:
		return ErrDamaged
	case s.version > layout:
		return fmt.Errorf("%w (layout %d, this is %d)", ErrNewer, s.version, layout)
	case s.odd > 0 || s.tables != strings.Count(schema+sequence, "\nCREATE ")+1:
		return fmt.Errorf("%w: it has other tables or indexes", ErrDamaged)
	}
	return nil
}

// timeFormat is that of event_timestamp.
const timeFormat = "2006-01-02T15:04:05.000Z"

// Add stores mutations in one transaction: all of them, or none and an error. Those whose event id
// the file has already are passed over. It is on the disk when Add returns.
func (l *Ledger) Add(ctx context.Context, list []hook.Mutation) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write ledger %s: %w", l.path, sqliteError(err))
		}
	}()
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, `INSERT INTO mutations
		(event_type, hook_type, tool_name, agent_id, file_path, file_ext, lines_changed, branch, head_sha, raw_payload, event_timestamp, session_id, event_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for i := range list {
		m := &list[i]
		if _, err := insert.ExecContext(ctx, m.EventType, m.HookType, m.ToolName, m.AgentID, m.FilePath, m.FileExt, m.LinesChanged,
			m.Repo.Branch, m.Repo.HeadSHA, string(m.RawPayload), stamp(m.Timestamp), m.SessionID, m.EventID); err != nil {
			return fmt.Errorf("event %s: %w", m.EventID, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// If the directory was removed, what is written to the open file is lost with it.
	if file, err := os.Lstat(l.path); err != nil || !os.SameFile(file, l.file) {
		return errors.New("it was removed while it was written")
	}
	return nil
}

// Result codes of SQLite.
const (
	sqliteBusy    = 5
	sqliteCorrupt = 11
	sqliteNotADB  = 26
)

// sqliteError makes errors that say that the file is of no use into ErrDamaged, and those of a lock
// into ErrBusy.
func sqliteError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqliteBusy:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case sqliteCorrupt, sqliteNotADB:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
