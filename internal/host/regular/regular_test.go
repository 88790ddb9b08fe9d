package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, mode fs.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(at(name), []byte("12345678"), mode), os.Chmod(at(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	put("file", 0o600)
	put("readable", 0o644)
	put("writable", 0o620)
	put("two", 0o600)
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("dir"), 0o700), os.Link(at("two"), at("names")),
		os.Symlink("file", at("link")), os.Symlink("pipe", at("linked pipe")), os.Symlink("nothing", at("dangling"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		most       int64
		want       Want
		err        error
	}{
		{"a file", at("file"), 8, NoLink | Mine | Private | NoWriter | OneName, nil},
		{"larger", at("file"), 7, 0, ErrLarge},
		{"nothing of it", at("file"), 0, 0, ErrLarge},
		{"none", at("none"), 8, 0, fs.ErrNotExist},
		{"below a file", at("file/x"), 8, 0, syscall.ENOTDIR},
		{"a pipe that nobody writes to", at("pipe"), 8, 0, ErrRefused},
		{"a link to a pipe", at("linked pipe"), 8, 0, ErrRefused},
		{"a directory", at("dir"), 8, 0, ErrRefused},
		{"a device without an end", "/dev/zero", 8, 0, ErrRefused},
		{"a link", at("link"), 8, 0, nil},
		{"a link where none may be", at("link"), 8, NoLink, syscall.ELOOP},
		{"a link to nothing", at("dangling"), 8, 0, fs.ErrNotExist},
		{"readable", at("readable"), 8, NoWriter | Mine, nil},
		{"readable that should be private", at("readable"), 8, Private, ErrRefused},
		{"writable by others", at("writable"), 8, NoWriter, ErrRefused},
		{"two names", at("two"), 8, NoLink | Mine | Private, nil},
		{"two names where one is wanted", at("two"), 8, OneName, ErrRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := Read(c.path, c.most, c.want)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil && string(text) != "12345678" {
				t.Errorf("it holds %q", text)
			}
			if err != nil && !strings.Contains(err.Error(), c.path) {
				t.Errorf("the error %q does not name %s", err, c.path)
			}
			if at := (*fs.PathError)(nil); err != nil && !errors.As(err, &at) {
				t.Errorf("the error %q is no PathError", err)
			}
		})
	}
}

func TestAnotherUsersFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 4711, 4711); err != nil {
		t.Skip("no file of another user can be made:", err)
	}
	if _, err := Read(path, 1, 0); err != nil {
		t.Errorf("whosoever it is may be read: %v", err)
	}
	if _, err := Read(path, 1, Mine); !errors.Is(err, ErrRefused) {
		t.Errorf("error %v, want it refused", err)
	}
}

// What is larger by the time it is read than when it was opened is not taken for whole.
func TestWhatGrowsIsTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, fi, err := Open(path, os.O_RDWR, Mine|OneName)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fi.Size() != 4 {
		t.Errorf("it has %d bytes", fi.Size())
	}
	if err := os.WriteFile(path, []byte("123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := All(f, 4); !errors.Is(err, ErrLarge) || string(text) != "12345" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := All(iotest.ErrReader(os.ErrClosed), 4); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v, want that of the reader", err)
	}
}

// A file that was opened below an os.Root is looked at in the same way.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := root.OpenFile("pipe", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Check(f, 0); !errors.Is(err, ErrRefused) {
		t.Errorf("error %v, want it refused", err)
	}
}
