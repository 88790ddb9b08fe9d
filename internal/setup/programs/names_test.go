package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStable: a link on PATH is named in the place of what it leads to, but not one inside of a repository, which can lead
// elsewhere tomorrow.
func TestStable(t *testing.T) {
	repo, home := t.TempDir(), t.TempDir()
	v1 := program(t, filepath.Join(home, "v1", "assent-hook"))
	ofHome := link(t, v1, filepath.Join(home, "bin", "assent-hook"))
	link(t, v1, filepath.Join(repo, "bin", "assent-hook"))
	other := program(t, filepath.Join(home, "other", "assent-hook"))
	for _, c := range []struct{ name, path, tree, want string }{
		{"a link", filepath.Dir(ofHome), repo, ofHome},
		{"in the repository", filepath.Join(repo, "bin"), repo, v1},
		{"in a repository that nobody stands in", filepath.Join(repo, "bin"), "", filepath.Join(repo, "bin", "assent-hook")},
		{"a home that is a repository", filepath.Dir(ofHome), home, ofHome},
		{"another program of the name", filepath.Dir(other), "", v1},
		{"none", t.TempDir(), "", v1},
	} {
		t.Setenv("PATH", c.path)
		if got := Stable(v1, c.tree, home); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBeside(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	self := program(t, filepath.Join(dir, "assent"))
	t.Setenv("PATH", elsewhere)
	if got, err := Beside(self, "assent-hook"); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%s, %v", got, err)
	}
	onPath := program(t, filepath.Join(elsewhere, "assent-hook"))
	if got, err := Beside(self, "assent-hook"); got != onPath || err != nil {
		t.Errorf("%s, %v, want the one on PATH", got, err)
	}
	mine := program(t, filepath.Join(dir, "assent-hook"))
	if got, err := Beside(self, "assent-hook"); got != mine || err != nil {
		t.Errorf("%s, %v, want the one beside", got, err)
	}
	if err := os.Chmod(mine, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Beside(self, "assent-hook"); got != onPath || err != nil {
		t.Errorf("%s, %v: what cannot be run is none", got, err)
	}
	kept := filepath.Join(dir, InUse, "assent") // not copied there yet
	if got, err := Beside(kept, "assent-hook"); got != filepath.Join(dir, InUse, "assent-hook") || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
