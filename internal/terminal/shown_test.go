package terminal

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assent/internal/api"
)

func TestShownFileIsBounded(t *testing.T) {
	s := NewShownFile(func(name string) string {
		if name == "XDG_STATE_HOME" {
			return t.TempDir()
		}
		return ""
	})
	other := &api.Request{}
	other.ID, other.InputSHA256 = "id", "another input"
	for i := range 300 {
		r := &api.Request{}
		r.ID, r.InputSHA256 = strconv.Itoa(i), strings.Repeat("0", 1000)
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
		if !s.Has(r) || s.Has(other) {
			t.Fatalf("%d: %v, %v", i, s.Has(r), s.Has(other))
		}
	}
	fi, err := os.Stat(s.path)
	if err != nil || fi.Size() > mostShown+2000 || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if left, _ := filepath.Glob(s.path + ".*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if (ShownFile{}).Has(other) || (ShownFile{}).Add(other) != nil {
		t.Error("without a file nothing is kept")
	}
}

// What stands in its place is neither waited for nor read without end: nothing was shown then.
func TestShownFileIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shown")
	for name, put := range map[string]func() error{
		"a pipe":      func() error { return syscall.Mkfifo(path, 0o600) },
		"without end": func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
		"a directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if lines := (ShownFile{path}).lines(); lines != nil {
			t.Errorf("%s holds %v", name, lines)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
