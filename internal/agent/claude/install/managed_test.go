package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "claude-code")
	o := Options{Scope: Managed, ManagedDir: dir, OnlyManaged: true, StateDir: t.TempDir(), Versions: []string{Newest}, Command: []string{"/usr/bin/assent-hook", "--socket", "/run/assent/hook.sock"}}
	path := filepath.Join(dir, "managed-settings.json")
	apply := func(p Plan, err error) {
		t.Helper()
		if err == nil {
			_, err = p.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apply(Install(o))
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o644 { // everybody's Claude Code reads it
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	s, ok := Read(path)
	if !ok || s.Err != nil || !s.ManagedOnly || len(s.Hooks) < 20 || !s.Hooks[0].Ours {
		t.Errorf("%+v", s)
	}
	if p, err := Install(o); err != nil || p.Changed() {
		t.Errorf("a second install: %v\n%s", err, p.Diff())
	}
	found := Survey(o, "/", "")
	if n := len(found); n == 0 || found[n-1].Scope != Managed || !found[n-1].ManagedOnly {
		t.Errorf("%+v", found)
	}
	apply(Uninstall(o))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after uninstall: %v", err)
	}

	// What the administrator wrote stays, and what was changed since is not undone.
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	own := `{"permissions": {"disableBypassPermissionsMode": "disable"}, "allowManagedHooksOnly": true}`
	write(own)
	apply(Install(o))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(string(b) + "\n") // somebody has been here
	apply(Uninstall(o))
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "allowManagedHooksOnly") || strings.Contains(string(b), "assent") {
		t.Errorf("%s, %v", b, err)
	}
	write(`{"allowManagedHooksOnly": false}`)
	if _, err := Install(o); err == nil {
		t.Error("what says the contrary was changed")
	}
	o.Scope = User
	if _, err := Install(o); !errors.Is(err, errOnly) {
		t.Errorf("%v", err)
	}
}

func TestRootsAlone(t *testing.T) {
	if err := RootsAlone("/bin/sh"); err != nil { // through links
		t.Error(err)
	}
	mine := filepath.Join(t.TempDir(), "assent-hook")
	if err := os.WriteFile(mine, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(mine, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{mine, "/not/there"} {
		if RootsAlone(path) == nil {
			t.Errorf("%s is fit for everybody", path)
		}
	}
}
