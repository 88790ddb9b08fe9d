package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A ledger of the first form was made by another program, before assent had one: the table without
// session and event, each index without the time. It is taken as it is: read where it lies, and
// brought into today's form when something is to be added to it. Its former writer cannot add to it
// then, for it knows no event ids.

//go:embed first.sql
var firstSchema string

// firstForms are the statements of first.sql, the table first.
var firstForms = statements(firstSchema)

// firstRows selects from a ledger of the first form what today's has. A time that SQLite does not
// understand stays as it is.
const firstRows = `SELECT id, event_type, hook_type, tool_name, agent_id, file_path, file_ext, lines_changed, branch, head_sha, raw_payload,
	coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', event_timestamp), event_timestamp) AS event_timestamp, received_at, '' AS session_id, 'first-' || id AS event_id FROM `

// isFirst reports whether the file is a ledger of the first form and nothing else: indexes may be
// wanting, and nothing may be there besides.
func isFirst(db queryer) (bool, error) {
	rows, err := db.Query("SELECT coalesce(sql, '') FROM sqlite_schema WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4', 'sqlite_sequence') LIMIT 10")
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return false, err
		}
		found = append(found, plainSQL(text))
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	for _, f := range found {
		if !slices.Contains(firstForms, f) {
			return false, nil
		}
	}
	return slices.Contains(found, firstForms[0]), nil
}

type queryer interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// migrateFirst brings a ledger of the first form into today's, in one transaction.
func (l *Ledger) migrateFirst() error {
	tx, err := l.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if first, err := isFirst(tx); err != nil || !first { // another process was quicker, or changed it
		return err
	}
	steps := []string{"DROP INDEX IF EXISTS idx_mutations_file", "DROP INDEX IF EXISTS idx_mutations_timestamp", "DROP INDEX IF EXISTS idx_mutations_agent",
		"DROP INDEX IF EXISTS idx_mutations_branch", "ALTER TABLE mutations RENAME TO first_form", schema,
		"INSERT INTO mutations (id, event_type, hook_type, tool_name, agent_id, file_path, file_ext, lines_changed, branch, head_sha, raw_payload, event_timestamp, received_at, session_id, event_id) " +
			firstRows + "first_form ORDER BY id",
		"DROP TABLE first_form", marks}
	for _, step := range steps {
		if _, err := tx.Exec(step); err != nil {
			return fmt.Errorf("bring it into today's form: %w", err)
		}
	}
	return tx.Commit()
}

// showFirst lets a reader see a ledger of the first form as one of today's, and changes nothing in
// the file.
func showFirst(db *sql.DB) error {
	for _, step := range []string{"PRAGMA query_only=OFF", "CREATE TEMP VIEW mutations AS " + firstRows + "main.mutations", "PRAGMA query_only=ON"} {
		if _, err := db.Exec(step); err != nil {
			return err
		}
	}
	return nil
}

// statements are the plain forms of each statement in text.
func statements(text string) (list []string) {
	for s := range strings.SplitSeq(plainSQL(text), ";") {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

// plainSQL is SQL without comments and without spaces that separate nothing, in lower case but for
// what is quoted: two texts of one plain form mean the same.
func plainSQL(text string) string {
	var b strings.Builder
	space := false
	for i := 0; i < len(text); {
		c := text[i]
		rest := text[i:]
		n := 1
		switch {
		case strings.HasPrefix(rest, "--"):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
			space = true
		case strings.HasPrefix(rest, "/*"):
			if n = strings.Index(rest[2:], "*/") + 4; n < 4 {
				n = len(rest)
			}
			space = true
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			space = true
		default:
			if close := strings.IndexByte("'\"`[", c); close >= 0 {
				if n = strings.IndexByte(rest[1:], "'\"`]"[close]) + 2; n < 2 {
					n = len(rest)
				}
			}
			if space && b.Len() > 0 && separates(b.String()[b.Len()-1]) && separates(c) {
				b.WriteByte(' ')
			}
			space = false
			if n == 1 {
				b.WriteString(strings.ToLower(rest[:1]))
			} else {
				b.WriteString(rest[:n])
			}
		}
		i += n
	}
	return b.String()
}

// separates reports whether a space beside c may matter.
func separates(c byte) bool { return strings.IndexByte("(),;", c) < 0 }

// adoptFirst takes the directory and the file of a ledger of the first form away from other readers,
// as everything in today's is: their maker left them to the umask. Git does not track them, as
// untracked saw. Whatever is not just that stays as it is, and is refused by makeFile.
func adoptFirst(root string) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	name := filepath.Join(dirName, fileName)
	dir, err := r.Lstat(dirName)
	if err != nil || !dir.IsDir() || owned(dirName, dir) != nil || dir.Mode().Perm()&0o022 != 0 {
		return nil
	}
	file, err := r.Lstat(name)
	if err != nil || !file.Mode().IsRegular() || owned(name, file) != nil || links(file) != 1 || file.Mode().Perm()&0o022 != 0 {
		return nil
	}
	if dir.Mode().Perm()&0o077 == 0 && file.Mode().Perm()&0o077 == 0 {
		return nil
	}
	for _, suffix := range besides {
		if _, err := r.Lstat(name + suffix); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	db, err := openSQLite(Path(root), "ro", "busy_timeout(1000)", "query_only(ON)", "trusted_schema(OFF)")
	if err != nil {
		return nil
	}
	state, err := look(db)
	if err := errors.Join(err, db.Close()); err != nil || !state.first || state.file != Path(root) {
		return nil
	}
	return errors.Join(r.Chmod(dirName, 0o700), r.Chmod(name, 0o600))
}
