package gitrepo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/hook"
)

// lab is a directory in which git, the real one, makes repositories.
type lab struct {
	t    *testing.T
	root string
}

func newLab(t *testing.T) lab {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return lab{t, root}
}

// try runs git and returns what it printed.
func (l lab) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.root, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func (l lab) git(dir string, args ...string) string {
	l.t.Helper()
	out, err := l.try(dir, args...)
	if err != nil {
		l.t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// says is what git itself says of a directory.
func (l lab) says(dir string) (r hook.Repo) {
	r.Root = l.git(dir, "rev-parse", "--show-toplevel")
	r.Branch = l.git(dir, "branch", "--show-current")
	r.Head, _ = l.try(dir, "rev-parse", "--verify", "--quiet", "HEAD") // fails before the first commit
	r.Remote, _ = l.try(dir, "config", "--get", "remote.origin.url")   // fails without one
	return r
}

// TestFindAsGitDoes takes repositories through random histories: whatever was done, by whichever
// step, Find and a Cache that has seen all the steps before say what git says. All files are made
// to look old, so that the cache believes them.
func TestFindAsGitDoes(t *testing.T) {
	histories := uint64(2)
	if testing.Short() {
		histories = 1
	}
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l, rnd := newLab(t), rand.New(rand.NewPCG(seed, 7))
			main := filepath.Join(l.root, "main")
			l.git(l.root, "init", "-q", "-b", "trunk", main)
			dirs := []string{main}
			var cache Cache
			check := func(step string) {
				t.Helper()
				for _, dir := range dirs {
					want := l.says(dir)
					if got := Find(dir); got != want {
						t.Fatalf("after %s: got %+v, git says %+v", step, got, want)
					}
					for range 2 { // read, and remembered
						if got := cache.Find(dir); got != want {
							t.Fatalf("after %s: the cache has %+v, git says %+v", step, got, want)
						}
					}
				}
			}
			check("init")
			l.git(main, "commit", "-q", "--allow-empty", "-m", "one")
			check("the first commit")
			steps := map[string]func(dir string, n int) error{
				"commit": func(dir string, n int) error {
					_, err := l.try(dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprint(n))
					return err
				},
				"amend": func(dir string, n int) error {
					_, err := l.try(dir, "commit", "-q", "--amend", "--allow-empty", "-m", fmt.Sprint("again ", n))
					return err
				},
				"branch": func(dir string, n int) error {
					_, err := l.try(dir, "checkout", "-q", "-b", fmt.Sprintf("b/%d", n))
					return err
				},
				"back": func(dir string, _ int) error { _, err := l.try(dir, "checkout", "-q", "-"); return err },
				"detach": func(dir string, _ int) error {
					_, err := l.try(dir, "checkout", "-q", "--detach")
					return err
				},
				"rename": func(dir string, n int) error {
					_, err := l.try(dir, "branch", "-m", fmt.Sprintf("c/%d", n))
					return err
				},
				"orphan": func(dir string, n int) error {
					_, err := l.try(dir, "checkout", "-q", "--orphan", fmt.Sprintf("o%d", n))
					return err
				},
				"pack": func(dir string, _ int) error { _, err := l.try(dir, "pack-refs", "--all", "--prune"); return err },
				"gc":   func(dir string, _ int) error { _, err := l.try(dir, "gc", "-q"); return err },
				"remote": func(dir string, n int) error {
					_, err := l.try(dir, "config", "remote.origin.url", fmt.Sprintf("https://example.com/%04d.git", n))
					return err
				},
				"worktree": func(dir string, n int) error {
					linked := filepath.Join(l.root, fmt.Sprintf("w%d", n))
					_, err := l.try(dir, "worktree", "add", "-q", "-b", fmt.Sprintf("w/%d", n), linked)
					if err == nil {
						dirs = append(dirs, linked)
					}
					return err
				},
				"submodule": func(dir string, n int) error {
					_, err := l.try(dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", main, fmt.Sprintf("s%d", n))
					if err == nil {
						dirs = append(dirs, filepath.Join(dir, fmt.Sprintf("s%d", n)))
					}
					return err
				},
			}
			names := slices.Sorted(maps.Keys(steps)) // so that a seed is one and the same run
			if err := steps["worktree"](main, 45); err != nil {
				t.Fatal(err)
			}
			for n := range 45 {
				name, dir := names[rnd.IntN(len(names))], dirs[rnd.IntN(len(dirs))]
				if len(dirs) > 5 && (name == "worktree" || name == "submodule") {
					continue
				}
				err := steps[name](dir, n) // a branch may be checked out elsewhere, or there is nothing to go back to
				aged(t, filepath.Join(main, ".git"), n)
				check(fmt.Sprintf("step %d, %s in %s (%v)", n, name, filepath.Base(dir), err))
			}
		})
	}
}

// aged makes the files that a cache remembers look as if they were last changed long ago, each
// step at another time, as on a file system with a fine clock.
func aged(t *testing.T, git string, step int) {
	t.Helper()
	err := filepath.WalkDir(git, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "packed-refs" && d.Name() != "config" {
			return err
		}
		fi, err := d.Info()
		if err != nil || time.Since(fi.ModTime()) > time.Hour {
			return err // not changed by this step
		}
		at := time.Now().Add(-24*time.Hour + time.Duration(step)*time.Second)
		return os.Chtimes(name, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFindReftable: in that format the refs are in binary tables, which are not read.
func TestFindReftable(t *testing.T) {
	l := newLab(t)
	dir := filepath.Join(l.root, "r")
	if _, err := l.try(l.root, "init", "-q", "--ref-format=reftable", dir); err != nil {
		t.Skip("this git knows no reftable; TestFindHandMade has what one would write")
	}
	l.git(dir, "commit", "-q", "--allow-empty", "-m", "one")
	var cache Cache
	for _, got := range []hook.Repo{Find(dir), cache.Find(dir)} {
		if want := (hook.Repo{Root: dir}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestCacheReads: what has not changed is not read again, and what might have changed in the same
// tick of the clock is.
func TestCacheReads(t *testing.T) {
	root := tree(t, map[string]string{".git/HEAD": "ref: refs/heads/m", ".git/packed-refs": sha1a + " refs/heads/m\n"})
	packed := filepath.Join(root, ".git/packed-refs")
	write := func(sha string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(packed, []byte(sha+" refs/heads/m\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(packed, at, at); err != nil {
			t.Fatal(err)
		}
	}
	var c Cache
	long := time.Now().Add(-time.Hour)
	for i, step := range []struct {
		sha  string
		at   time.Time
		want string
	}{
		{sha1a, long, sha1a},
		{sha1b, long, sha1a}, // in place, of the same length, with the old time: nobody can see that
		{sha1b, long.Add(time.Nanosecond), sha1b},
		{sha1a, time.Now().Add(time.Hour), sha1a}, // young: not believed
	} {
		write(step.sha, step.at)
		if got := c.Find(root).Head; got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	write(sha1b, time.Now().Add(time.Hour))
	if got := c.Find(root).Head; got != sha1b {
		t.Errorf("a young file was believed: %s", got)
	}
	if err := os.Remove(packed); err != nil {
		t.Fatal(err)
	}
	if got := c.Find(root).Head; got != "" {
		t.Errorf("without packed-refs: %s", got)
	}
}

// TestCacheIsBounded, also when many ask at once.
func TestCacheIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range maxRoots + 50 {
		files[fmt.Sprintf("%d/.git/HEAD", i)] = "ref: refs/heads/m" + fmt.Sprint(i)
	}
	root := tree(t, files)
	var c Cache
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range maxRoots + 50 {
				if got := c.Find(filepath.Join(root, fmt.Sprint(i))).Branch; got != fmt.Sprint("m", i) {
					t.Errorf("%d is on %s", i, got)
				}
			}
		})
	}
	wg.Wait()
	if len(c.roots) != maxRoots {
		t.Errorf("%d work trees remembered", len(c.roots))
	}
	if got := c.Find("/"); got != (hook.Repo{}) {
		t.Errorf("got %+v", got)
	}
}

// TestWhatGitWalksPast: a .git that lacks something is no repository, and the one around it counts,
// for git and for us.
func TestWhatGitWalksPast(t *testing.T) {
	l := newLab(t)
	outer := filepath.Join(l.root, "outer")
	l.git(l.root, "init", "-q", "-b", "trunk", outer)
	for _, lacks := range []string{"", "HEAD", "objects", "refs"} {
		inner := filepath.Join(outer, "inner"+lacks)
		l.git(l.root, "init", "-q", "-b", "inner", inner)
		if lacks != "" {
			if err := os.RemoveAll(filepath.Join(inner, ".git", lacks)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := Find(inner), l.says(inner); got != want {
			t.Errorf("without %q: got %+v, git says %+v", lacks, got, want)
		}
		if lacks == "" || lacks == "HEAD" {
			continue
		}
		if err := os.WriteFile(filepath.Join(inner, ".git", lacks), nil, 0o600); err != nil { // a file is not enough
			t.Fatal(err)
		}
		if got := Find(inner); got.Root != outer {
			t.Errorf("with a file %s: got %+v", lacks, got)
		}
	}
}
