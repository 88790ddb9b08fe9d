package gitrepo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTracked compares with git, in every format of the index.
func TestTracked(t *testing.T) {
	l := newLab(t)
	for _, tt := range []struct {
		name   string
		init   []string
		config []string
	}{
		{"2", nil, []string{"index.version", "2"}},
		{"4", nil, []string{"index.version", "4"}},
		{"sha256", []string{"--object-format=sha256"}, nil},
		{"sha256-4", []string{"--object-format=sha256"}, []string{"index.version", "4"}},
		{"split", nil, []string{"core.splitIndex", "true"}},
		{"many", nil, []string{"feature.manyFiles", "true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(l.root, "r"+tt.name)
			l.git(l.root, append(append([]string{"init", "-q"}, tt.init...), root)...)
			if tt.config != nil {
				l.git(root, append([]string{"config"}, tt.config...)...)
			}
			want := func(what string, yes bool) {
				t.Helper()
				if got, err := Tracked(root, ".hookd"); got != yes || err != nil {
					t.Errorf("%s: %v, %v", what, got, err)
				}
			}
			put := func(names ...string) {
				t.Helper()
				for _, name := range names {
					if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755), os.WriteFile(filepath.Join(root, name), []byte("the same in all"), 0o644)); err != nil {
						t.Fatal(err)
					}
				}
			}
			want("without an index", false)
			put("a", ".gitignore", ".github/x", ".hookd-not", ".hookd.d/x", "zz/.hookd/x", "!/b", strings.Repeat("long/", 40)+"z")
			for n := range 300 { // beyond the first piece that is read
				put(fmt.Sprintf(".a/%0100d", n))
			}
			l.git(root, "add", "-A")
			want("nothing of it", false)
			if err := os.WriteFile(filepath.Join(root, "a"), []byte("changed"), 0o644); err != nil {
				t.Fatal(err)
			}
			l.git(root, "add", "a")
			want("changed", false)
			put("a2")
			l.git(root, "add", "--intent-to-add", "a2") // an extended entry
			put(".b")
			l.git(root, "add", "--intent-to-add", ".b")
			want("to be added", false)
			put(".hookd/mutations.db")
			want("not added", false)
			l.git(root, "add", "-f", ".hookd/mutations.db")
			want("a file in it", true)
			l.git(root, "commit", "-qm", "one")
			want("committed", true)
			l.git(root, "rm", "-rq", "--cached", ".hookd")
			if tt.name != "split" { // where it errs
				want("removed", false)
			}
			put(".HOOKD/x")
			l.git(root, "add", "-f", ".HOOKD/x")
			want("in capitals", true)
			l.git(root, "rm", "-rq", "--cached", ".HOOKD")
			if err := os.RemoveAll(filepath.Join(root, ".hookd")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("a", filepath.Join(root, ".hookd")); err != nil {
				t.Fatal(err)
			}
			l.git(root, "add", "-f", ".hookd")
			want("a link", true)
		})
	}
}

// A linked work tree has an index of its own.
func TestTrackedInALinkedWorkTree(t *testing.T) {
	l := newLab(t)
	main, linked := filepath.Join(l.root, "main"), filepath.Join(l.root, "linked")
	l.git(l.root, "init", "-q", main)
	l.git(main, "commit", "-q", "--allow-empty", "-m", "one")
	l.git(main, "worktree", "add", "-q", linked)
	if err := os.WriteFile(filepath.Join(linked, ".hookd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.git(linked, "add", "-f", ".hookd")
	for root, want := range map[string]bool{main: false, linked: true} {
		if got, err := Tracked(root, ".hookd"); got != want || err != nil {
			t.Errorf("%s: %v, %v", root, got, err)
		}
	}
}

// What is no index is no answer.
func TestTrackedOdd(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "text": "hello, this is none", "version 5": "DIRC\x00\x00\x00\x05\x00\x00\x00\x01", "cut": "DIRC\x00\x00\x00\x02\x00\x00\x00\x01half",
		"no end":     "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("x", 200),
		"no order":   "DIRC\x00\x00\x00\x02\x00\x00\x00\x02" + strings.Repeat("x", 62) + "-b" + strings.Repeat("\x00", 8) + strings.Repeat("x", 62) + "-a" + strings.Repeat("\x00", 8),
		"cut by nil": "DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\x00", 62) + "\x05a\x00",
	} {
		root := tree(t, map[string]string{".git/HEAD": sha1a, ".git/index": content})
		if got, err := Tracked(root, ".hookd"); got || !errors.Is(err, ErrIndex) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	root := tree(t, map[string]string{".git/HEAD": sha1a})
	if err := syscall.Mkfifo(filepath.Join(root, ".git", "index"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Tracked(root, ".hookd"); got || !errors.Is(err, ErrIndex) {
		t.Errorf("FIFO: %v, %v", got, err)
	}
	if _, err := Tracked(filepath.Dir(root), ".hookd"); !errors.Is(err, ErrIndex) {
		t.Errorf("no work tree: %v", err)
	}
}

func FuzzScanIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"+strings.Repeat("x", 59)+"\x00\x06.hookd\x00\x00\x00\x00"), 20)
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x02"+strings.Repeat("\x00", 62)+"\x00.a\x00"+strings.Repeat("\x00", 62)+"\x01hookd/x\x00"), 20)
	f.Fuzz(func(t *testing.T, b []byte, hash int) {
		if hash != 20 && hash != 32 {
			return
		}
		whole := scanIndex(b, hash, ".hookd")
		for n := range b { // a part never says something else than the whole
			if part := scanIndex(b[:n], hash, ".hookd"); part != indexGoesOn && part != whole {
				t.Fatalf("%d bytes: %v, all: %v", n, part, whole)
			}
		}
	})
}
