package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestResolve says which assent a tree is: by tag, by commit, by flags, and what is refused.
func TestResolve(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.net"}, args...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05+02:00", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	ctx := context.Background()
	fails := func(s source, why string) {
		t.Helper()
		if err := s.resolve(ctx, dir); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v, want %q", s, err, why)
		}
	}
	fails(source{}, "say -version, -commit and -date")
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte("# Changelog\n\n## 1.2.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(source{}, "commit or stash first")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	head := git("rev-parse", "HEAD")

	s := source{}
	if err := s.resolve(ctx, dir); err != nil || s.version != "0.0.0-dev.20260102010405.g"+head[:7] || s.commit != head || s.date != "2026-01-02T01:04:05Z" {
		t.Errorf("without a tag: %+v %v", s, err)
	}
	git("tag", "v1.2.3")
	s = source{}
	if err := s.resolve(ctx, dir); err != nil || s.version != "1.2.3" {
		t.Errorf("with a tag: %+v %v", s, err)
	}
	s = source{version: "2.0.0-rc.1", commit: strings.Repeat("a", 40), date: "0"}
	if err := s.resolve(ctx, t.TempDir()); err != nil || s.date != "1970-01-01T00:00:00Z" {
		t.Errorf("told all: %+v %v", s, err)
	}
	for _, version := range []string{"v1.2.3", "1.2", "1.2.3+x", "1.2.3-", "1.2.3 -X main.x", "1.2.3-$(id)", "01.2.3"} {
		fails(source{version: version, commit: head, date: "0"}, "is not like 1.2.3")
	}
	fails(source{version: "1.2.3", commit: "HEAD", date: "0"}, "no hash")
	fails(source{version: "1.2.3", commit: head, date: "yesterday"}, "neither")

	if err := noted(dir, "1.2.3"); err != nil {
		t.Error(err)
	}
	if err := noted(dir, "1.2.4-rc.1"); err != nil {
		t.Error(err)
	}
	if err := noted(dir, "1.2.4"); err == nil {
		t.Error("a release of which the changelog says nothing")
	}
}

// TestPageParts: whatever the page imports is in the bill of materials, with a license.
func TestPageParts(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../../web/src", func(path string, _ os.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".ts" && ext != ".tsx" || strings.Contains(path, ".test.") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?:from|import\(|import) ?"((?:@[\w-]+/)?[\w-]+)[\w/-]*"`).FindAllStringSubmatch(string(text), -1) {
			if found++; pageParts[m[1]] == "" {
				t.Errorf("%s imports %s, which is in no bill of materials", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d imports, %v", found, err)
	}
	for name := range pageParts {
		if text, err := licenses.ReadFile("licenses/" + npmFile(name) + ".txt"); err != nil || len(text) < 500 {
			t.Errorf("license of %s: %v", name, err)
		}
	}
}

// TestWriteKeepsStrangers: a directory that holds no release is not emptied.
func TestWriteKeepsStrangers(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "theirs")
	if err := os.WriteFile(theirs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, map[string][]byte{"a": nil}); err == nil {
		t.Error("was written over")
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	out := filepath.Join(dir, "dist")
	for _, name := range []string{"a", "b"} {
		if err := write(out, map[string][]byte{name: nil, "SHA256SUMS": nil}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "a")); !os.IsNotExist(err) {
		t.Error("the older release is still there")
	}
}
