// Package terminal runs one program of a test in a terminal of its own: a private tmux server that holds
// one window. What tests press, type and see goes through it.
//
// # Concurrency
//
// A Terminal belongs to one test.
package terminal

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
)

// ErrMissing says that tmux is not installed.
var ErrMissing = errors.New("tmux is not installed")

// poll is how often it is looked whether the program has drawn anything, and longest how long a screen
// counts on which nothing was drawn: tmux tells nobody when the program has ended.
const (
	poll    = 10 * time.Millisecond
	longest = time.Second
)

// Config says what runs in a terminal. Every field but Home is required.
type Config struct {
	Dir  string   // of this run's own, with a short path: tmux keeps its socket here
	Home string   // of tmux; empty: Dir
	Work string   // the program's working directory
	Env  []string // its whole environment
	Argv []string
}

// Terminal is a program in a terminal. Make it with Open.
type Terminal struct {
	config Config
	tmux   string // path of tmux
	pid    int    // of the program
	drawn  string // a file that grows when the program draws, after the screen shows it
}

// Open starts a program. The caller must Close the Terminal.
func Open(ctx context.Context, c Config) (*Terminal, error) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return nil, ErrMissing
	}
	if c.Home == "" {
		c.Home = c.Dir
	}
	var script strings.Builder
	fmt.Fprintf(&script, "cd %s && exec env -i", quote(c.Work)) // exec, so that the window's process is the program itself
	for _, w := range append(append([]string(nil), c.Env...), c.Argv...) {
		script.WriteString(" " + quote(w))
	}
	path := filepath.Join(c.Dir, "terminal.sh")
	if err := os.WriteFile(path, []byte(script.String()+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	t := &Terminal{config: c, tmux: tmux, drawn: filepath.Join(c.Dir, "terminal.drawn")}
	if _, err := t.run(ctx, "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "/bin/sh "+quote(path),
		";", "pipe-pane", "exec cat >> "+quote(t.drawn)); err != nil {
		return nil, err
	}
	out, err := t.run(ctx, "list-panes", "-F", "#{pane_pid}")
	if err == nil {
		t.pid, err = strconv.Atoi(strings.TrimSpace(out))
	}
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// run calls tmux on the private server.
func (t *Terminal) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, t.tmux, append([]string{"-L", "e2e"}, args...)...)
	cmd.Env = []string{"HOME=" + t.config.Home, "PATH=" + os.Getenv("PATH"), "TMUX_TMPDIR=" + t.config.Dir, "LANG=C.UTF-8"}
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
	return t.run(ctx, "capture-pane", "-p")
}

// Wait waits until the screen matches and returns it.
func (t *Terminal) Wait(ctx context.Context, re *regexp.Regexp) (string, error) {
	return t.Until(ctx, re.String(), re.MatchString)
}

// WaitGone waits until the screen no longer matches.
func (t *Terminal) WaitGone(ctx context.Context, re *regexp.Regexp) (string, error) {
	return t.Until(ctx, "no "+re.String(), func(s string) bool { return !re.MatchString(s) })
}

// Until waits until match says yes to the screen, and returns it; what names that. A call of tmux costs
// more than the agents that are waited for like to share, so it is called when something was drawn.
func (t *Terminal) Until(ctx context.Context, what string, match func(screen string) bool) (string, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	screen := ""
	for {
		size, at := t.size(), time.Now() // before the look: what is drawn meanwhile is looked at again
		now, err := t.Screen(ctx)
		if err == nil {
			screen = now
			if match(screen) {
				return screen, nil
			}
		} else if ctx.Err() == nil {
			return screen, fmt.Errorf("the terminal has gone: %w; it last showed:\n%s", err, screen)
		}
		for same := true; same; same = t.size() == size && time.Since(at) < longest {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return screen, fmt.Errorf("wait for %s: %w; the terminal shows:\n%s", what, ctx.Err(), screen)
			}
		}
	}
}

// size is how much the program has drawn, in bytes.
func (t *Terminal) size() int64 {
	fi, err := os.Stat(t.drawn)
	if err != nil {
		return 0 // nothing yet
	}
	return fi.Size()
}

// Key presses keys by their tmux names ("Enter", "Escape", "2") and returns the moment when they had
// reached the program's terminal.
func (t *Terminal) Key(ctx context.Context, keys ...string) (time.Time, error) {
	_, err := t.run(ctx, append([]string{"send-keys"}, keys...)...)
	return time.Now(), err
}

// Send types a text.
func (t *Terminal) Send(ctx context.Context, text string) error {
	_, err := t.run(ctx, "send-keys", "-l", "--", text)
	return err
}

// PID is the program's process id.
func (t *Terminal) PID() int { return t.pid }

// Close ends the terminal (the program gets a hang-up, as when a window is closed) and then, if
// need be, the program.
func (t *Terminal) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := t.run(ctx, "kill-server")
	for end := time.Now().Add(3 * time.Second); t.pid != 0 && syscall.Kill(t.pid, 0) == nil; time.Sleep(poll) {
		if time.Now().After(end) {
			if kerr := syscall.Kill(t.pid, syscall.SIGKILL); kerr != nil && !errors.Is(kerr, syscall.ESRCH) {
				return fmt.Errorf("end the program %d: %w", t.pid, kerr)
			}
			break
		}
	}
	if err != nil {
		for _, gone := range []string{"no server running", "error connecting", "server exited"} {
			if strings.Contains(err.Error(), gone) {
				return nil // it ended by itself, with the program
			}
		}
	}
	return err
}

// quote makes s one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
