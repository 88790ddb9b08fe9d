//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOlderKernels binds commands with what older kernels have of Landlock. Without its scopes, no
// signal at all may be sent.
func TestOlderKernels(t *testing.T) {
	abi := ABI()
	if err := Usable(abi); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for n := minABI; n <= abi; n++ {
		r, err := newRules(n)
		if err != nil {
			t.Fatalf("ABI %d: %v", n, err)
		}
		dirs, err := systemDirs(nil)
		if err == nil {
			err = r.system(dirs)
		}
		if err != nil {
			t.Fatal(err)
		}
		out := make(chan string)
		go func() {
			runtime.LockOSThread() // and the thread ends with the goroutine
			if err := r.restrictThread(); err != nil {
				out <- err.Error()
				return
			}
			if err := filterThread(assemble(table(os.Getpid(), unix.Gettid(), n >= 6))); err != nil {
				out <- err.Error()
				return
			}
			b, _ := exec.Command("/bin/sh", "-c", "kill -0 $PPID; kill -0 $$ && echo self; echo x > "+dir+"/x; cat /etc/shadow; echo end").CombinedOutput() // its status says nothing
			out <- string(b)
		}()
		got := <-out
		unix.Close(r.fd)
		if strings.Count(got, "ermi")+strings.Count(got, "annot") < 3 || !strings.Contains(got, "end") || strings.Contains(got, "self") != (n >= 6) {
			t.Errorf("ABI %d: %s", n, got)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("ABI %d: a file was written", n)
		}
	}
	if Usable(0) == nil || Usable(minABI-1) == nil || Usable(minABI) != nil {
		t.Error("which ABI does")
	}
}

// TestReadable: what is never opened, whoever asks.
func TestReadable(t *testing.T) {
	home := t.TempDir()
	for dir, want := range map[string]bool{
		"/": false, "/home": false, "/etc": false, "/var": false, "/var/lib": false, "/proc": false, "/proc/self": false, "/dev": false, "/sys": false, "/run": false, "/tmp": false,
		home: false, filepath.Dir(home): false, home + "/.config": false, home + "/.config/x": false, home + "/.local/share/x": false, home + "/.cache/a/b": true, home + "/.ssh": false, home + "/projects": true, home + "/projects/.x": true,
	} {
		if strings.HasPrefix(dir, home+"/") {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		} else if _, err := os.Stat(dir); err != nil {
			continue
		}
		if dir == "/tmp" && !strings.HasPrefix(home, "/tmp/") {
			continue
		}
		if _, err := readable(dir, []string{home}); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
	link := filepath.Join(home, "projects", "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	if _, err := readable(link, []string{home}); err == nil {
		t.Error("a link to a home")
	}
}

// TestSystemDirs: nothing is opened as a whole that holds a project or a home.
func TestSystemDirs(t *testing.T) {
	all, err := systemDirs(nil)
	if err != nil || !slices.Contains(all, "/usr/bin") {
		t.Fatal(all, err)
	}
	if got, err := systemDirs([]string{"/usr/binary", "/opt/usr/lib"}); err != nil || len(got) != len(all) {
		t.Errorf("beside them: %v, %v", got, err)
	}
	for _, dir := range all {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, kept := range []string{real, real + "/app", real + "/a/b"} {
			got, err := systemDirs([]string{"/home/x", kept})
			if err == nil && slices.ContainsFunc(got, func(d string) bool {
				r, _ := filepath.EvalSymlinks(d)
				return r == real
			}) {
				t.Errorf("%s is open above %s", dir, kept)
			}
		}
	}
}

// TestSystemLinks: a link among the system's directories opens nothing as a whole that lies in a project or a home.
func TestSystemLinks(t *testing.T) {
	before := programs
	defer func() { programs = before }()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	for _, to := range []string{"app", "app/share"} {
		if err := os.MkdirAll(filepath.Join(dir, to), 0o700); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(link) // there is none at first
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		programs = append(slices.Clone(before), link)
		if got, err := systemDirs(nil); err != nil || !slices.Contains(got, link) {
			t.Errorf("of its own: %v %v", got, err)
		}
		if got, err := systemDirs([]string{filepath.Join(dir, "app")}); err == nil && slices.Contains(got, link) {
			t.Errorf("%s is open in a project", to)
		}
	}
}

// TestRemoveTree: a directory that was shut is no way to leave something behind.
func TestRemoveTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b/f", "a/g"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"a/b": 0o300, "a": 0} {
		defer func(mode os.FileMode) { _ = os.Chmod(filepath.Join(dir, name), mode) }(0o700)
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil && name != "a/b" {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 && !full(dir) { // for root nothing is shut
		t.Error("what is in it is not known, and it counts as nothing")
	}
	if removeTree(dir); exists(dir) {
		t.Error("it is still there")
	}
}

// TestRemoveDeep: nor is a directory that lies deeper than a name can say, or than descriptors are left; and who changes
// a directory for a link meanwhile has nothing changed behind that.
func TestRemoveDeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	const depth = 2500 // a name has 4096 bytes at most
	for i := range depth {
		if err := unix.Mkdirat(at, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		sub, err := unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if i > depth-10 {
			if err := unix.Fchmod(at, 0); err != nil {
				t.Fatal(err)
			}
		}
		unix.Close(at)
		at = sub
	}
	unix.Close(at)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	removeTree(dir)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if exists(dir) {
		t.Error("it is still there")
	}

	outside, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Chmod(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	_, err = openShut(unix.AT_FDCWD, link)
	if fi, e := os.Stat(outside); e != nil || fi.Mode().Perm() != 0o500 || err == nil {
		t.Errorf("a link is followed: %v, %v", err, fi.Mode())
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// TestRepositoryOf: a work tree names its repository, and is believed only if that names it back.
func TestRepositoryOf(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.com"}, args...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	git("init", "-q", "main")
	git("-C", "main", "commit", "-q", "--allow-empty", "-m", "x")
	git("-C", "main", "worktree", "add", "-q", "../tree")
	if got := repositoryOf(filepath.Join(dir, "tree")); got != filepath.Join(dir, "main", ".git") {
		t.Errorf("a work tree's is %q", got)
	}
	if got := repositoryOf(filepath.Join(dir, "main")); got != "" {
		t.Errorf("the repository itself: %q", got)
	}
	forged := filepath.Join(dir, "forged")
	if err := os.Mkdir(forged, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"gitdir: " + dir + "/main/.git/worktrees/tree\n", "gitdir: " + dir + "/main/.git\n", "gitdir: /etc\n", "gitdir:\n", "gitdir: ../main/.git/worktrees/../worktrees/tree"} {
		if err := os.WriteFile(filepath.Join(forged, ".git"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := repositoryOf(forged); got != "" {
			t.Errorf("%q leads to %q", text, got)
		}
	}
}
