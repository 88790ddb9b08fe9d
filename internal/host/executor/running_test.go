package executor

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"assent/internal/host/optin"
	"assent/internal/host/process"
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

// A lock whose file was removed keeps nobody away: the host that holds it makes it anew, and ends where another one was quicker;
// that one does not begin where it sees the first.
func TestSecondHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("hosts are for Linux")
	}
	home := t.TempDir()
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: filepath.Join(home, "agents"), Home: home, Logf: t.Logf, File: func() (optin.File, error) { return optin.File{}, nil }}
	h, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(cfg.Dir, "lock")
	second := func(name string) {
		t.Helper()
		if other, err := Open(cfg); !errors.Is(err, ErrRuns) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				_ = other.Close()
			}
		}
	}
	second("the lock stands")
	now := time.Now()
	if err := errors.Join(os.Remove(lock), h.keepsLock(now)); err != nil {
		t.Fatal(err)
	}
	second("the lock was removed, and made anew")
	// As a second one that did not see the first.
	thief := flock.New(lock)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if ok, err := thief.TryLock(); !ok {
		t.Fatal(err)
	}
	if err := h.keepsLock(now.Add(lookEvery)); !errors.Is(err, ErrRuns) {
		t.Errorf("another host has the directory: %v", err)
	}
	if err := errors.Join(thief.Unlock(), h.Close()); err != nil {
		t.Fatal(err)
	}
	// Nor does one begin beside a process that says that it is the host, whoever has the lock.
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	text, err := json.Marshal(Running{PID: cmd.Process.Pid, ID: process.ID(cmd.Process.Pid)})
	if err == nil {
		err = os.WriteFile(filepath.Join(cfg.Dir, hostFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	second("another process is the host")
	if err := os.Remove(filepath.Join(cfg.Dir, hostFile)); err != nil {
		t.Fatal(err)
	}
	if h, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := FindRunning(cfg.Dir); ok {
		t.Error("a host that has ended is said to run")
	}
}
