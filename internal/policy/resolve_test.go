package policy

import (
	"fmt"
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

// What the kernel says of a whole directory at once is what its parts say one by one.
func TestResolveLinkless(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "a", "a/up": "..", "gone": "nowhere", "a/b/file/x": "", "loop": "loop", "root": "/", "same": "."} {
		if to == "" {
			err = os.WriteFile(filepath.Join(dir, filepath.Dir(name)), nil, 0o600)
		} else {
			err = os.Symlink(to, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	places := []string{"/", "/proc", "/proc/self", "/proc/self/cwd", "/net", "/net/x"}
	for _, name := range []string{"", "/a", "/a/b", "/a/b/c", "/a/b/c/none/at/all", "/link", "/link/b", "/link/none/b", "/a/up", "/a/up/a/b", "/a/up/link/b", "/gone", "/gone/x", "/a/b/file", "/a/b/file/x", "/loop", "/loop/x", "/root" + dir + "/a", "/same/a", "/none", "/none/link/a"} {
		places = append(places, dir+name)
	}
	for _, cwd := range places {
		for _, other := range append(places, cwd+"/x", cwd+"/../x", cwd+"/../../a/link", filepath.Dir(cwd)) {
			slow := &surroundings{cwd: cwd, readlink: os.Readlink}
			quick := &surroundings{cwd: cwd, readlink: os.Readlink, linkless: linkless}
			for _, at := range []string{other, cwd, other} {
				if got, want := quick.resolve(at), slow.resolve(at); got != want {
					t.Errorf("in %s: %s leads to %q, want %q", cwd, at, got, want)
				}
				if quick.lastGone > 0 && slow.lastGone == 0 {
					t.Errorf("in %s: %s is taken to be missing", cwd, at)
				}
			}
		}
	}
}

// A directory that is said to hold no link holds none, in any spelling; a link in it is seen wherever it is listed.
func TestNoLinkIn(t *testing.T) {
	if noLinkIn("/proc/self") || noLinkIn("/none/at/all") || noLinkIn("/dev/null") {
		t.Error("of these nothing is known")
	}
	dir := t.TempDir()
	known := noLinkIn(dir) // on Linux, on most file systems
	for i := range 600 {   // more than are read at once, and than are read at all
		if i%100 == 0 {
			if got := noLinkIn(dir); got && (!known || i > 500) || known && !got && i < 200 {
				t.Errorf("%d files: %v", i, got)
			}
			link := filepath.Join(dir, "link")
			if err := os.Symlink("nowhere", link); err != nil {
				t.Fatal(err)
			}
			if noLinkIn(dir) {
				t.Errorf("%d files and a link", i)
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-with-a-long-name-%060d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "to")); err != nil {
		t.Fatal(err)
	}
	if noLinkIn(filepath.Join(dir, "to")) {
		t.Error("a directory by a link")
	}
}
