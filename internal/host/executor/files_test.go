package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
	"assent/internal/host/wholefile"
)

// What stands in the place of a session's file, whoever put it there, is neither followed nor waited for, and stops
// nothing but that session.
func TestDamagedSessionStopsNoOther(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "theirs")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(elsewhere, "theirs")
	for name, damage := range map[string]func(dir string) error{
		"meta.json is empty, as after a kill": func(dir string) error { return os.Truncate(filepath.Join(dir, metaFile), 0) },
		"meta.json is of another session": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, metaFile), []byte(`{"session":"`+one+`"}`), 0o600)
		},
		"meta.json names a flag for a tree": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, metaFile), []byte(`{"session":"`+two+`","worktree":"--dangerously-skip-permissions"}`), 0o600)
		},
		"meta.json is huge": func(dir string) error { return os.Truncate(filepath.Join(dir, metaFile), maxMeta+1) },
		"meta.json is a pipe": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, metaFile)), syscall.Mkfifo(filepath.Join(dir, metaFile), 0o600))
		},
		"meta.json is gone":   func(dir string) error { return os.Remove(filepath.Join(dir, metaFile)) },
		"the journal is gone": func(dir string) error { return os.Remove(filepath.Join(dir, journalFile)) },
		"the journal is a pipe": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, journalFile)), syscall.Mkfifo(filepath.Join(dir, journalFile), 0o600))
		},
		"the journal is a link": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, journalFile)), os.Symlink(elsewhere, filepath.Join(dir, journalFile)))
		},
		"the journal has another name": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, journalFile)), os.Link(elsewhere, filepath.Join(dir, journalFile)))
		},
		"the journal is nonsense in between": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, journalFile), []byte("{}\nx\n{}\n"), 0o600)
		},
		"the journal has messages without end": func(dir string) error {
			var text strings.Builder
			for i := 0; text.Len() < 1<<20; i++ {
				fmt.Fprintf(&text, `{"order":{"id":"%d"}}`+"\n", i)
			}
			return os.WriteFile(filepath.Join(dir, journalFile), []byte(text.String()), 0o600)
		},
		"the journal is longer than it can be": func(dir string) error { return os.Truncate(filepath.Join(dir, journalFile), maxJournal+maxEntry+1) },
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			cfg := Config{
				Dir: filepath.Join(t.TempDir(), "agents"), Logf: func(f string, _ ...any) { log.WriteString(f) },
				File: func() (optin.File, error) {
					return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder", BudgetUSD: 1, Timeout: time.Hour, Sessions: 9}}}, nil
				},
			}
			h, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{one, two} {
				s, err := makeSession(h, meta{Session: id, Agent: "coder"})
				if err == nil {
					err = errors.Join(s.note(entry{At: time.Now(), Order: &Order{ID: one, Session: id, Kind: hook.MessagePrompt}}), s.journal.close())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(cfg.Dir, two)); err != nil {
				t.Fatal(err)
			}
			if h, err = Open(cfg); err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if h.sessions[one] == nil || h.sessions[two] != nil || log.Len() == 0 {
				t.Errorf("%v, %q", h.sessions, log.String())
			}
			// An order that came before does not come again because nobody knows of it any more.
			if _, err := h.make(Order{ID: one, Session: two, Agent: "coder", Kind: hook.MessagePrompt}); !errors.Is(err, os.ErrExist) {
				t.Errorf("the session was begun again: %v", err)
			}
			if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "theirs" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// A file that is made takes the place of what was put there, and leaves that alone.
func TestMadeFilesAreNew(t *testing.T) {
	dir := t.TempDir()
	elsewhere, path := filepath.Join(dir, "theirs"), filepath.Join(dir, mcpFile)
	if err := errors.Join(os.WriteFile(elsewhere, []byte("theirs"), 0o644), os.Symlink(elsewhere, path), os.Symlink(elsewhere, path+".new")); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(path, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := makeFile(filepath.Join(dir, outFile))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for file, want := range map[string]string{elsewhere: "theirs", path: "ours"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	for _, file := range []string{path, filepath.Join(dir, outFile)} {
		if fi, err := os.Lstat(file); err != nil || fi.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", file, fi, err)
		}
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(path, 10); !errors.Is(err, errDamaged) {
		t.Errorf("a pipe is read: %v", err)
	}
}

// What an agent puts in the place of a host's own files keeps no host from beginning for ever: nothing is waited for, and what
// cannot be gone on with is said.
func TestHostsOwnFiles(t *testing.T) {
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	dangling := func(path string) error { return os.Symlink("nowhere", path) }
	directory := func(path string) error { return os.Mkdir(path, 0o700) }
	for _, c := range []struct {
		what, file string
		put        func(path string) error
		want       string // part of the error, "" for none
	}{
		{"a pipe", "lock", fifo, ""},
		{"a pipe", hostFile, fifo, ""},
		{"a pipe", idsFile, fifo, "may be removed"},
		{"a link", "lock", dangling, "remove"},
		{"a link", hostFile, dangling, ""},
		{"a directory", "lock", directory, "remove"},
	} {
		t.Run(c.file+" is "+c.what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "agents")
			if err := errors.Join(os.Mkdir(dir, 0o700), c.put(filepath.Join(dir, c.file))); err != nil {
				t.Fatal(err)
			}
			h, err := Open(Config{Dir: dir, Logf: t.Logf, File: func() (optin.File, error) { return optin.File{}, nil }})
			if err == nil {
				err = h.Close()
			} else if c.want == "" {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
