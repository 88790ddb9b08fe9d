package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// bin is the built program; attack is this test's own, which tries system calls when it is called with
// the word attack.
var bin string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		os.Exit(attack(os.Args[2:]))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "assent-contain-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = filepath.Join(dir, "assent-contain")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// need skips where commands cannot be contained, and says so.
func need(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(bin, "--abi").Output(); err != nil {
		t.Skipf("this kernel contains nothing (Landlock ABI %s)", strings.TrimSpace(string(out)))
	}
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// world is a home with a project in it, and what must not be reached.
type world struct {
	home, project string
	env           []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{home: filepath.Join(dir, "user")}
	w.project = filepath.Join(w.home, "work", "project")
	if err := os.MkdirAll(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"PATH=" + systemPath, "HOME=" + w.home, "LANG=C.UTF-8", "TERM=xterm", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0"}
	return w
}

// write makes a file below the home.
func (w *world) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// result is what came of a command.
type result struct {
	out, errs string
	status    int
}

// run runs a program in the project.
func (w *world) run(t testing.TB, program string, args ...string) result {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir, c.Env = w.project, w.env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// contained runs a command line of bash.
func (w *world) contained(t testing.TB, text string, flags ...string) result {
	t.Helper()
	return w.run(t, bin, append(append([]string{"read", "--shell", "bash"}, flags...), "--", text)...)
}

// plain runs the same as it is.
func (w *world) plain(t testing.TB, text string) result {
	t.Helper()
	return w.run(t, "/usr/bin/bash", "--noprofile", "--norc", "-c", text)
}

func (w *world) git(t *testing.T, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	c.Dir, c.Env = w.project, append(w.env, "GIT_AUTHOR_DATE=2024-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2024-01-02T03:04:05Z")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func has(program string) bool {
	for dir := range strings.SplitSeq(systemPath, ":") {
		if fi, err := os.Stat(filepath.Join(dir, program)); err == nil && fi.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return -1
	}
	return n
}
