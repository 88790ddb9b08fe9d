package claude

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"time"

	"assent/e2e/rig/terminal"
)

// Patterns of the client's screen.
var (
	ready = regexp.MustCompile(`\? for shortcuts|(?m)^ *❯|accept edits on|plan mode on`)
	// emptyInput is the line to type into with nothing in it.
	emptyInput = regexp.MustCompile(`(?m)^❯[\s\x{a0}]*$`)
	// Dialog is any dialog with numbered answers.
	Dialog = regexp.MustCompile(`❯ \d\. `)
)

// Terminal is an interactive client in a terminal of its own.
type Terminal struct {
	*terminal.Terminal
	prompts int // typed so far
}

// Open starts an interactive client and waits until it takes input. The caller must Close it.
func Open(ctx context.Context, c Config) (*Terminal, error) {
	if err := c.Prepare(); err != nil {
		return nil, err
	}
	term, err := terminal.Open(ctx, terminal.Config{
		Dir: c.Dir, Home: c.Home(), Work: c.Work(), Env: c.env(), Argv: append([]string{c.Program}, c.args()...),
	})
	if err != nil {
		return nil, fmt.Errorf("start the client: %w", err)
	}
	t := &Terminal{Terminal: term}
	if _, err := t.Wait(ctx, ready); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("start the client in a terminal: %w", err)
	}
	return t, nil
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
		screen, err := t.Until(ctx, fmt.Sprintf("a dialog with the answer %q", label), func(s string) bool {
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
		_, err = t.Until(short, "the dialog's end", func(s string) bool { return !Dialog.MatchString(s) })
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
		if err := t.Send(ctx, text+" "+mark); err != nil {
			return err
		}
		screen, err := t.Until(ctx, "the prompt", func(s string) bool {
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
		_, err := t.Until(short, "the prompt to be taken", func(s string) bool {
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

// Kill ends the client with SIGKILL, as a crash would: its hooks get no signal.
func (t *Terminal) Kill() error { return syscall.Kill(t.PID(), syscall.SIGKILL) }
