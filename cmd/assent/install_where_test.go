package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A name on PATH that lies in a repository is the repository's: it can lead elsewhere tomorrow.
func TestNoNameInsideOfARepository(t *testing.T) {
	repo, home := t.TempDir(), t.TempDir()
	program := filepath.Join(home, "v1", "assent-hook")
	for _, dir := range []string{filepath.Join(repo, ".git", "objects"), filepath.Join(repo, ".git", "refs"), filepath.Join(repo, "bin"), filepath.Join(repo, "sub"), filepath.Join(home, "v1"), filepath.Join(home, "bin")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(repo, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{repo, home} {
		if err := os.Symlink(program, filepath.Join(dir, "bin", "assent-hook")); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Chdir(filepath.Join(repo, "sub"))
	for path, want := range map[string]string{
		filepath.Join(home, "bin"): filepath.Join(home, "bin", "assent-hook"),
		filepath.Join(repo, "bin"): program,
	} {
		t.Setenv("PATH", path)
		if got := stable(program); got != want {
			t.Errorf("PATH=%s: %s, want %s", path, got, want)
		}
	}
}
