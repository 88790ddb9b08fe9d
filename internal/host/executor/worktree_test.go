package executor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/host/optin"
)

// A work tree is made of what is checked out, without git's hooks, and one that brings what nobody accepted is not
// used, also where the project itself does not bring it.
func TestTree(t *testing.T) {
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", project, "-c", "user.name=x", "-c", "user.email=x@example.net"}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, text)
		}
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	settings := filepath.Join(project, ".claude", "settings.json")
	h := &Host{cfg: Config{Home: filepath.Join(project, "home"), Environ: append(os.Environ(), "GIT_DIR=/nowhere")}}
	put(filepath.Join(project, "a.go"), "package a\n")
	if err := h.tree(t.Context(), project, "none"); err == nil || !strings.Contains(err.Error(), "git worktree") {
		t.Errorf("without a repository: %v", err)
	}
	git("init", "-q")
	if err := h.tree(t.Context(), project, "none"); !errors.Is(err, errNoCommit) {
		t.Errorf("without a commit: %v", err)
	}
	put(filepath.Join(project, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+project+"/ran\n")
	put(settings, `{"hooks":{}}`)
	git("add", ".")
	git("commit", "-q", "-m", "with settings")
	if err := h.tree(t.Context(), project, "one"); err != nil {
		t.Errorf("as it was accepted: %v", err)
	}
	tree := optin.Tree(project, "one")
	if _, err := os.Stat(filepath.Join(tree, "a.go")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(project, "ran")); err == nil {
		t.Error("a hook of git's ran")
	}
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	if err := h.tree(t.Context(), project, "one"); err != nil {
		t.Errorf("a tree that was removed: %v", err)
	}
	if err := os.Remove(settings); err != nil { // the commit still has it
		t.Fatal(err)
	}
	if err := h.tree(t.Context(), project, "two"); err == nil || !strings.Contains(err.Error(), "not as it was accepted") {
		t.Errorf("settings that only the commit has: %v", err)
	}
}
