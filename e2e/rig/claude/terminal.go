package claude

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

// poll is how often the screen is looked at while waiting: tmux tells nobody of a change.
const poll = 20 * time.Millisecond

// Patterns of the client's screen.
var (
	ready = regexp.MustCompile(`\? for shortcuts|(?m)^ *❯|accept edits on|plan mode on`)
	// emptyInput is the line to type into with nothing in it.
	emptyInput = regexp.MustCompile(`(?m)^❯[\s\x{a0}]*$`)
	// Dialog is any dialog with numbered answers.
	Dialog = regexp.MustCompile(`❯ \d\. `)
)

// Terminal is an interactive client in a terminal of its own: a private tmux server that holds
// one window.
type Terminal struct {
	config Config
	tmux   string // path of tmux
	socket string // name of the private server
	pid    int    // of the client

	prompts int // typed so far
}

// Open starts an interactive client and waits until it takes input. The caller must Close it.
func Open(ctx context.Context, c Config) (*Terminal, error) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return nil, fmt.Errorf("%w: tmux is not installed", ErrMissing)
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	// exec, so that the window's process is the client itself.
	var script strings.Builder
	fmt.Fprintf(&script, "cd %s && exec env -i", quote(c.Work()))
	for _, w := range append(append(c.env(), c.Program), c.args()...) {
		script.WriteString(" " + quote(w))
	}
	path := filepath.Join(c.Dir, "client.sh")
	if err := os.WriteFile(path, []byte(script.String()+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	t := &Terminal{config: c, tmux: tmux, socket: "e2e"}
	if _, err := t.run(ctx, "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "/bin/sh "+quote(path)); err != nil {
		return nil, err
	}
	out, err := t.run(ctx, "list-panes", "-F", "#{pane_pid}")
	if err == nil {
		t.pid, err = strconv.Atoi(strings.TrimSpace(out))
	}
	if err == nil {
		_, err = t.Wait(ctx, ready)
	}
	if err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("start the client in a terminal: %w", err)
	}
	return t, nil
}

// run calls tmux on the private server, whose socket lies in the run's own directory.
func (t *Terminal) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, t.tmux, append([]string{"-L", t.socket}, args...)...)
	cmd.Env = []string{"HOME=" + t.config.Home(), "PATH=" + os.Getenv("PATH"), "TMUX_TMPDIR=" + t.config.Dir, "LANG=C.UTF-8"}
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
	return t.until(ctx, re.String(), re.MatchString)
}

// WaitGone waits until the screen no longer matches.
func (t *Terminal) WaitGone(ctx context.Context, re *regexp.Regexp) (string, error) {
	return t.until(ctx, "no "+re.String(), func(s string) bool { return !re.MatchString(s) })
}

func (t *Terminal) until(ctx context.Context, what string, match func(string) bool) (string, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	screen := ""
	for {
		now, err := t.Screen(ctx)
		if err == nil {
			screen = now
			if match(screen) {
				return screen, nil
			}
		} else if ctx.Err() == nil {
			return screen, fmt.Errorf("the terminal has gone: %w; it last showed:\n%s", err, screen)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return screen, fmt.Errorf("wait for %s: %w; the terminal shows:\n%s", what, ctx.Err(), screen)
		}
	}
}

// Key presses keys by their tmux names ("Enter", "Escape", "2") and returns the moment when they
// had reached the client's terminal.
func (t *Terminal) Key(ctx context.Context, keys ...string) (time.Time, error) {
	_, err := t.run(ctx, append([]string{"send-keys"}, keys...)...)
	return time.Now(), err
}

// Answer picks, in the dialog on the screen, the option whose text begins with label (or, for
// the label "Escape", presses Escape) and returns the moment when the key that took effect had reached the client's terminal.
// For a moment after a dialog appears a key only moves its cursor, so that nobody answers by
// accident; so a key after which the dialog is still there is pressed again.
func (t *Terminal) Answer(ctx context.Context, label string) (time.Time, error) {
	key := label
	if label == "Escape" {
		if _, err := t.Wait(ctx, Dialog); err != nil {
			return time.Time{}, err
		}
	} else {
		option := regexp.MustCompile(`(\d)\. ` + regexp.QuoteMeta(label))
		screen, err := t.until(ctx, fmt.Sprintf("a dialog with the answer %q", label), func(s string) bool {
			return Dialog.MatchString(s) && option.MatchString(s) // it may be half drawn
		})
		if err != nil {
			return time.Time{}, err
		}
		key = option.FindStringSubmatch(screen)[1]
	}
	for {
		at, err := t.Key(ctx, key)
		if err != nil {
			return at, err
		}
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err = t.until(short, "the dialog's end", func(s string) bool { return !Dialog.MatchString(s) })
		cancel()
		if err == nil || ctx.Err() != nil {
			return at, err
		}
	}
}

// Prompt types a prompt and sends it. The client takes an Enter that comes with the text for
// part of it, so the text must be on the screen first, and Enter is pressed again if it stays.
func (t *Terminal) Prompt(ctx context.Context, text string) error {
	t.prompts++
	mark := fmt.Sprintf("(prompt %d)", t.prompts) // tells this text from an older, equal one
	flat := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for whole := false; !whole; {
		if _, err := t.run(ctx, "send-keys", "-l", "--", text+" "+mark); err != nil {
			return err
		}
		screen, err := t.until(ctx, "the prompt", func(s string) bool {
			return strings.Contains(flat(input(s)), flat(mark))
		})
		if err != nil {
			return err
		}
		// An Escape a moment ago swallows the first letter: terminals spell Alt that way.
		if whole = strings.Contains(flat(input(screen)), flat(text)); !whole {
			for empty := false; !empty; { // it may take away one line at a time
				if _, err := t.Key(ctx, "C-u"); err != nil {
					return err
				}
				short, cancel := context.WithTimeout(ctx, time.Second)
				_, err := t.Wait(short, emptyInput)
				cancel()
				if empty = err == nil; !empty && ctx.Err() != nil {
					return err
				}
			}
		}
	}
	for {
		if _, err := t.Key(ctx, "Enter"); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := t.until(short, "the prompt to be taken", func(s string) bool {
			return emptyInput.MatchString(s) || Dialog.MatchString(s)
		})
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// input is the part of a screen that holds what is being typed.
func input(screen string) string { return screen[max(0, strings.LastIndex(screen, "\n❯")):] }

// PID is the client's process id.
func (t *Terminal) PID() int { return t.pid }

// Kill ends the client with SIGKILL, as a crash would: its hooks get no signal.
func (t *Terminal) Kill() error { return syscall.Kill(t.pid, syscall.SIGKILL) }

// Close ends the terminal (the client gets a hang-up, as when a window is closed) and then, if
// need be, the client.
func (t *Terminal) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := t.run(ctx, "kill-server")
	if t.pid != 0 {
		end := time.Now().Add(3 * time.Second)
		for syscall.Kill(t.pid, 0) == nil {
			if time.Now().After(end) {
				if kerr := syscall.Kill(t.pid, syscall.SIGKILL); kerr != nil && !errors.Is(kerr, syscall.ESRCH) {
					return fmt.Errorf("end the client %d: %w", t.pid, kerr)
				}
				break
			}
			time.Sleep(poll)
		}
	}
	if err != nil {
		for _, gone := range []string{"no server running", "error connecting", "server exited"} {
			if strings.Contains(err.Error(), gone) {
				return nil // it ended by itself, with the client
			}
		}
	}
	return err
}
