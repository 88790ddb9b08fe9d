package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A shell names the directory by the link that led there, the agent does not.
func TestWorkDirHasNoLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link)
	if wd, err := os.Getwd(); err != nil || wd != link {
		t.Fatalf("the test stands in %s, %v", wd, err)
	}
	if got := workDir(); got != dir {
		t.Errorf("%s, want %s", got, dir)
	}
}
