package ledger

import (
	"database/sql"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// firstDDL is, to the letter, what other programs made ledgers with before assent had one.
//
//go:embed testdata/first.sql
var firstDDL string

// firstLedger makes a repository with a file that these statements made.
func firstLedger(t *testing.T, sqlText string) (root string) {
	t.Helper()
	root = repository(t)
	if err := os.Mkdir(filepath.Join(root, dirName), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", Path(root))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(sqlText); err != nil {
		t.Fatal(err)
	}
	// As a umask of 022 leaves them.
	if err := errors.Join(db.Close(), os.Chmod(filepath.Join(root, dirName), 0o755), os.Chmod(Path(root), 0o644)); err != nil {
		t.Fatal(err)
	}
	return root
}

const firstData = `
INSERT INTO mutations (event_type, hook_type, tool_name, agent_id, file_path, file_ext, lines_changed, branch, head_sha, raw_payload, event_timestamp, received_at) VALUES
 ('tool.mutation.write', 'post_tool_use', 'write', 'claude-1', '/r/a.go', 'go', 3, 'main', 'abc', '{"a":1}', '2026-02-06T10:00:00Z', '2026-02-06 10:00:01'),
 ('tool.mutation.edit', 'post_tool_use', 'edit', 'claude-1', '/r/b.go', 'go', NULL, 'side', 'abc', '{}', '2026-02-06T13:00:00.123456+02:00', '2026-02-06 11:00:01'),
 ('tool.mutation.bash', 'pre_tool_use', 'bash', 'unknown', NULL, NULL, NULL, 'main', '', '"text"', 'some day', '2026-02-06 12:00:01');
DELETE FROM mutations WHERE tool_name = 'none';
`

// TestFirstFormIsTaken: such a ledger is read where it lies, without a change of the file, and has
// today's form with all its rows when something was added to it.
func TestFirstFormIsTaken(t *testing.T) {
	root := firstLedger(t, firstDDL+firstData)
	before, err := os.ReadFile(Path(root))
	if err != nil {
		t.Fatal(err)
	}
	check := func(list []Row) {
		t.Helper()
		if len(list) != 3 {
			t.Fatalf("%d rows: %+v", len(list), list)
		}
		a, b, c := list[0], list[1], list[2]
		if a.ID != 1 || a.ToolName != "write" || a.AgentID != "claude-1" || *a.FilePath != "/r/a.go" || *a.FileExt != "go" || *a.LinesChanged != 3 || a.Branch != "main" ||
			a.HeadSHA != "abc" || a.Timestamp != "2026-02-06T10:00:00.000Z" || a.ReceivedAt != "2026-02-06 10:00:01" || a.SessionID != "" || a.EventID != "first-1" || a.RawPayload != `{"a":1}` {
			t.Errorf("%+v", a)
		}
		if b.ID != 2 || b.Timestamp != "2026-02-06T11:00:00.123Z" || b.LinesChanged != nil || b.Branch != "side" {
			t.Errorf("%+v", b)
		}
		if c.ID != 3 || c.Timestamp != "some day" || c.FilePath != nil || c.RawPayload != `"text"` {
			t.Errorf("%+v", c)
		}
	}
	check(rows(t, root, Filter{Payload: true}))
	if got := rows(t, root, Filter{Files: []string{"/r/b.go"}, Agent: "claude-1", HookType: "post_tool_use", Since: day.Add(-2 * time.Hour)}); len(got) != 1 || got[0].ID != 2 {
		t.Errorf("by file: %+v", got)
	}
	if s, err := Summarize(t.Context(), root, time.Time{}, time.Time{}); err != nil || s.Rows != 3 || len(s.Tools) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if now, err := os.ReadFile(Path(root)); err != nil || string(now) != string(before) {
		t.Errorf("reading changed the file (%v)", err)
	}

	add(t, root, mutation(root, 1))
	list := rows(t, root, Filter{Payload: true})
	if i := slices.IndexFunc(list, func(r Row) bool { return r.EventID == mutation(root, 1).EventID }); i < 0 || list[i].ID != 4 {
		t.Errorf("what was added: %+v", list)
	} else {
		check(slices.Delete(list, i, i+1))
	}
	for name, want := range map[string]fs.FileMode{dirName: 0o700 | fs.ModeDir, filepath.Join(dirName, fileName): 0o600} {
		if fi, err := os.Stat(filepath.Join(root, name)); err != nil || fi.Mode() != want {
			t.Errorf("%s has the mode %v, %v", name, fi.Mode(), err)
		}
	}
	add(t, root, mutation(root, 1), mutation(root, 2)) // once each
	if n := len(rows(t, root, Filter{})); n != 5 {
		t.Errorf("%d rows", n)
	}
}

// Other spellings of the same statements, and without indexes.
func TestFirstFormInOtherWords(t *testing.T) {
	for name, text := range map[string]string{
		"no indexes":  firstDDL[:strings.Index(firstDDL, "CREATE INDEX")],
		"one line":    strings.Join(strings.Fields(statements(firstDDL)[0]), " "),
		"lower case":  strings.ToLower(firstDDL),
		"no comments": firstSchema,
		"analyzed":    firstDDL + firstData + "ANALYZE;",
	} {
		root := firstLedger(t, text)
		add(t, root, mutation(root, 1))
		if n := len(rows(t, root, Filter{})); n < 1 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}

// TestFirstFormOnly: whatever differs from it is left alone, also what only looks like it.
func TestFirstFormOnly(t *testing.T) {
	for name, text := range map[string]string{
		"a trigger":       firstDDL + "CREATE TRIGGER x AFTER INSERT ON mutations BEGIN DELETE FROM mutations; END;",
		"a view":          firstDDL + "CREATE VIEW x AS SELECT 1;",
		"another table":   firstDDL + "CREATE TABLE x (y);",
		"another index":   firstDDL + "CREATE INDEX x ON mutations(length(raw_payload));",
		"no table":        "CREATE TABLE x (y); CREATE INDEX idx_mutations_file ON x(y);",
		"a member less":   strings.Replace(firstDDL, "    file_ext TEXT,\n", "", 1),
		"a member more":   strings.Replace(firstDDL, "    file_ext TEXT,\n", "    file_ext TEXT, x TEXT,\n", 1),
		"a check":         strings.Replace(firstDDL, "branch TEXT NOT NULL,", "branch TEXT NOT NULL CHECK(branch > ''),", 1),
		"computed":        strings.Replace(firstDDL, "file_ext TEXT,", "file_ext TEXT AS (lower(file_path)),", 1),
		"in the comments": strings.Replace(firstDDL, "datetime('now'))", "datetime('now--'),hex(1)\n,')) -- ')", 1),
		"marked":          firstDDL + "PRAGMA user_version=7;",
	} {
		root := repository(t)
		if err := os.Mkdir(filepath.Join(root, dirName), 0o700); err != nil {
			t.Fatal(err)
		}
		if f, err := os.OpenFile(Path(root), os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			t.Fatal(err)
		} else if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", Path(root))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(text); err != nil && name != "in the comments" {
			t.Fatalf("%s: %v", name, err)
		} else if err != nil {
			t.Logf("%s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(Path(root)); err != nil || fi.Size() == 0 {
			continue // SQLite did not take it either
		}
		before, err := os.ReadFile(Path(root))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := Open(root); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: opened: %v", name, err)
			if l != nil {
				_ = l.Close()
			}
		}
		if err := Query(t.Context(), root, Filter{}, func(Row) error { return nil }); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: read: %v", name, err)
		}
		if now, err := os.ReadFile(Path(root)); err != nil || string(now) != string(before) {
			t.Errorf("%s: it was changed (%v)", name, err)
		}
	}
}

// TestFirstFormOfSomebodyElse: a file that others can write to, has a second name or a journal
// beside it, or whose directory holds something else, is not adopted, but refused as ever.
func TestFirstFormOfSomebodyElse(t *testing.T) {
	for name, spoil := range map[string]func(root string) error{
		"others write":      func(root string) error { return os.Chmod(Path(root), 0o666) },
		"others write here": func(root string) error { return os.Chmod(filepath.Join(root, dirName), 0o777) },
		"a second name":     func(root string) error { return os.Link(Path(root), filepath.Join(root, "other")) },
		"a journal":         func(root string) error { return os.WriteFile(Path(root)+"-journal", nil, 0o644) },
		"another file":      func(root string) error { return os.WriteFile(Path(root), []byte("what?"), 0o644) },
		"a link": func(root string) error {
			return errors.Join(os.Rename(Path(root), filepath.Join(root, "db")), os.Symlink("../db", Path(root)))
		},
		"tracked": func(root string) error { git(t, root, "add", "-f", dirName); return nil },
	} {
		root := firstLedger(t, firstDDL+firstData)
		if err := spoil(root); err != nil {
			t.Fatal(err)
		}
		if l, err := Open(root); err == nil {
			t.Errorf("%s: it was taken", name)
			_ = l.Close()
		}
	}
}

func TestPlainSQL(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT  1 -- one\n , 2;":       "select 1,2;",
		"a /* b */ c":                   "a c",
		"X'--' || 'It''s /* */' -- end": "x'--' || 'It''s /* */'",
		`"A  b" ( c )`:                  `"A  b"(c)`,
		"'open":                         "'open",
		"/* open":                       "",
		"":                              "",
	} {
		if got := plainSQL(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
