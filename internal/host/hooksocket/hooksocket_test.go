package hooksocket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func listen(t *testing.T, path string) *Socket {
	t.Helper()
	s, err := Listen("--socket", path, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d", "hook.sock")
	s := listen(t, path)
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if err := s.There(); err != nil {
		t.Error(err)
	}
	if _, err := Listen("--socket", path, ""); err == nil || !strings.Contains(err.Error(), "another broker answers") {
		t.Errorf("one that answers: %v", err)
	}
	// What a killed broker left is replaced, and not taken away by who had it.
	s.Close()
	again := listen(t, path)
	if err := s.There(); err == nil || !strings.Contains(err.Error(), "not this broker's socket") {
		t.Errorf("there: %v", err)
	}
	again.Remove()
	if err := again.There(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there after it was removed: %v", err)
	}
	third := listen(t, path)
	again.Remove() // once
	if err := third.There(); err != nil {
		t.Errorf("another's was removed: %v", err)
	}
}

func TestListenRefuses(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, fifo} {
		if _, err := Listen("--hookd-socket", path, ""); err == nil || !strings.Contains(err.Error(), "is no socket; choose another --hookd-socket") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Listen("--socket", filepath.Join(dir, strings.Repeat("x", 200)), ""); err == nil || !strings.Contains(err.Error(), "103 bytes") {
		t.Errorf("too long: %v", err)
	}
	path := filepath.Join(dir, "s")
	var group *GroupError
	if _, err := Listen("--socket", path, "no such group"); !errors.As(err, &group) || !strings.Contains(err.Error(), "--socket-group: ") {
		t.Errorf("no group: %v", err)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		t.Error("it listens for nobody")
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
