package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestHostID(t *testing.T) {
	dir, other, boot := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "boot_id")
	id := func(dir string) string {
		t.Helper()
		id, err := HostID(dir, boot)
		if err != nil || len(id) != 16 {
			t.Fatalf("%q, %v", id, err)
		}
		return id
	}
	// Without a word of the kernel's: random, and kept.
	first := id(dir)
	if id(dir) != first || id(other) == first {
		t.Errorf("%s, then %s, and elsewhere %s", first, id(dir), id(other))
	}
	// With it: one for all brokers of the machine, until it starts anew.
	if err := os.WriteFile(boot, []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := id(dir)
	if id(other) != now || now == first {
		t.Errorf("two brokers of one machine have %s and %s", now, id(other))
	}
	if err := os.WriteFile(boot, []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id(dir) == now {
		t.Error("another start of the machine has the same id")
	}
	if _, err := HostID(filepath.Join(dir, "nowhere"), "/nowhere"); err == nil {
		t.Error("an id that cannot be kept is given out")
	}
}

func TestID(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "host-id")
	for name, put := range map[string]func() error{
		"a pipe":      func() error { return syscall.Mkfifo(path, 0o600) },
		"without end": func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
		"a directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, err := ID(path, 16, "this host"); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	id, err := ID(filepath.Join(dir, "host-id"), 16, "this host")
	if again, err2 := ID(filepath.Join(dir, "host-id"), 16, "this host"); err != nil || err2 != nil || len(id) != 16 || again != id {
		t.Errorf("%q, %v, %q, %v", id, err, again, err2)
	}
}

func TestMake(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   os.FileMode
		uid    int
		want   string // part of the error
		shared bool
	}{
		{"ours", 0o700, -1, "", false},
		{"open to read", 0o755, -1, "", false},
		{"everybody's", 0o777, -1, "everybody can write", true},
		{"like tmp", 0o777 | os.ModeSticky, -1, "", true},
		{"another's", 0o755, 12345, "belongs to another user", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b")
			if err := Make(dir); err != nil {
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
			if err := Make(dir); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if Shared(dir) != c.shared {
				t.Errorf("shared: %v", !c.shared)
			}
		})
	}
	if Shared(filepath.Join(t.TempDir(), "none")) {
		t.Error("what is not there is shared")
	}
}
