package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/internal/hook"
)

const (
	sha1a  = "1111111111111111111111111111111111111111"
	sha1b  = "2222222222222222222222222222222222222222"
	sha256 = "3333333333333333333333333333333333333333333333333333333333333333"
)

// tree writes files below a new directory; a content of "-> x" makes a symbolic link. What else git
// wants in a .git is there.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if before, _, ok := strings.Cut(p, "/.git/"); ok {
			for _, dir := range []string{"objects", "refs"} {
				if err := os.MkdirAll(filepath.Join(before, ".git", dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, p)
		} else {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindHandMade(t *testing.T) {
	const conf = "[remote \"origin\"]\n\turl = https://example.com/r.git\n"
	cases := []struct {
		name  string
		files map[string]string
		dir   string
		want  hook.Repo // Root relative to the tree
	}{
		{"none", map[string]string{"x": ""}, "", hook.Repo{}},
		{"loose ref", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": sha1a + "\n", ".git/config": conf},
			"", hook.Repo{Root: ".", Branch: "main", Head: sha1a, Remote: "https://example.com/r.git"}},
		{"below", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": sha1a, "a/b/c/x": ""},
			"a/b/c", hook.Repo{Root: ".", Branch: "main", Head: sha1a}},
		{"slash in branch, packed", map[string]string{".git/HEAD": "ref: refs/heads/a/b\n",
			".git/packed-refs": "# pack-refs with: peeled\n" + sha1b + " refs/heads/a\n" + sha1b + " refs/heads/x/refs/heads/a/b\n" + sha1a + " refs/heads/a/b\n^" + sha1b + "\n"},
			"", hook.Repo{Root: ".", Branch: "a/b", Head: sha1a}},
		{"packed without a last line end", map[string]string{".git/HEAD": "ref: refs/heads/m", ".git/packed-refs": sha256 + " refs/heads/m"},
			"", hook.Repo{Root: ".", Branch: "m", Head: sha256}},
		{"loose wins over packed", map[string]string{".git/HEAD": "ref: refs/heads/m", ".git/refs/heads/m": sha1a, ".git/packed-refs": sha1b + " refs/heads/m\n"},
			"", hook.Repo{Root: ".", Branch: "m", Head: sha1a}},
		{"detached", map[string]string{".git/HEAD": sha1a + "\n"}, "", hook.Repo{Root: ".", Head: sha1a}},
		{"no commit", map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, "", hook.Repo{Root: ".", Branch: "main"}},
		{"symbolic branch", map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "ref: refs/heads/b", ".git/refs/heads/b": sha1a},
			"", hook.Repo{Root: ".", Branch: "a", Head: sha1a}},
		{"symbolic loop", map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "ref: refs/heads/a"},
			"", hook.Repo{Root: ".", Branch: "a"}},
		{"worktree", map[string]string{"w/.git": "gitdir: ../m/.git/worktrees/w\n", "m/.git/worktrees/w/HEAD": "ref: refs/heads/w\n",
			"m/.git/worktrees/w/commondir": "../..\n", "m/.git/refs/heads/w": sha1a, "m/.git/config": conf},
			"w", hook.Repo{Root: "w", Branch: "w", Head: sha1a, Remote: "https://example.com/r.git"}},
		{"reftable", map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n"}, "", hook.Repo{Root: "."}},
		{"empty .git is passed by", map[string]string{".git/HEAD": sha1a, "a/.git/x": ""}, "a", hook.Repo{Root: ".", Head: sha1a}},

		{"ref leads out", map[string]string{".git/HEAD": "ref: refs/../../secret\n", "secret": sha1a}, "", hook.Repo{Root: "."}},
		{"ref is absolute", map[string]string{".git/HEAD": "ref: /etc/hostname\n"}, "", hook.Repo{Root: "."}},
		{"head is a story", map[string]string{".git/HEAD": "-> ../secret", "secret": "my password\n"}, "", hook.Repo{Root: "."}},
		{"head is endless", map[string]string{".git/HEAD": "-> /dev/zero"}, "", hook.Repo{Root: "."}},
		{"head is a directory", map[string]string{".git/HEAD/x": ""}, "", hook.Repo{Root: "."}},
		{"head is huge", map[string]string{".git/HEAD": sha1a + "\n" + strings.Repeat("x", maxSmall)}, "", hook.Repo{Root: "."}},
		{"gitdir to itself", map[string]string{".git": "gitdir: .git\n"}, "", hook.Repo{}},
		{"gitdir with NUL", map[string]string{".git": "gitdir: a\x00b\n"}, "", hook.Repo{}},
		{"config is a device", map[string]string{".git/HEAD": sha1a, ".git/config": "-> /dev/zero"}, "", hook.Repo{Root: ".", Head: sha1a}},
		{"packed line without end", map[string]string{".git/HEAD": "ref: refs/heads/m", ".git/packed-refs": strings.Repeat("x", 3*packedBuf) + "\n" + sha1a + " refs/heads/m\n"},
			"", hook.Repo{Root: ".", Branch: "m"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.files)
			want := c.want
			if want.Root != "" {
				want.Root = filepath.Join(root, want.Root)
			}
			if got := Find(filepath.Join(root, c.dir)); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// A FIFO must neither block the open nor the read.
func TestFindFIFO(t *testing.T) {
	root := tree(t, map[string]string{".git/HEAD": "ref: refs/heads/m"})
	for _, name := range []string{"packed-refs", "config"} {
		if err := syscall.Mkfifo(filepath.Join(root, ".git", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := Find(root), (hook.Repo{Root: root, Branch: "m"}); got != want {
		t.Errorf("got %+v want %+v", got, want)
	}
}

// The ref stands beyond the first buffer, and once across its end.
func TestPackedLong(t *testing.T) {
	line := sha1b + " refs/tags/some-tag-name\n"
	for _, n := range []int{packedBuf/len(line) - 1, packedBuf / len(line), packedBuf/len(line) + 1, 10 * packedBuf / len(line)} {
		root := tree(t, map[string]string{".git/HEAD": "ref: refs/heads/m",
			".git/packed-refs": strings.Repeat(line, n) + sha1a + " refs/heads/m\n" + strings.Repeat(line, n)})
		if got := Find(root).Head; got != sha1a {
			t.Errorf("%d lines before: got %q", n, got)
		}
	}
}

func TestFindRelative(t *testing.T) {
	for _, dir := range []string{"", ".", "a/b", "/" + strings.Repeat("a/", maxPath)} {
		if got := Find(dir); got != (hook.Repo{}) {
			t.Errorf("Find(%.20q) = %+v", dir, got)
		}
	}
}

// TestFindRealGit compares with what git itself says.
func TestFindRealGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(root, "main")
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(what, dir, branch, remote string) {
		t.Helper()
		want := hook.Repo{Root: git(dir, "rev-parse", "--show-toplevel"), Branch: branch, Head: git(dir, "rev-parse", "HEAD"), Remote: remote}
		if got := Find(dir); got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
		}
	}
	git(root, "init", "-q", "-b", "trunk", main)
	if got, want := Find(main), (hook.Repo{Root: main, Branch: "trunk"}); got != want {
		t.Errorf("before the first commit: got %+v want %+v", got, want)
	}
	git(main, "commit", "-q", "--allow-empty", "-m", "one")
	check("loose", main, "trunk", "")
	git(main, "remote", "add", "up", "https://u:secret@up.example.com/x.git")
	check("a remote that is not origin", main, "trunk", "https://up.example.com/x.git")
	git(main, "remote", "add", "origin", "ssh://git@example.com/x.git")
	check("origin", main, "trunk", "ssh://git@example.com/x.git")
	git(main, "config", "remote.origin.url", `https://example.com/odd "name" #1;\.git`)
	check("quoted", main, "trunk", `https://example.com/odd "name" `)
	git(main, "config", "remote.origin.url", "git@example.com:x.git")
	git(main, "worktree", "add", "-q", "-b", "side/way", filepath.Join(root, "linked"))
	check("worktree", filepath.Join(root, "linked"), "side/way", "git@example.com:x.git")
	git(main, "pack-refs", "--all", "--prune")
	check("packed", main, "trunk", "git@example.com:x.git")
	check("packed, worktree", filepath.Join(root, "linked"), "side/way", "git@example.com:x.git")
	git(main, "checkout", "-q", "--detach")
	check("detached", main, "", "git@example.com:x.git")
	git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", main, "sub")
	sub := filepath.Join(main, "sub")
	git(sub, "checkout", "-q", "-b", "below")
	check("submodule", sub, "below", main)
}
