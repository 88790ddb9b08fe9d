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

// project is a repository with one commit, in a directory with a home and a search path of its own.
type project struct {
	t              *testing.T
	dir, home, bin string
	path           string // of the work tree
	h              *Host
}

func newProject(t *testing.T) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir, home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin"), path: filepath.Join(dir, "p")}
	for _, name := range []string{p.home, p.bin, p.path} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", p.bin+":"+os.Getenv("PATH"))
	p.h = &Host{cfg: Config{Home: p.home, Environ: []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}}}
	p.put(filepath.Join(p.path, "a.go"), "package a\n")
	p.git(p.path, "init", "-q")
	p.git(p.path, "add", ".")
	p.git(p.path, "commit", "-q", "-m", "x")
	return p
}

func (p *project) git(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.net", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = p.h.cfg.Environ
	text, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %q: %v: %s", args, err, text)
	}
	return strings.TrimSpace(string(text))
}

func (p *project) put(path, text string) {
	p.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		p.t.Fatal(err)
	}
}

// Hooks that stand in the repository's configuration, as later versions of git run them, do not run: this one stands for those,
// and runs what the configuration that it is given names whenever it changes branches or files.
func TestTreeRunsNoHookOfTheConfiguration(t *testing.T) {
	p := newProject(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(p.dir, "ran")
	p.git(p.path, "config", "hook.any-name.event", "reference-transaction")
	p.git(p.path, "config", "hook.any-name.command", "touch "+ran)
	p.put(filepath.Join(p.bin, "git"), `#!/bin/sh
case " $* " in *" worktree "*|*" update-ref "*|*" branch "*|*" symbolic-ref "*|*" read-tree "*|*" checkout "*)
	`+real+` -C "$2" config --get-regexp '^hook\..*\.command$' | while read -r name command; do sh -c "$command"; done
esac
exec `+real+` "$@"
`)
	if err := p.h.tree(t.Context(), p.path, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook of the configuration's ran")
	}
	tree := optin.Tree(p.path, "one")
	if is := p.git(tree, "status", "--porcelain", "--branch"); is != "## worktree-one" {
		t.Errorf("git says of it %q", is)
	}
	if list := p.git(p.path, "worktree", "list", "--porcelain"); !strings.Contains(list, "worktree "+tree+"\n") || !strings.Contains(list, "branch refs/heads/worktree-one") || strings.Contains(list, "prunable") {
		t.Errorf("git has these work trees: %s", list)
	}
	p.git(tree, "commit", "-q", "--allow-empty", "-m", "on its branch")
	branch := p.git(p.path, "rev-parse", "worktree-one")
	// Removed, also as git does it, it is made again on the branch that it had.
	for _, remove := range []func() error{
		func() error { return os.RemoveAll(tree) },
		func() error { p.git(p.path, "worktree", "remove", "--force", tree); return nil },
		func() error { p.git(p.path, "pack-refs", "--all"); return os.RemoveAll(tree) },
	} {
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if err := p.h.tree(t.Context(), p.path, "one"); err != nil {
			t.Fatal(err)
		}
		if is := p.git(tree, "rev-parse", "HEAD"); is != branch || p.git(tree, "status", "--porcelain") != "" {
			t.Errorf("it is at %s, and its branch at %s", is, branch)
		}
	}
	// What stands there of another work tree is not taken away.
	if err := os.Rename(tree, tree+"x"); err != nil {
		t.Fatal(err)
	}
	p.git(p.path, "worktree", "repair", tree+"x")
	if err := p.h.tree(t.Context(), p.path, "one"); err == nil || !strings.Contains(err.Error(), "of another work tree") {
		t.Errorf("another work tree of that name: %v", err)
	}
}

// A repository of which little is checked out has as little in its sessions' work trees.
func TestTreeIsAsSparseAsTheProject(t *testing.T) {
	p := newProject(t)
	p.put(filepath.Join(p.path, "large", "b"), "b\n")
	p.git(p.path, "add", ".")
	p.git(p.path, "commit", "-q", "-m", "large")
	p.git(p.path, "config", "core.sparseCheckout", "true")
	p.put(filepath.Join(p.path, ".git", "info", "sparse-checkout"), "/*\n!/large/\n")
	if err := p.h.tree(t.Context(), p.path, "one"); err != nil {
		t.Fatal(err)
	}
	tree := optin.Tree(p.path, "one")
	if _, err := os.Stat(filepath.Join(tree, "a.go")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(tree, "large")); err == nil {
		t.Error("it has all files")
	}
	if is := p.git(tree, "status", "--porcelain"); is != "" {
		t.Errorf("git says of it %q", is)
	}
}

// A submodule has a configuration of its own, and with it programs. It is left alone, whatever the user has git do.
func TestTreeLeavesSubmodulesAlone(t *testing.T) {
	p := newProject(t)
	other := filepath.Join(p.dir, "other")
	p.put(filepath.Join(other, "s.go"), "package s\n")
	p.git(other, "init", "-q")
	p.git(other, "add", ".")
	p.git(other, "commit", "-q", "-m", "x")
	p.git(p.path, "submodule", "--quiet", "add", other, "sub")
	p.git(p.path, "commit", "-q", "-m", "with a submodule")
	p.put(filepath.Join(p.home, ".gitconfig"), "[submodule]\n\trecurse = true\n\tactive = .\n")
	if err := p.h.tree(t.Context(), p.path, "one"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(optin.Tree(p.path, "one"), "sub")); err != nil || len(left) > 0 {
		t.Errorf("the submodule's directory holds %v, %v", left, err)
	}
}

// Where git lfs would have a file from says a file in the repository, and so whoever wrote that: it is asked nowhere.
func TestTreeAsksNoServerForLargeFiles(t *testing.T) {
	p := newProject(t)
	p.put(filepath.Join(p.path, "b.bin"), "pointer\n")
	p.put(filepath.Join(p.path, ".gitattributes"), "b.bin filter=lfs -text\n")
	p.put(filepath.Join(p.path, ".lfsconfig"), "[lfs]\n\turl = https://example.net/lfs\n")
	p.git(p.path, "add", ".")
	p.git(p.path, "commit", "-q", "-m", "large files")
	p.git(p.path, "config", "lfs.url", "https://example.net/lfs")
	p.put(filepath.Join(p.home, ".gitconfig"), "[filter \"lfs\"]\n\tsmudge = git-lfs smudge -- %f\n")
	p.put(filepath.Join(p.bin, "git-lfs"), "#!/bin/sh\necho $(git config lfs.url) $(cat)\n") // a setting of git's stands above .lfsconfig
	if err := p.h.tree(t.Context(), p.path, "one"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(optin.Tree(p.path, "one"), "b.bin")); err != nil || string(text) != noLFS+" pointer\n" {
		t.Errorf("%q, %v", text, err)
	}
}
