package executor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/host/gitrepo"
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
	if err := h.tree(t.Context(), project, "none"); err == nil || !strings.Contains(err.Error(), "git rev-parse") {
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
	elsewhere := t.TempDir()
	trees := filepath.Dir(tree)
	if err := errors.Join(os.Rename(trees, trees+"x"), os.Symlink(elsewhere, trees)); err != nil {
		t.Fatal(err)
	}
	if err := h.tree(t.Context(), project, "three"); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("a link to another place: %v", err)
	}
	if made, err := os.ReadDir(elsewhere); err != nil || len(made) > 0 {
		t.Errorf("it was made in another place: %v, %v", made, err)
	}
	if err := errors.Join(os.Remove(trees), os.Rename(trees+"x", trees)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(settings); err != nil { // the commit still has it
		t.Fatal(err)
	}
	if err := h.tree(t.Context(), project, "two"); err == nil || !strings.Contains(err.Error(), "not as it was accepted") {
		t.Errorf("settings that only the commit has: %v", err)
	}
}

// Nothing that stands in the repository's own configuration runs when a work tree is made: an agent may have written it,
// as one that works there, and nobody is asked about what the host does. What git lfs writes there is no stranger.
func TestTreeRunsNothing(t *testing.T) {
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(project, "ran")
	h := &Host{cfg: Config{Home: filepath.Join(project, "home"), Environ: os.Environ()}}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", project, "-c", "user.name=x", "-c", "user.email=x@example.net"}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, text)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	put("a.go", "package a\n")
	put("b.go", "package b\n")
	put(".gitattributes", "a.go filter=x.y=z\nb.go filter=p\n")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	touch := "touch '" + ran + "'; cat"
	included := filepath.Join(project, "included")
	put("included", "[filter \"x.y=z\"]\n\tsmudge = \""+touch+"\"\n\trequired = true\n[filter \"p\"]\n\tprocess = \""+touch+"\"\n\trequired\n")
	git("config", "include.path", included)
	git("config", "core.fsmonitor", touch)
	git("config", "core.hooksPath", "hooks")
	if err := os.Mkdir(filepath.Join(project, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		put(filepath.Join("hooks", name), "#!/bin/sh\n"+touch+"\n")
	}
	if err := h.tree(t.Context(), project, "one"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a.go": "package a\n", "b.go": "package b\n"} {
		if text, err := os.ReadFile(filepath.Join(optin.Tree(project, "one"), name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("what the repository's configuration says ran")
	}
	// However much stands there, the host holds little of it.
	put(filepath.Join(".git", "config"), "[filter \"x\"]\n\tsmudge = "+strings.Repeat("x", 2*maxSaid)+"\n")
	if _, err := h.harmless(t.Context(), project); err == nil || !strings.Contains(err.Error(), "printed more than") {
		t.Errorf("a configuration without end: %.300v", err)
	}
	for value, want := range map[string]bool{"git-lfs smudge -- %f": true, "git-lfs filter-process": true, "git-lfs clean -- %f": false, "git-lfs smudge -- %f; touch x": false, "": false} {
		if lfs(value) != want {
			t.Errorf("%q: %t", value, !want)
		}
	}
}

// What the configuration names is not run either where it comes to stand there between the look at it and the checkout, or in
// the file of attributes beside it. What git lfs writes there runs, and has the repository's files.
func TestTreeIsFilledWithoutTheConfiguration(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, bin := filepath.Join(dir, "p"), filepath.Join(dir, "bin")
	put := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", project, "-c", "user.name=x", "-c", "user.email=x@example.net"}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, text)
		}
	}
	put(filepath.Join(project, "a.go"), "package a\n")
	put(filepath.Join(project, "b.bin"), "pointer\n")
	put(filepath.Join(project, ".gitattributes"), "b.bin filter=lfs -text\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	git("config", "filter.lfs.smudge", "git-lfs smudge -- %f")
	git("config", "filter.lfs.required", "true")
	git("config", "core.autocrlf", "true")
	put(filepath.Join(bin, "git-lfs"), "#!/bin/sh\necho $(git config lfs.storage) $(git config lfs.standalonetransferagent) $(cat)\n")
	git("config", "lfs.standalonetransferagent", "evil")
	ran := filepath.Join(dir, "ran")
	// git itself stands for who is quick: after the settings were read, the last step but one, others stand there.
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(bin, "git"), `#!/bin/sh
case " $* " in *" read-tree "*|*" worktree add "*)
	`+real+` -C `+project+` config filter.x.smudge 'touch `+ran+`; cat'
	`+real+` -C `+project+` config filter.x.process 'touch `+ran+`; cat'
	mkdir -p `+project+`/.git/info && echo 'a.go filter=x' > `+project+`/.git/info/attributes
esac
exec `+real+` "$@"
`)
	h := &Host{cfg: Config{Home: filepath.Join(dir, "home"), Environ: []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + bin + ":" + os.Getenv("PATH")}}}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := h.tree(t.Context(), project, "one"); err != nil {
		t.Fatal(err)
	}
	tree := optin.Tree(project, "one")
	for name, want := range map[string]string{"a.go": "package a\r\n", "b.bin": filepath.Join(project, ".git", "lfs") + " pointer\n"} {
		if text, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v; want %q", name, text, err, want)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("what came to stand in the configuration ran")
	}
	// Killed before it was checked out: the next look does that.
	own := gitrepo.OwnDir(tree)
	if err := errors.Join(os.Remove(filepath.Join(own, "index")), os.Remove(filepath.Join(tree, "a.go"))); err != nil {
		t.Fatal(err)
	}
	if err := h.tree(t.Context(), project, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tree, "a.go")); err != nil {
		t.Error(err)
	}
}

// Two sessions whose ids begin alike have a work tree each, also where nobody knows of the one that has the shorter name.
func TestSessionsShareNoTree(t *testing.T) {
	project := t.TempDir()
	agent := optin.Agent{Name: "coder", Project: project, Worktree: true}
	h := &Host{sessions: map[string]*session{}, cfg: Config{Dir: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) { return optin.File{Agents: []optin.Agent{agent}}, nil }}}
	trees := map[string]string{}
	for _, id := range []string{one, one[:8] + two[8:], two} {
		if id == two {
			if err := os.MkdirAll(optin.Tree(project, "assent-"+id[:8]), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		s, err := h.make(Order{ID: id, Session: id, Agent: "coder", Kind: hook.MessagePrompt})
		if err != nil {
			t.Fatal(err)
		}
		defer s.journal.close()
		if other := trees[s.meta.Worktree]; other != "" {
			t.Errorf("%s and %s are both in %s", other, id, s.meta.Worktree)
		}
		trees[s.meta.Worktree] = id
		again, err := openSession(h, id) // as the next host does
		if err != nil {
			t.Fatal(err)
		}
		again.journal.close()
	}
	if trees["assent-"+one[:8]] != one || trees["assent-"+two] != two {
		t.Errorf("%v", trees)
	}
}
