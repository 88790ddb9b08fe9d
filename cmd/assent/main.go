// Command assent is the permission broker and the commands that speak to it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// Exit codes, as the help and the README promise them.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitNoBroker = 3
	exitRefused  = 4
)

// exitError carries the exit code of an error. Without one nothing is left to say.
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
	stateDir    string // "" with url
	url, caCert string // of a broker elsewhere, see locate
	credential  string // for it, where ASSENT_TOKEN is not set
	json        bool
	helpErr     error // help was asked for something that is not there
	shown       terminal.ShownFile
	in          io.Reader
	lines       *bufio.Reader  // over in, once a question was put
	reading     chan inputLine // gets the next of them; nil: none is read
	out, err    io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	cobra.EnableCommandSorting = false // they stand in the order in which a person meets them
	code := run(ctx, commandLine(os.Args), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{in: in, out: out, err: errw, shown: terminal.NewShownFile(os.Getenv)}
	root := a.root()
	root.SetArgs(longFlags(args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.helpErr
	}
	if err == nil {
		return 0
	}
	var e *exitError
	if errors.As(err, &e) && e.err == nil {
		return e.code
	}
	text := readable(err.Error())
	if step := nextStep(err); step != "" {
		text += "; " + step
	}
	fmt.Fprintln(errw, fit(errw, "assent: "+callable(text)))
	if e != nil {
		return e.code
	}
	return exitFailed
}

// readable is for text of which parts went through package show already, and parts did not: errors,
// which name files of strangers, and what a broker says, which may be anybody who has the port of
// --url. What is visible already stays as it is.
func readable(text string) string { return show.Readable(text) }

// nextStep is what to do about a credential that the broker refuses, and about a place where nothing can be written; ""
// for other errors, which say it themselves.
func nextStep(err error) string {
	var p *api.Problem
	var handshake *api.HandshakeError
	switch {
	case errors.As(err, &p) && p.Status == http.StatusUnauthorized, errors.As(err, &handshake) && handshake.Code == http.StatusUnauthorized:
		return "make a token on the broker's machine (assent token create --role approve --name NAME), and set ASSENT_TOKEN to it"
	case noSpace(err), errors.Is(err, syscall.EDQUOT):
		return "free some space there, or choose another place (assent's own files: --state-dir DIR)"
	case errors.Is(err, syscall.EROFS) && !strings.Contains(err.Error(), "choose another"):
		return "nothing can be written there: choose another place (assent's own files: --state-dir DIR)"
	}
	return ""
}

// noSpace says whether err is that a disk is full. An engine hands on the words only.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "assent",
		Short: "A blocking permission broker for coding agents",
		Long: `assent holds each permission request of a coding agent until a person answers, and returns the
answer to the waiting agent. Without a command, assent lists the requests that are waiting.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no broker can be reached, 4 the broker refused. The
hook client always exits with 0.`,
		Example: `  assent up                         set everything up, step by step
  assent phone                      answer on a phone
  assent simulate                   raise a sample request, without an agent
  assent                            what waits, and where
  assent allow 417                  allow request 417
  assent watch                      follow and answer requests`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return helpOrUnknown(c, args)
			}
			return a.status(c.Context())
		},
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // ours has an example
	}
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "", "state directory (default $ASSENT_STATE_DIR, else $XDG_STATE_HOME/assent, else ~/.local/state/assent)")
	root.PersistentFlags().StringVar(&a.url, "url", "", "URL of a broker elsewhere, https or on loopback (default $ASSENT_URL); set its token in $ASSENT_TOKEN")
	root.PersistentFlags().StringVar(&a.caCert, "cacert", "", "certificates to trust for --url instead of the system's")
	root.Flags().BoolVar(&a.json, "json", false, "print JSON: waiting, sessions, devices, requests")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		hint := "see " + c.CommandPath() + " --help"
		if strings.HasSuffix(c.Use, "-- COMMAND") {
			hint = "put the command in quotes, behind --: " + c.CommandPath() + " -- 'git push -f'"
		}
		return usagef("%w; %s", err, hint)
	})
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return a.locate(c, os.Getenv) }
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"First run:", []*cobra.Command{a.upCmd(), a.installCmd(), a.uninstallCmd(), a.phoneCmd(), a.joinCmd(), a.doctorCmd(), a.simulateCmd()}},
		{"Answering:", []*cobra.Command{a.pendingCmd(), a.allowCmd(), a.denyCmd(), a.handBackCmd(), a.watchCmd(), a.stopCmd(), a.pauseCmd(), a.traceCmd(), a.auditCmd(), a.proposalsCmd(), a.grantsCmd()}},
		{"Rules:", []*cobra.Command{a.rulesCmd(), a.effectsCmd()}},
		{"Looking back:", []*cobra.Command{a.sessionsCmd(), a.sayCmd(), a.feedCmd(), a.searchCmd(), a.ledgerCmd(), a.forgetCmd()}},
		{"Running:", []*cobra.Command{a.serveCmd(), a.serviceCmd(), a.updateCmd(), a.repairCmd(), a.relayCmd(), a.approverCmd(), a.pairCmd(), a.deviceCmd(), a.tokenCmd(), a.agentCmd(), a.noticesCmd()}},
		{"For programs:", []*cobra.Command{a.eventsCmd(), a.natsInfoCmd(), a.natsAccountsCmd(), a.healthCmd(), a.hookCmd(), a.containCmd(), a.mcpCmd(), a.acpCmd(), a.ciCmd(), a.tortureCmd()}},
		{aboutGroup, []*cobra.Command{a.versionCmd(), a.completionCmd(), a.manCmd()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			c.SuggestionsMinimumDistance = 2
			argsAreUsage(c)
			root.AddCommand(c)
		}
	}
	root.SuggestionsMinimumDistance = 2
	a.mendHelp(root)
	a.completeWords(root)
	return root
}

// elsewhere is what to call instead of names that other programs have for the same.
var elsewhere = map[string]string{ // read-only
	"status":  "assent alone says what waits; assent doctor checks the setup",
	"list":    "assent pending lists what waits; assent sessions lists the sessions",
	"history": "assent feed SESSION says what happened in a session; assent trace 17 has the history of a request",
	"log":     "assent feed SESSION says what happened in a session; assent trace 17 has the history of a request",
	"logs":    "assent feed SESSION says what happened in a session; assent trace 17 has the history of a request",
	"start":   "assent up sets everything up; assent serve starts the broker only",
	"run":     "assent up sets everything up; assent serve starts the broker only",
	"explain": "assent rules explain -- COMMAND says which rule decides; assent trace 17 why a request was answered as it was",
	"devices": "assent device list lists the paired devices",
	"approve": "to allow a request: assent allow 17",
}

// helpOrUnknown runs a command that only has commands below it.
func helpOrUnknown(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hint := "see " + c.CommandPath() + " --help"
	if instead := elsewhere[args[0]]; instead != "" && !c.HasParent() {
		hint = instead
	} else if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("unknown command %q; %s", args[0], hint)
}

// mendHelp makes help for a command that does not exist an error: cobra would show the help of
// its parent and succeed.
func (a *app) mendHelp(root *cobra.Command) {
	help := fitHelp(root.HelpFunc())
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if rest := c.Flags().Args(); c.HasSubCommands() && len(rest) > 0 {
			a.helpErr = helpOrUnknown(c, rest)
			return
		}
		help(c, args)
	})
	root.SetHelpCommandGroupID(root.Groups()[0].ID)
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", GroupID: root.Groups()[0].ID, Short: "Help about a command",
		Long:    "Print the help of a command, as COMMAND --help does. Without a command, list all commands.",
		Example: "  assent help simulate",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err == nil && c.HasSubCommands() && len(rest) > 0 {
				err = helpOrUnknown(c, rest)
			}
			if err != nil {
				return err
			}
			return c.Help()
		},
	})
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
