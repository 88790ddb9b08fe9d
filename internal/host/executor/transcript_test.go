package executor

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What stands where the client keeps a session, and is no file, is not waited for: an agent can make it.
func TestTranscriptIsAFile(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-srv-shop")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, one+".jsonl")
	s := &session{h: &Host{cfg: Config{Home: home}}, meta: meta{Session: one}}
	is := func(what string, arrived, known bool) {
		t.Helper()
		if a, k := s.arrived(two); a != arrived || k != known {
			t.Errorf("%s: arrived %t, known %t", what, a, k)
		}
	}
	is("none", false, true)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	is("a pipe", false, false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	is("a link", false, false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"uuid":"`+two+`"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	is("the prompt in it", true, true)
}
