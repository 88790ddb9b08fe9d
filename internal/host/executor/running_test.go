package executor

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Which host works is written to a file of its own: a link in its place leads nowhere, and a pipe is not waited for.
func TestRunningIsAFile(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, hostFile), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if _, ok := FindRunning(dir); ok {
		t.Error("a link says that a host works")
	}
	if err := sayRunning(dir, "1"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "mine" {
		t.Errorf("the link was followed: %q, %v", text, err)
	}
	if r, ok := FindRunning(dir); !ok || r.PID != os.Getpid() || r.Version != "1" {
		t.Errorf("%+v, %t", r, ok)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := FindRunning(dir); ok {
		t.Error("a pipe says that a host works")
	}
}
