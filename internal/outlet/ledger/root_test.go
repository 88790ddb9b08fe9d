package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/internal/hook"
)

func TestTwoRepositoriesAndALinkedWorkTree(t *testing.T) {
	one, two := repository(t), repository(t)
	linked := filepath.Join(filepath.Dir(one), "linked")
	git(t, one, "worktree", "add", "-q", "-b", "side", linked)
	sub := filepath.Join(two, "sub")
	git(t, two, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", one, "sub")
	git(t, two, "commit", "-qm", "sub")
	roots := []string{one, two, linked, sub}
	var list []hook.Mutation
	for n := range 40 {
		m := mutation(roots[n%len(roots)], n)
		m.EventID = fmt.Sprint(n)
		list = append(list, m)
	}
	if failed := Store(t.Context(), list); failed != nil {
		t.Fatal(failed)
	}
	for i, root := range roots {
		got := rows(t, root, Filter{})
		if len(got) != 10 {
			t.Errorf("%s has %d rows", root, len(got))
		}
		for k, r := range got {
			if r.EventID != fmt.Sprint(4*k+i) {
				t.Errorf("%s has event %s", root, r.EventID)
			}
		}
		if status := git(t, root, "status", "--porcelain", "--untracked-files=all"); status != "" {
			t.Errorf("git status in %s: %s", root, status)
		}
	}
	// One line, however often.
	b, err := os.ReadFile(filepath.Join(one, ".git", "info", "exclude"))
	if err != nil || bytes.Count(b, []byte("/.hookd/\n")) != 1 {
		t.Errorf("exclude: %q %v", b, err)
	}
}

func TestExcludeIsKept(t *testing.T) {
	for _, have := range []string{"", "*.log", "*.log\r\n", "a\n/.hookd/\nb", "/.hookd/ \r\n"} {
		root := repository(t)
		path := filepath.Join(root, ".git", "info", "exclude")
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
		add(t, root, mutation(root, 1))
		add(t, root, mutation(root, 2))
		got, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(got, []byte(have)) || bytes.Count(got, []byte("/.hookd/")) != 1 {
			t.Errorf("%q became %q, %v", have, got, err)
		}
		if status := git(t, root, "status", "--porcelain"); status != "" {
			t.Errorf("%q: git status %s", have, status)
		}
	}
	root := repository(t) // as git init --template= leaves it
	if err := os.RemoveAll(filepath.Join(root, ".git", "info")); err != nil {
		t.Fatal(err)
	}
	add(t, root, mutation(root, 1))
	if status := git(t, root, "status", "--porcelain"); status != "" {
		t.Errorf("git status %s", status)
	}
}

// Nothing is written through a link, and nothing into what is no work tree.
func TestNeverElsewhere(t *testing.T) {
	link := func(t *testing.T, to, at string) {
		t.Helper()
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		// set makes something of the repository and the empty directory victim, and returns the
		// root that the hook tells.
		set  func(t *testing.T, root, victim string) string
		want error
	}{
		{"a link to the root", func(t *testing.T, root, victim string) string {
			link(t, root, victim+"/link")
			return victim + "/link"
		}, ErrElsewhere},
		{"a link above the root", func(t *testing.T, root, victim string) string {
			link(t, filepath.Dir(root), victim+"/link")
			return victim + "/link/repo"
		}, ErrElsewhere},
		{".hookd", func(t *testing.T, root, victim string) string {
			link(t, victim, root+"/.hookd")
			return root
		}, ErrElsewhere},
		{".hookd within the root", func(t *testing.T, root, _ string) string {
			if err := os.Mkdir(root+"/src", 0o755); err != nil {
				t.Fatal(err)
			}
			link(t, "src", root+"/.hookd")
			return root
		}, ErrElsewhere},
		{"the file", func(t *testing.T, root, victim string) string {
			if err := os.Mkdir(root+"/.hookd", 0o700); err != nil {
				t.Fatal(err)
			}
			link(t, victim+"/x.db", root+"/.hookd/mutations.db")
			return root
		}, ErrElsewhere},
		{"the file, a second name", func(t *testing.T, root, victim string) string {
			if err := errors.Join(os.Mkdir(root+"/.hookd", 0o700), os.WriteFile(victim+"/x.db", nil, 0o600), os.Link(victim+"/x.db", root+"/.hookd/mutations.db")); err != nil {
				t.Fatal(err)
			}
			return root
		}, ErrElsewhere},
		{".git", func(t *testing.T, root, victim string) string {
			if err := os.Rename(root+"/.git", victim+"/git"); err != nil {
				t.Fatal(err)
			}
			link(t, victim+"/git", root+"/.git")
			return root
		}, ErrElsewhere},
		{"info", func(t *testing.T, root, victim string) string {
			if err := os.RemoveAll(root + "/.git/info"); err != nil {
				t.Fatal(err)
			}
			link(t, victim, root+"/.git/info")
			return root
		}, nil},
		{"exclude", func(t *testing.T, root, victim string) string {
			if err := os.Remove(root + "/.git/info/exclude"); err != nil {
				t.Fatal(err)
			}
			link(t, victim+"/exclude", root+"/.git/info/exclude")
			return root
		}, nil},
		{"a .git file that names any directory", func(t *testing.T, root, victim string) string {
			if err := errors.Join(os.RemoveAll(root+"/.git"), os.WriteFile(victim+"/HEAD", nil, 0o600), os.WriteFile(root+"/.git", []byte("gitdir: "+victim), 0o600)); err != nil {
				t.Fatal(err)
			}
			return root
		}, ErrGone},
		{"no repository", func(_ *testing.T, _, victim string) string { return victim }, ErrGone},
		{"below the root", func(t *testing.T, root, _ string) string {
			if err := os.Mkdir(root+"/src", 0o755); err != nil {
				t.Fatal(err)
			}
			return root + "/src"
		}, ErrGone},
		{"vanished", func(t *testing.T, root, _ string) string {
			if err := os.RemoveAll(root); err != nil {
				t.Fatal(err)
			}
			return root
		}, ErrGone},
		{"a file", func(_ *testing.T, root, _ string) string { return root + "/.git/HEAD" }, ErrGone},
		{"relative", func(*testing.T, string, string) string { return "." }, ErrGone},
		{"unclean", func(_ *testing.T, root, _ string) string { return root + "/../repo" }, ErrGone},
		{"with a NUL", func(_ *testing.T, root, _ string) string { return root + "\x00" }, nil},
		{"long", func(_ *testing.T, root, _ string) string { return root + strings.Repeat("/x", 5000) }, ErrGone},
		{"a FIFO", func(t *testing.T, root, _ string) string {
			if err := errors.Join(os.Mkdir(root+"/.hookd", 0o700), syscall.Mkfifo(root+"/.hookd/mutations.db", 0o600)); err != nil {
				t.Fatal(err)
			}
			return root
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := repository(t)
			victim, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			told := tt.set(t, root, victim)
			before := listing(t, victim)
			l, err := Open(told)
			if err == nil {
				l.Close()
				t.Fatal("opened")
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if !strings.Contains(err.Error(), Path(told)) {
				t.Errorf("the path is not in %v", err)
			}
			if after := listing(t, victim); after != before {
				t.Errorf("written elsewhere:\n%s\nbefore\n%s", after, before)
			}
		})
	}
}

// listing is every file below dir with its size, and its content if it is small.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %x %v\n", path, text, err)
			return nil
		}
		fmt.Fprintf(&b, "%s %v\n", path, d.Type())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSomebodyElsesFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for _, name := range []string{".hookd", ".hookd/mutations.db"} {
		root := repository(t)
		add(t, root, mutation(root, 1))
		if err := os.Chown(filepath.Join(root, name), 4242, -1); err != nil {
			t.Fatal(err)
		}
		if l, err := Open(root); err == nil || !strings.Contains(err.Error(), "4242") {
			t.Errorf("%s: %v %v", name, l, err)
		}
	}
}

// What git checked out can be committed again, with all that was added to it.
func TestLedgerThatCameWithTheRepository(t *testing.T) {
	from := repository(t)
	add(t, from, mutation(from, 1))
	git(t, from, "add", "--force", ".hookd")
	git(t, from, "commit", "-qm", "ledger")
	for _, umask := range []int{0o022, 0o077} { // with the latter it looks like one of ours
		func() {
			defer syscall.Umask(syscall.Umask(umask))
			to := filepath.Join(filepath.Dir(from), fmt.Sprintf("clone%o", umask))
			git(t, from, "clone", "-q", from, to)
			if l, err := Open(to); err == nil || !strings.Contains(err.Error(), "came with the repository") {
				t.Errorf("%v %v", l, err)
			}
			if status := git(t, to, "status", "--porcelain"); status != "" {
				t.Errorf("git status %s", status)
			}
		}()
	}
	// Nor in the repository where somebody added it; what helps is what the error says.
	if l, err := Open(from); err == nil || !strings.Contains(err.Error(), "git rm -r --cached .hookd") {
		t.Errorf("%v %v", l, err)
	}
	git(t, from, "rm", "-rq", "--cached", ".hookd")
	add(t, from, mutation(from, 2))
	if got := rows(t, from, Filter{}); len(got) != 2 {
		t.Errorf("%d rows", len(got))
	}
}

// An exclude file that is kept elsewhere is fine if it has the line.
func TestExcludeElsewhereWithTheLine(t *testing.T) {
	root := repository(t)
	mine, at := filepath.Join(t.TempDir(), "exclude"), root+"/.git/info/exclude"
	if err := errors.Join(os.WriteFile(mine, []byte("/.hookd/\n"), 0o600), os.Remove(at), os.Symlink(mine, at)); err != nil {
		t.Fatal(err)
	}
	add(t, root, mutation(root, 1))
}

func TestNewerAndDamagedAreLeftAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  error
	}{
		"newer": {func(t *testing.T, path string) { change(t, path, "PRAGMA user_version=2") }, ErrNewer},
		"no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
		"cut short": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
		"somebody's database": {func(t *testing.T, path string) { change(t, path, "PRAGMA application_id=0") }, ErrDamaged},
		"with a trigger": {func(t *testing.T, path string) {
			change(t, path, "CREATE TRIGGER x BEFORE INSERT ON mutations BEGIN DELETE FROM mutations; END")
		}, ErrDamaged},
		"damaged within": {func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(b); i++ { // all but the first page
				b[i] = 0xaa
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			bad, good := repository(t), repository(t)
			var list []hook.Mutation
			for n := range 100 {
				list = append(list, mutation(bad, n))
			}
			add(t, bad, list...)
			tt.spoil(t, Path(bad))
			before := listing(t, filepath.Join(bad, ".hookd"))
			failed := Store(t.Context(), []hook.Mutation{mutation(bad, 200), mutation(good, 1)})
			if len(failed) != 1 || !errors.Is(failed[bad], tt.want) || !strings.Contains(failed[bad].Error(), Path(bad)) {
				t.Errorf("failed: %v, want %v", failed, tt.want)
			}
			if err := Query(t.Context(), bad, Filter{}, func(Row) error { return nil }); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), Path(bad)) {
				t.Errorf("query: %v, want %v", err, tt.want)
			}
			if listing(t, filepath.Join(bad, ".hookd")) != before {
				t.Error("the file was changed")
			}
			if got := rows(t, good, Filter{}); len(got) != 1 {
				t.Errorf("the other has %d rows", len(got))
			}
		})
	}
}

func change(t *testing.T, path, statement string) {
	t.Helper()
	db, err := openSQLite(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// What is removed while it is open must not swallow rows.
func TestRemovedWhileOpen(t *testing.T) {
	root := repository(t)
	l, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	git(t, root, "clean", "-qfdx")
	if err := os.Mkdir(root+"/.hookd", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(t.Context(), []hook.Mutation{mutation(root, 1)}); err == nil {
		t.Error("no error")
	}
	if failed := Store(t.Context(), []hook.Mutation{mutation(root, 1)}); failed != nil {
		t.Error(failed)
	}
	if got := rows(t, root, Filter{}); len(got) != 1 {
		t.Errorf("%d rows", len(got))
	}
}
