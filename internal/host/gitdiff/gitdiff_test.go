package gitdiff

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/api"
)

// sh runs a script of a shell in dir, with a git that knows nobody's configuration.
func sh(t *testing.T, dir, script string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestWhatChangedInAWorkTree(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(t.Context(), "git", dir, ""); !errors.Is(err, ErrNoRepository) {
		t.Errorf("of no repository: %v", err)
	}
	sh(t, dir, `git init -qb main
printf 'a\nb\nc\n' > kept; printf 'x\n' > gone; printf 'secret\n' > hidden; printf '*.log\n' > .gitignore
git add . && git commit -qm one
git worktree add -q -b work .claude/worktrees/w
cd .claude/worktrees/w
printf 'a\nB\nc\n' > kept; git commit -qam two
rm gone; printf 'new\n' > "$(printf 'gr\303\274n')"; printf 'l\n' > x.log; printf 'a\0b' > image
printf 'changed\n' > hidden; git update-index --assume-unchanged hidden
printf 'hidden -diff\n* filter=evil diff=evil\n' > .gitattributes
git config core.fsmonitor "touch $PWD/ran; false"
git config filter.evil.clean "touch $PWD/ran; cat"
git config diff.evil.command "touch $PWD/ran"
git config diff.evil.textconv "touch $PWD/ran; cat"`)
	tree := filepath.Join(dir, ".claude/worktrees/w")
	_ = os.Remove(filepath.Join(tree, "ran")) // the configuration itself may have been tried
	d, err := Read(t.Context(), "git", tree, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]api.AgentChangedFile{
		"kept":           {Status: "modified", Added: 1, Removed: 1},
		"gone":           {Status: "deleted", Removed: 1},
		"hidden":         {Status: "modified", Added: 1, Removed: 1},
		"grün":           {Status: "added", Added: 1},
		"image":          {Status: "added", Binary: true},
		".gitattributes": {Status: "added", Added: 2},
	}
	for _, f := range d.Files {
		w := want[f.Path]
		if w.Path = f.Path; f != w {
			t.Errorf("%+v, want %+v", f, w)
		}
		delete(want, f.Path)
	}
	if len(want) > 0 || d.Branch != "work" || d.Commits != 1 || d.Truncated || !strings.Contains(d.Diff, "\n-b\n+B\n") || !strings.Contains(d.Diff, "\n-secret\n+changed\n") {
		t.Errorf("missing %v; %+v", want, d)
	}
	if _, err := os.Stat(filepath.Join(tree, "ran")); err == nil {
		t.Error("what the repository's configuration names was run")
	}
	// The main work tree has not changed, and the other one is not part of it.
	if d, err := Read(t.Context(), "git", dir, ""); err != nil || len(d.Files) > 0 || d.Diff != "" || d.Commits != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestMoreThanIsTold(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "git init -q") // without a commit
	for name, text := range map[string]string{"a": strings.Repeat("line\n", api.MaxAgentDiff/5+1), "b": "x\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Read(t.Context(), "git", dir, dir)
	if err != nil || !d.Truncated || len(d.Files) != 2 || len(d.Diff) > api.MaxAgentDiff || !strings.HasSuffix(d.Diff, "+line\n") {
		t.Errorf("%d files, %d bytes, truncated %v, %v", len(d.Files), len(d.Diff), d.Truncated, err)
	}
}
