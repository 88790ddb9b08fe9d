// Command assent is the permission broker and the commands that speak to it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes, as the help and the README promise them.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitNoBroker = 3
	exitRefused  = 4
)

// exitError carries the exit code of an error.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// app is what every command shares.
type app struct {
	stateDir string
	json     bool
	in       io.Reader
	lines    *bufio.Reader // over in, once a question was put
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{in: in, out: out, err: errw}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(errw, "assent:", err)
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "assent",
		Short: "A blocking permission broker for coding agents",
		Long: `assent holds each permission request of a coding agent until a person answers it, and
hands the answer back to the waiting agent.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no broker runs, 4 the broker refused. The hook
client always exits with 0.`,
		Example: `  assent serve                      start the broker
  assent simulate                   raise a sample request, without an agent
  assent pending                    what waits
  assent allow ID                   let it run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			hint := "see assent --help"
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			return usagef("unknown command %q; %s", args[0], hint)
		},
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "", "state directory (default $ASSENT_STATE_DIR, else $XDG_STATE_HOME/assent, else ~/.local/state/assent)")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, c.CommandPath())
	})
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.stateDir != "" {
			abs, err := filepath.Abs(a.stateDir)
			if err != nil {
				return fmt.Errorf("state directory %s: %w", a.stateDir, err)
			}
			a.stateDir = abs
			return nil
		}
		dir, err := defaultStateDir(os.Getenv)
		a.stateDir = dir
		return err
	}
	for _, c := range []*cobra.Command{
		a.serveCmd(), a.hookCmd(), a.pairCmd(), a.deviceCmd(), a.tokenCmd(),
		a.pendingCmd(), a.allowCmd(), a.denyCmd(), a.watchCmd(), a.traceCmd(),
		a.eventsCmd(), a.natsInfoCmd(), a.simulateCmd(), a.doctorCmd(),
	} {
		argsAreUsage(c)
		root.AddCommand(c)
	}
	return root
}

// argsAreUsage makes wrong arguments exit with the code for usage.
func argsAreUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%w; see %s --help", err, c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		argsAreUsage(sub)
	}
}

// noArgs and oneID say which arguments a command takes, in words for its user.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("takes no argument, got %q", args[0])
	}
	return nil
}

func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("want one ID")
	}
	return nil
}

// defaultStateDir is $ASSENT_STATE_DIR, else assent in the XDG state directory.
func defaultStateDir(env func(string) string) (string, error) {
	if d := env("ASSENT_STATE_DIR"); d != "" {
		return filepath.Abs(d)
	}
	if d := env("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "assent"), nil
	}
	home := env("HOME")
	if home == "" {
		return "", usagef("HOME is not set; say --state-dir DIR")
	}
	return filepath.Join(home, ".local", "state", "assent"), nil
}

// version is the module's, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
