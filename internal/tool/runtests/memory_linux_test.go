package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInMemory: programs that are started find the temporary files in memory, nobody else sees them,
// and nothing is left.
func TestInMemory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root mounts file systems")
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GOTMPDIR", "")
	if _, err := inMemory(); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("somebody said where they are: %v", err)
	}
	if err := os.Unsetenv("TMPDIR"); err != nil {
		t.Fatal(err)
	}
	end, err := inMemory()
	if err != nil {
		t.Skipf("not on this machine: %v", err)
	}
	dir := os.Getenv("TMPDIR")
	out, err := exec.Command("sh", "-c", `stat -f -c %T "$TMPDIR" && touch "$TMPDIR/here" && ls "$TMPDIR"`).CombinedOutput()
	if err != nil || string(out) != "tmpfs\nhere\n" {
		t.Errorf("a program sees %q, %v", out, err)
	}
	if os.Getenv("GOTMPDIR") != filepath.Dir(dir) {
		t.Errorf("what is built goes to %s", os.Getenv("GOTMPDIR"))
	}
	// What this test itself is part of may have its files there.
	here := func() bool { _, err := os.Lstat(filepath.Join(dir, "here")); return err == nil }
	elsewhere := make(chan bool)
	go func() { elsewhere <- here() }() // on a thread that is not this one
	if <-elsewhere {
		t.Error("others see it")
	}
	end()
	if _, err := os.Lstat(dir); err != nil || here() {
		t.Errorf("it is left, or the directory is gone: %v", err)
	}
}
