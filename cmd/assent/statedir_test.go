package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/internal/setup/joined"
	"assent/internal/setup/statedir"
)

// A directory that others can write to holds what they want it to hold.
func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		mode   os.FileMode
		uid    int
		want   string // part of the error, "" for none
		socket bool   // a socket may stand there all the same, with a warning
	}{
		"ours":         {mode: 0o700, uid: -1},
		"open to read": {mode: 0o755, uid: -1},
		"everybody's":  {mode: 0o777, uid: -1, want: "everybody can write"},
		"like /tmp":    {mode: 0o777 | os.ModeSticky, uid: -1, want: "everybody can write", socket: true},
		"another's":    {mode: 0o755, uid: 12345, want: "belongs to another user"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			if c.uid >= 0 {
				if os.Geteuid() != 0 {
					t.Skip("only root can give a directory away")
				}
				if err := os.Chown(dir, c.uid, -1); err != nil {
					t.Fatal(err)
				}
			}
			a := &app{stateDir: dir, out: t.Output(), err: t.Output()}
			l, sockErr := listenUnix("--socket", filepath.Join(dir, "s"), "")
			if sockErr == nil {
				l.Remove()
				l.Close()
			}
			stateErr := error(nil)
			if c.want != "" { // else it would serve
				stateErr = a.serve(t.Context(), serveFlags{listen: "127.0.0.1:0", natsListen: "off"}, nil)
			}
			for what, err := range map[string]error{"socket": sockErr, "state": stateErr} {
				if what == "socket" && c.socket {
					if err != nil {
						t.Errorf("socket: %v", err)
					}
					continue
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// What an agent put in the place of a file of the state directory is neither waited for nor read without end.
func TestStateFilesAreFiles(t *testing.T) {
	dir := t.TempDir()
	a := &app{stateDir: dir}
	for name, put := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"without end": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		id, info := filepath.Join(dir, "host-id"), filepath.Join(dir, "runtime.json")
		all := []string{id, info, joined.File(a.stateDir), filepath.Join(dir, ".runtime", "nats-info.json")}
		for _, path := range all {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := joined.Load(a.stateDir); err == nil {
			t.Errorf("%s: joined.json is read", name)
		}
		if _, err := a.natsInfo(); err == nil {
			t.Errorf("%s: nats-info.json is read", name)
		}
		if _, err := statedir.ID(id, 16, "this host"); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: an id: %v", name, err)
		}
		if _, err := a.runtime(); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: runtime.json: %v", name, err)
		}
		for _, path := range all {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
