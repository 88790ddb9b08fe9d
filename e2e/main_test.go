// Package e2e holds the promises of the README as tests over the built programs: the commands
// (testdata/*.txtar), the page in a real browser, the real Claude Code client against a scripted
// model, and what happens when parts of all that are killed.
//
// What a machine may lack (the client, tmux, Chromium) is asked for with need: a test without it
// is skipped by name, or fails where ASSENT_E2E_REQUIRE=1. With ASSENT_E2E_COUNT=FILE each
// answer of need is appended to FILE, with ASSENT_E2E_ARTIFACTS=DIR screenshots are left in DIR,
// ASSENT_E2E_CACHE=DIR is where the client is installed, ASSENT_E2E_BIN=DIR holds binaries that
// were built already. ASSENT_E2E_OUTAGE=1m is how long RabbitMQ is away, ASSENT_E2E_KILLS=20 how
// often the broker is killed, in the tests of RabbitMQ; they do less of it otherwise.
// ASSENT_E2E_RELEASE=all makes the release for all platforms, and the second time from nothing.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"assent/e2e/claude"
	"assent/e2e/rabbitmq"
)

const binEnv = "ASSENT_E2E_BIN"

func TestMain(m *testing.M) { os.Exit(build(m.Run)) }

// build puts both programs into a temporary directory, named by binEnv, and runs the tests.
func build(run func() int) int {
	if os.Getenv(binEnv) != "" {
		return run()
	}
	dir, err := os.MkdirTemp("", "assent-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command("go", "build", "-o", dir+"/", "../cmd/assent", "../cmd/assent-hook")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the programs under test:", err)
		return 1
	}
	if err := os.Setenv(binEnv, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// program is the path of a built program.
func program(name string) string { return filepath.Join(os.Getenv(binEnv), name) }

// The real client is a heavy guest: each version is installed once, and two run at a time.
var (
	installed = sync.OnceValues(func() (string, error) { return installClient(claude.Version) })
	oldest    = sync.OnceValues(func() (string, error) { return installClient(claude.Oldest) })
	clients   = make(chan struct{}, 2)
	counts    sync.Mutex // orders writes to the count file
)

func installClient(version string) (string, error) {
	cache := os.Getenv("ASSENT_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: set ASSENT_E2E_CACHE: %w", claude.ErrMissing, err)
		}
		cache = filepath.Join(dir, "assent-e2e")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return claude.Install(ctx, cache, version)
}

// need returns the path of a program that the test cannot do without: "claude", "claude-oldest",
// "tmux", "rabbitmq", "axe", "gitlab-schema" or "chromium". Where it is wanting the test is skipped, or fails if nothing may be skipped.
func need(t *testing.T, what string) string {
	t.Helper()
	path, err := find(what)
	verdict := "ran"
	if err != nil {
		verdict = "skipped"
	}
	count(t, what, verdict)
	if err == nil {
		return path
	}
	if os.Getenv("ASSENT_E2E_REQUIRE") == "1" {
		t.Fatalf("this test needs %s and may not be skipped here: %v", what, err)
	}
	t.Skipf("this test needs %s: %v", what, err)
	return ""
}

func find(what string) (string, error) {
	switch what {
	case "claude":
		return installed()
	case "claude-oldest":
		return oldest()
	case "bash-completion":
		const path = "/usr/share/bash-completion/bash_completion"
		_, err := os.Stat(path)
		return path, err
	case "gitlab-schema":
		_, err := gitlabSchema()
		return "gitlab-schema", err
	case "rabbitmq":
		return rabbitmq.Find()
	case "axe":
		_, err := axeScript()
		return "axe-core", err
	case "chromium":
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if p, err := exec.LookPath(name); err == nil {
				return p, nil
			}
		}
		return "", errors.New("no chromium in PATH (Debian: apt-get install chromium)")
	}
	return exec.LookPath(what)
}

func count(t *testing.T, what, verdict string) {
	t.Helper()
	file := os.Getenv("ASSENT_E2E_COUNT")
	if file == "" {
		return
	}
	counts.Lock()
	defer counts.Unlock()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(f, what, verdict, t.Name())
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// tempDir returns a directory with a path short enough for a socket in it; t.TempDir's, which
// holds the test's name, is not.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "assent-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A program that is on its last legs may still write here; the second try is after it.
		if os.RemoveAll(dir) != nil {
			runtime.Gosched()
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}

// eventually calls ok until it is true; within bounds only a hang and says nothing about speed.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(within)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// soon bounds whatever needs no waiting by design; it is generous for a machine that others load.
const soon = time.Minute

// artifact returns where to leave a file for people, or "" where nobody asked for any.
func artifact(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("ASSENT_E2E_ARTIFACTS")
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}
