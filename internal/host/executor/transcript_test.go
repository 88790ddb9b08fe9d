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
	is := func(what string, arrived, known bool) {
		t.Helper()
		if a, k := inTranscript(home, one, two); a != arrived || k != known {
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

// What an agent can make as large as it likes is not read to its end: whether the prompt arrived is not known then.
func TestTranscriptsAreBounded(t *testing.T) {
	home := t.TempDir()
	for _, project := range []string{"-srv-shop", "-srv-other"} {
		dir := filepath.Join(home, ".claude", "projects", project)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, one+".jsonl")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 1<<40); err != nil { // of which nothing is on the disk
			t.Skip(err)
		}
	}
	if arrived, known := inTranscript(home, one, two); arrived || known {
		t.Errorf("arrived %t, known %t", arrived, known)
	}
	if _, err := names(filepath.Join(home, ".claude", "projects"), 1); err == nil {
		t.Error("more names than are looked at are no error")
	}
	if err := syscall.Mkfifo(filepath.Join(home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := names(filepath.Join(home, "pipe"), 1); err == nil {
		t.Error("a pipe is a directory")
	}
}
