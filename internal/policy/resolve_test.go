package policy

import (
	"os"
	"path/filepath"
	"testing"
)

// Where a path leads does not depend on what was asked before.
func TestResolveRemembers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"a/b/c", "far/x/y"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"a/link": "../far/x", "far/back": dir + "/a", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{"", "/a", "/a/b", "/a/b/c", "/a/bc", "/a/link", "/a/link/y", "/a/link/..", "/a/link/../back", "/a/link/../back/b", "/a/link/../back/b/../link/y", "/a/none", "/a/none/x", "/a/none/../link", "/a/none/x/../../link/y", "/none/../a/link", "/loop", "/loop/x", "/a/b/"}
	for _, first := range paths {
		for _, second := range paths {
			e := &surroundings{cwd: dir, readlink: os.Readlink}
			e.resolve(dir + first)
			alone := &surroundings{cwd: dir, readlink: os.Readlink}
			if got, want := e.resolve(dir+second), alone.resolve(dir+second); got != want {
				t.Errorf("%s after %s: %q, want %q", second, first, got, want)
			}
		}
	}
	for path, want := range map[string]string{"/a/none/../link": "/far/x", "/a/none/x/../../link/y": "/far/x/y", "/none/../a/link": "/far/x", "/a/none/x/y": "/a/none/x/y"} {
		e := &surroundings{cwd: dir, readlink: os.Readlink}
		if got := e.resolve(dir + path); got != dir+want {
			t.Errorf("%s: %q", path, got)
		}
	}
	e := &surroundings{cwd: dir, readlink: os.Readlink}
	if got := e.resolve(dir + "/a/link/../back/b/../link/y"); got != dir+"/far/x/y" {
		t.Errorf("got %q", got)
	}
}
