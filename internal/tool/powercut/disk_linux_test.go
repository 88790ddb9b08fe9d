package powercut

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mounted(t *testing.T) (d *Disk, dir string) {
	t.Helper()
	backing, dir := t.TempDir(), t.TempDir()
	d, err := Mount(backing, dir)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil || strings.Contains(string(mounts), dir) {
			t.Errorf("%s is still mounted (%v)", dir, err)
		}
	})
	return d, dir
}

// TestUnsyncedIsForgotten: of each way to change a file only what was synced is there after the cut.
func TestUnsyncedIsForgotten(t *testing.T) {
	d, dir := mounted(t)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, first, then string, how int) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR|how, 0o600)
		do(err)
		_, err = f.WriteString(first)
		do(err)
		do(f.Sync())
		_, err = f.WriteString(then)
		do(err)
		do(f.Close())
	}
	do(os.WriteFile(filepath.Join(dir, "never"), []byte("gone"), 0o600))
	write("appended", "kept", " and gone", os.O_APPEND)
	write("synced later", "one", " two", 0)
	f, err := os.OpenFile(filepath.Join(dir, "synced later"), os.O_RDONLY, 0)
	do(err)
	do(f.Sync())
	do(f.Close())
	write("over", "0123456789", "", 0)
	f, err = os.OpenFile(filepath.Join(dir, "over"), os.O_RDWR, 0)
	do(err)
	_, err = f.WriteAt([]byte("xxxx"), 3)
	do(err)
	_, err = f.WriteAt([]byte("yyyy"), 8)
	do(err)
	do(f.Truncate(2))
	do(f.Close())
	write("cut", "all of it", "", 0)
	do(os.Truncate(filepath.Join(dir, "cut"), 3))
	write("replaced", "old", "", 0)
	do(os.WriteFile(filepath.Join(dir, "replaced"), []byte("new and longer"), 0o600)) // O_TRUNC
	write("renamed", "content", " lost", 0)
	do(os.Rename(filepath.Join(dir, "renamed"), filepath.Join(dir, "name")))
	write("removed", "content", "", 0)
	do(os.Remove(filepath.Join(dir, "removed")))
	do(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	write("a/b/deep", "kept", " gone", 0)
	if got, err := os.ReadFile(filepath.Join(dir, "appended")); string(got) != "kept and gone" {
		t.Errorf("before the cut: %q, %v", got, err)
	}
	if d.Syncs() < 8 {
		t.Errorf("%d syncs", d.Syncs())
	}
	for range 2 { // the second one finds nothing to forget
		do(d.Cut())
		for name, want := range map[string]string{
			"never": "", "appended": "kept", "synced later": "one two", "over": "0123456789", "cut": "all of it", "replaced": "old", "name": "content", "a/b/deep": "kept",
		} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "removed")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("removed: %v", err)
		}
	}
}
