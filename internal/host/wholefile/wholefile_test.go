package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// one returns the only file in dir, and fails if there is another: nothing is left lying about.
func one(t *testing.T, dir string) (text string, mode fs.FileMode) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	fi, err := os.Lstat(filepath.Join(dir, all[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, all[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), fi.Mode()
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.conf")
	for _, c := range []struct {
		text string
		mode fs.FileMode
	}{{"first\n", 0o600}, {"second\n", 0o666}, {"", 0o400}, {"over what cannot be written\n", 0o640}} {
		if err := Write(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if text, mode := one(t, dir); text != c.text || mode != c.mode {
			t.Errorf("%q with %v, want %q with %v", text, mode, c.text, c.mode)
		}
	}
	if err := WriteVolatile(path, []byte("third\n")); err != nil {
		t.Fatal(err)
	}
	if text, mode := one(t, dir); text != "third\n" || mode != 0o600 {
		t.Errorf("%q with %v", text, mode)
	}
}

// TestReaderKeepsTheOld: who has the old file open reads all of it.
func TestReaderKeepsTheOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if n, _ := f.Read(b); string(b[:n]) != "old" {
		t.Errorf("%q", b[:n])
	}
}

// TestLinkIsReplaced: a link of that name leads nobody's text elsewhere.
func TestLinkIsReplaced(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(elsewhere, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, mode := one(t, dir); text != "ours" || !mode.IsRegular() {
		t.Errorf("%q, %v", text, mode)
	}
	if b, err := os.ReadFile(elsewhere); err != nil || string(b) != "theirs" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestKilled: what a killed writer left goes, and nothing else.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * stale)
	for _, name := range []string{".a.123.new", ".a.x.new", ".b.123.new", "a.123.new", ".a..new"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".a.456.new"), nil, 0o600); err != nil { // another writer is at it
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".a..new", ".a.456.new", ".a.x.new", ".b.123.new", "a", "a.123.new"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
}

// TestFailed: what fails leaves the file as it was, and nothing beside it.
func TestFailed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	no := fmt.Errorf("ask the broker: %w", &fs.PathError{Op: "open", Path: "runtime.json", Err: fs.ErrNotExist}) // of another file
	if err := Replace(path, []byte("new"), func(*os.File) error { return no }); err != no {
		t.Errorf("%v", err)
	}
	if text, _ := one(t, dir); text != "old" {
		t.Errorf("%q", text)
	}
	if err := Write(filepath.Join(dir, "none", "a"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	full := filepath.Join(dir, "d")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(full, nil, 0o600); err == nil || err.Error() != "replace "+full+": file exists" {
		t.Errorf("a directory was replaced, or the error is of a name that changes: %v", err)
	}
	none := filepath.Join(dir, "none", "b")
	if err := WriteVolatile(none, nil); err == nil || err.Error() != "replace "+none+": no such file or directory" {
		t.Errorf("%v", err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("%v", all)
	}
}
