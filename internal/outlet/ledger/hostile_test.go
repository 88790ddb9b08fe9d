package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/hook"
)

// A directory that somebody packed may hold more than git lets through: files that only the user
// can read, journals, FIFOs.
func TestJournalThatCameWithTheRepository(t *testing.T) {
	for name, spoil := range map[string]func(journal, victim string) error{
		"FIFO":        func(journal, _ string) error { return syscall.Mkfifo(journal, 0o600) },
		"second name": func(journal, victim string) error { return os.Link(victim, journal) },
		"link":        func(journal, victim string) error { return os.Symlink(victim, journal) },
	} {
		t.Run(name, func(t *testing.T) {
			root := repository(t)
			add(t, root, mutation(root, 1))
			victim := filepath.Join(t.TempDir(), "precious")
			if err := errors.Join(os.WriteFile(victim, []byte("\x00mine"), 0o600), spoil(Path(root)+"-journal", victim)); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if failed := Store(context.Background(), []hook.Mutation{mutation(root, 2)}); failed == nil {
					t.Error("stored")
				}
				_ = Query(context.Background(), root, Filter{}, func(Row) error { return nil }) // it has to end, and write nowhere
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("it hangs")
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != "\x00mine" {
				t.Errorf("the other file: %.20q %v", b, err)
			}
		})
	}
}

func TestQueryOfAFIFO(t *testing.T) {
	root := repository(t)
	if err := errors.Join(os.Mkdir(root+"/.hookd", 0o700), syscall.Mkfifo(Path(root), 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- Query(context.Background(), root, Filter{}, func(Row) error { return nil }) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("read")
		}
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}

// The tables have to be ours to the letter: an expression in somebody's index is computed at every
// insert, with as much memory as it wants.
func TestOtherTables(t *testing.T) {
	for name, statement := range map[string]string{
		"index":     "CREATE INDEX x ON mutations(length(hex(zeroblob(2000000))))",
		"view":      "CREATE VIEW x AS SELECT 1",
		"column":    "ALTER TABLE mutations ADD COLUMN x GENERATED ALWAYS AS (hex(zeroblob(100000000)))",
		"generated": "ALTER TABLE mutations DROP COLUMN lines_changed; ALTER TABLE mutations ADD COLUMN lines_changed GENERATED ALWAYS AS (hex(zeroblob(100000000)))",
		"table":     "CREATE TABLE x(y)",
		"no index":  "DROP INDEX idx_mutations_event",
	} {
		t.Run(name, func(t *testing.T) {
			root := repository(t)
			add(t, root, mutation(root, 1))
			change(t, Path(root), statement)
			if err := Store(t.Context(), []hook.Mutation{mutation(root, 2)})[root]; !errors.Is(err, ErrDamaged) {
				t.Errorf("store: %v", err)
			}
			if err := Query(t.Context(), root, Filter{}, func(Row) error { return nil }); !errors.Is(err, ErrDamaged) {
				t.Errorf("query: %v", err)
			}
		})
	}
	root := repository(t)
	add(t, root, mutation(root, 1))
	change(t, Path(root), "ANALYZE") // of people who tend their databases
	add(t, root, mutation(root, 2))
}

// Times that are none must not turn the pages in a circle.
func TestOddTimes(t *testing.T) {
	for _, value := range []string{"''", "x'41'"} {
		root := repository(t)
		add(t, root, mutation(root, 1))
		change(t, Path(root), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5001)
			INSERT INTO mutations (event_type, hook_type, tool_name, agent_id, branch, head_sha, raw_payload, event_timestamp, session_id, event_id)
			SELECT '', '', '', '', '', '', '', `+value+`, '', 'x'||i FROM n`)
		n, enough := 0, errors.New("enough")
		if err := Query(t.Context(), root, Filter{}, func(Row) error {
			if n++; n > 12_000 {
				return enough
			}
			return nil
		}); errors.Is(err, enough) {
			t.Errorf("%s: rows come again and again", value)
		}
	}
}

// A repository's own .gitignore counts more than info/exclude.
func TestGitignoreThatWantsTheLedger(t *testing.T) {
	root := repository(t)
	if err := os.WriteFile(root+"/.gitignore", []byte("!/.hookd/\n!*.db\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	add(t, root, mutation(root, 1))
	if status := git(t, root, "status", "--porcelain", "--untracked-files=all"); strings.Contains(status, "hookd") {
		t.Errorf("git status:\n%s", status)
	}
	if err := os.WriteFile(root+"/.hookd/.gitignore", []byte("!*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(root); err == nil || !strings.Contains(err.Error(), ".gitignore") {
		t.Errorf("%v %v", l, err)
	}
}

// Within the git directory, too, nothing is written through a link.
func TestExcludeLeadsToTheConfiguration(t *testing.T) {
	root := repository(t)
	at := root + "/.git/info/exclude"
	if err := errors.Join(os.Remove(at), os.Symlink("../config", at)); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(root); err == nil {
		l.Close()
		t.Error("opened")
	}
	git(t, root, "status")
}

func TestSomebodyElsesWorkTree(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	root := repository(t)
	if err := os.Chown(root, 4242, -1); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(root); err == nil || !strings.Contains(err.Error(), "4242") {
		t.Errorf("%v %v", l, err)
	}
	if _, err := os.Lstat(root + "/.hookd"); err == nil {
		t.Error("written")
	}
}

func TestNamesOfRoots(t *testing.T) {
	for _, name := range []string{"a?b", "a#b", "a%41", "a&mode=memory", "a;b", "a\nb", "a\u202eb", "a b", "file:x", "a'b\"", "\xff\xfe"} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(dir, name)
		git(t, dir, "init", "-q", root)
		add(t, root, mutation(root, 1))
		if got := rows(t, root, Filter{}); len(got) != 1 {
			t.Errorf("%q: %d rows", name, len(got))
		}
	}
}
