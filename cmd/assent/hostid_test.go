package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHostID(t *testing.T) {
	dir, other, boot := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "boot_id")
	id := func(dir string) string {
		t.Helper()
		id, err := hostID(dir, boot)
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
	if _, err := hostID(filepath.Join(dir, "nowhere"), "/nowhere"); err == nil {
		t.Error("an id that cannot be kept is given out")
	}
}
