// Package rig is what the tests below e2e share: a broker with its hooks (Daemon), the page in a real
// browser (Browser), the real Claude Code client against a scripted model (Agent), and the small
// things around them. The tests themselves are the packages beside it, one for each part of the
// house; their promises are those of the README.
//
// What a machine may lack (the client, tmux, Chromium) is asked for with Need: a test without it
// is skipped by name, or fails where ASSENT_E2E_REQUIRE=1. With ASSENT_E2E_COUNT=FILE each
// answer of Need is appended to FILE, with ASSENT_E2E_ARTIFACTS=DIR screenshots are left in DIR,
// ASSENT_E2E_CACHE=DIR is where the client and the built programs are kept, ASSENT_E2E_BIN=DIR
// holds programs that were built already. ASSENT_E2E_OUTAGE=1m is how long RabbitMQ is away,
// ASSENT_E2E_KILLS=20 how often the broker is killed, in the tests of RabbitMQ; they do less of it
// otherwise. ASSENT_E2E_RELEASE=all makes the release for all platforms, and the second time from
// nothing. ASSENT_E2E_CODEX=PATH and the like (OPENCODE, KILO, COPILOT, QWEN, GEMINI, CODEX_ACP,
// CLAUDE_AGENT_ACP) take the program there in the place of the version that was tried.
//
// # Concurrency
//
// Packages of tests run beside each other. What they share (the cache) is ordered by lock files;
// everything else has a directory and ports of its own. A Daemon, a Browser and an Agent belong to
// one test, and end with it.
package rig

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TempDir returns a directory with a path short enough for a socket in it; t.TempDir's, which
// holds the test's name, is not.
func TempDir(t *testing.T) string {
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

// Eventually calls ok until it is true; within bounds only a hang and says nothing about speed. It looks
// often at first, then less: what is looked at works on the same processors.
func Eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	const first, longest = 5 * time.Millisecond, 25 * time.Millisecond
	pause := first
	tick := time.NewTimer(pause)
	defer tick.Stop()
	end := time.After(within)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %v: %s", within, what)
		}
		pause = min(pause*9/8, longest)
		tick.Reset(pause)
	}
}

// Soon bounds whatever needs no waiting by design; it is generous for a machine that others load.
const Soon = time.Minute

// Artifact returns where to leave a file for people, or "" where nobody asked for any.
func Artifact(t *testing.T, name string) string {
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
