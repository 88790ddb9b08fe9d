// Package coder drives real coding agents other than Claude Code in tests: it installs one exact version
// from npm, and runs it with a clean environment, a home of its own, a dummy key and a scripted model on
// loopback, in a terminal that it types into or without one.
//
// Nothing of the user's own agents is read or written. Everything that is started here is ended here: by
// the terminal's own tmux server and by process id, never by name.
//
// # Concurrency
//
// A Terminal belongs to one test. Install may be called from several processes at once; a lock file in
// the cache orders them.
package coder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"assent/e2e/rig/terminal"
)

// ErrMissing says that there is no such agent and no way to get one on this machine.
var ErrMissing = errors.New("no such agent")

// Install returns the path of a program of an npm package, installing that version of it into cache when
// it is not there yet. The error wraps ErrMissing where npm or the network is wanting.
func Install(ctx context.Context, cache, pkg, version, program string) (string, error) {
	dir := filepath.Join(cache, strings.NewReplacer("/", "-", "@", "").Replace(pkg)+"-"+version)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the agent's cache: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock the agent's cache %s: %w", dir, err)
	}
	defer func() { _ = lock.Unlock() }()
	done := filepath.Join(dir, "installed")
	path := filepath.Join(dir, "node_modules", ".bin", program)
	if _, err := os.Stat(done); err == nil {
		return path, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: npm is not installed", ErrMissing)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"assent-e2e","private":true}`+"\n"), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--loglevel=error", pkg+"@"+version)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: npm install %s: %w\n%s", ErrMissing, pkg, err, out)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %s has no program %s", ErrMissing, pkg, program)
	}
	return path, os.WriteFile(done, nil, 0o600)
}

// Run is how an agent is started.
type Run struct {
	Dir  string   // of this run's own; tmux keeps its socket here
	Work string   // the agent's working directory
	Env  []string // the whole environment
	Argv []string
}

// Headless runs the agent to its end without a terminal and returns what it printed.
func (r Run) Headless(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, r.Argv[0], r.Argv[1:]...)
	cmd.Dir, cmd.Env = r.Work, r.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // a hook that outlives it holds its pipes open
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Terminal is an agent in a terminal of its own.
type Terminal struct{ *terminal.Terminal }

// Open starts an agent in a terminal. The caller must Close it.
func (r Run) Open(ctx context.Context) (*Terminal, error) {
	t, err := terminal.Open(ctx, terminal.Config{Dir: r.Dir, Work: r.Work, Env: r.Env, Argv: r.Argv})
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	return &Terminal{t}, nil
}

// Key presses keys by their tmux names.
func (t *Terminal) Key(ctx context.Context, keys ...string) error {
	_, err := t.Terminal.Key(ctx, keys...)
	return err
}

// Type types a text, and waits until it is on the screen once more than before, or lower: what an earlier turn draws
// late may move an older one out of sight meanwhile.
func (t *Terminal) Type(ctx context.Context, text string) error {
	screen, err := t.Screen(ctx)
	if err != nil {
		return err
	}
	n, below := strings.Count(screen, text), linesBelow(screen, text)
	if err := t.Send(ctx, text); err != nil {
		return err
	}
	_, err = t.Until(ctx, text+", typed", func(now string) bool { return strings.Count(now, text) > n || linesBelow(now, text) < below })
	return err
}

// linesBelow is how many lines the screen has below the last one with a text; more than it has, if none does.
func linesBelow(screen, text string) int {
	lines := strings.Split(screen, "\n")
	for i, line := range slices.Backward(lines) {
		if strings.Contains(line, text) {
			return len(lines) - 1 - i
		}
	}
	return len(lines)
}
