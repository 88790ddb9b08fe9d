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
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
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

// poll is how often the screen is looked at while waiting: tmux tells nobody of a change.
const poll = 50 * time.Millisecond

// Terminal is an agent in a terminal of its own: a private tmux server that holds one window.
type Terminal struct {
	run  Run
	tmux string
	pid  int // of the agent
}

// Open starts an agent in a terminal. The caller must Close it.
func (r Run) Open(ctx context.Context) (*Terminal, error) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return nil, fmt.Errorf("%w: tmux is not installed", ErrMissing)
	}
	script := "cd " + quote(r.Work) + " && exec env -i" // exec, so that the window's process is the agent itself
	for _, w := range append(append([]string(nil), r.Env...), r.Argv...) {
		script += " " + quote(w)
	}
	path := filepath.Join(r.Dir, "agent.sh")
	if err := os.WriteFile(path, []byte(script+"\n"), 0o600); err != nil {
		return nil, err
	}
	t := &Terminal{run: r, tmux: tmux}
	if _, err := t.call(ctx, "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "/bin/sh "+quote(path)); err != nil {
		return nil, err
	}
	out, err := t.call(ctx, "list-panes", "-F", "#{pane_pid}")
	if err == nil {
		t.pid, err = strconv.Atoi(strings.TrimSpace(out))
	}
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Terminal) call(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, t.tmux, append([]string{"-L", "e2e"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMUX_TMPDIR=" + t.run.Dir, "LANG=C.UTF-8", "HOME=" + t.run.Dir}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// Screen returns what the terminal shows.
func (t *Terminal) Screen(ctx context.Context) (string, error) {
	return t.call(ctx, "capture-pane", "-p")
}

// Wait waits until the screen matches, and returns it.
func (t *Terminal) Wait(ctx context.Context, re *regexp.Regexp) (string, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	screen := ""
	for {
		now, err := t.Screen(ctx)
		switch {
		case err == nil:
			if screen = now; re.MatchString(screen) {
				return screen, nil
			}
		case ctx.Err() == nil:
			return screen, fmt.Errorf("the terminal has gone: %w; it last showed:\n%s", err, screen)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return screen, fmt.Errorf("wait for %s: %w; the terminal shows:\n%s", re, ctx.Err(), screen)
		}
	}
}

// Key presses keys by their tmux names.
func (t *Terminal) Key(ctx context.Context, keys ...string) error {
	_, err := t.call(ctx, append([]string{"send-keys"}, keys...)...)
	return err
}

// Type types a text, and waits until it is on the screen once more than before.
func (t *Terminal) Type(ctx context.Context, text string) error {
	screen, err := t.Screen(ctx)
	if err != nil {
		return err
	}
	n := strings.Count(screen, text)
	if _, err := t.call(ctx, "send-keys", "-l", "--", text); err != nil {
		return err
	}
	_, err = t.Wait(ctx, regexp.MustCompile(fmt.Sprintf(`(?s)(%s.*){%d}`, regexp.QuoteMeta(text), n+1)))
	return err
}

// PID is the agent's process id.
func (t *Terminal) PID() int { return t.pid }

// Close ends the terminal, as when a window is closed, and then, if need be, the agent.
func (t *Terminal) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = t.call(ctx, "kill-server") // it may have ended with the agent
	end := time.Now().Add(3 * time.Second)
	for t.pid != 0 && syscall.Kill(t.pid, 0) == nil {
		if time.Now().After(end) {
			if err := syscall.Kill(t.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end the agent %d: %w", t.pid, err)
			}
			break
		}
		time.Sleep(poll)
	}
	return nil
}

// quote makes s one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
