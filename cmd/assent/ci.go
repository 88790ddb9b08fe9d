package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/auth"
	"assent/internal/ci"
	"assent/internal/ci/report"
	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/policy/suggest"
	"assent/internal/setup/statedir"
	"assent/internal/terminal"
)

// ciFlags are the flags of assent ci run.
type ciFlags struct {
	timeout       time.Duration
	report        string
	failOnDeny    bool
	rules         string
	claudeVersion string
	keep          bool // --state-dir was given
}

func (a *app) ciCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "ci",
		Short: "Run an agent unattended: rules and approvers decide",
		Long: `Run a coding agent where no person watches, such as in a pipeline. Rules decide first, approvers
can answer the rest, and what nobody allows in time is denied. See docs/ci.md.`,
		Example: "  assent ci run --report assent -- claude -p \"fix the tests\"",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	c.AddCommand(a.ciRunCmd())
	return c
}

func (a *app) ciRunCmd() *cobra.Command {
	var f ciFlags
	c := &cobra.Command{
		Use:   "run [flags] -- AGENT ARGS",
		Short: "Run claude -p, codex exec or copilot -p under rules; deny what is not allowed in time",
		Long: `Run an agent in a pipeline. What a rule allows runs, and what a rule denies does not. What no rule
decides waits for an approver, at most for --timeout, and is then denied with a message that the
model can act on. While no broker can be reached, everything is denied.

By default the command starts a broker of its own, with the rules of --rules. With --url or
ASSENT_URL it asks that broker, with the token in ASSENT_TOKEN: a token of role submit that
expires is enough (on the broker's machine: assent token create --role submit --name ci --ttl 2h).
The agent does not get the token.

AGENT is claude, codex or copilot, or a program that passes its arguments on to one of them, such
as npx. No settings file is changed: claude gets the hooks with --settings, and your own
--settings are kept; codex exec, which needs --approve-for-me, gets them with -c, and copilot with
--plugin-dir.

Signals are passed on to the agent, and the exit code is the agent's. With --fail-on-deny the exit
code is 86 if anything was denied. --report PATH writes PATH.md, PATH.xml (JUnit) and PATH.json:
each request, its outcome and the reason, and for denied requests a rule that would have allowed
them.`,
		Example: `  assent ci run -- claude -p "fix the tests"
  assent ci run --rules ci/rules.yaml --report out/assent --fail-on-deny -- claude -p "fix the tests"
  assent ci run --rules ci/rules.yaml -- codex exec --approve-for-me "fix the tests"
  ASSENT_URL=https://box.example.net ASSENT_TOKEN=... assent ci run --timeout 10m -- claude -p "release"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.keep = cmd.Flags().Changed("state-dir")
			return a.ciRun(cmd.Context(), f, args)
		},
	}
	fl := c.Flags()
	fl.SetInterspersed(false) // what follows the agent's name is the agent's, with or without --
	fl.DurationVar(&f.timeout, "timeout", install.CIWait, "how long a request waits for an answer before it is denied")
	fl.StringVar(&f.report, "report", "", "write a report to PATH.md, PATH.xml and PATH.json")
	fl.BoolVar(&f.failOnDeny, "fail-on-deny", false, "exit with 86 if anything was denied")
	fl.StringVar(&f.rules, "rules", "", "file of rules for the command's own broker (default $XDG_CONFIG_HOME/assent/rules.yaml, if it is there)")
	fl.StringVar(&f.claudeVersion, "claude-version", "", "the version that is run, instead of asking it")
	return c
}

// Bounds of --timeout. The agent's own limit for a hook is a day and more.
const (
	shortestCI = time.Second
	longestCI  = 24 * time.Hour
)

// ciRun checks what was asked for, before anything is done, and runs it.
func (a *app) ciRun(ctx context.Context, f ciFlags, args []string) error {
	switch {
	case f.timeout < shortestCI || f.timeout > longestCI:
		return usagef("--timeout %v: want %v to %v", f.timeout, shortestCI, longestCI)
	case a.url != "" && f.rules != "":
		return usagef("--rules is for the command's own broker; the one at %s has its own rules", a.url)
	case a.url != "" && os.Getenv("ASSENT_TOKEN") == "":
		return usagef("set ASSENT_TOKEN to a token of the broker at %s; there: assent token create --role submit --name ci --ttl 2h", a.url)
	}
	agent, err := ci.ParseAgent(args)
	if err != nil {
		return usagef("%w", err)
	}
	if f.report != "" {
		if err := report.Writable(f.report); err != nil {
			return err
		}
	}
	o := ci.Options{
		Agent: agent, Timeout: f.timeout, ClientVersion: f.claudeVersion, FailOnDeny: f.failOnDeny, Report: f.report,
		Command: args, Version: version(), URL: a.url,
		In: a.in, Out: a.out, Err: a.err, Terminal: terminal.IsTerminal(a.in),
		Listen: func(path string) (net.Listener, func(), error) {
			l, err := listenUnix("--state-dir", path, "")
			if err != nil {
				return nil, nil, err
			}
			return l, l.Remove, nil
		},
		Hook:     func(socket string) ([]string, error) { return a.hookCommand(installFlags{socket: socket}) },
		Settings: a.settingsHere,
		ExitCode: func(err error) int {
			if e := (*exitError)(nil); errors.As(err, &e) {
				return e.code
			}
			return exitFailed
		},
	}
	if f.keep {
		o.StateDir = a.stateDir
	}
	o.Start = func(ctx, early context.Context, stateDir string) (*ci.Broker, error) {
		if a.url != "" {
			return a.ciRemote()
		}
		a.stateDir = stateDir
		return a.ciOwn(ctx, early, f)
	}
	code, err := ci.Run(ctx, o)
	if err == nil && code == 0 {
		return nil
	}
	return &exitError{code: code, err: err}
}

// settingsHere are the agent's settings that count in the current directory, none if they cannot be
// found: the agent says that itself.
func (a *app) settingsHere() []install.Settings {
	o, err := a.agentOptions()
	if err != nil {
		return nil
	}
	w, err := here()
	if err != nil {
		return nil
	}
	return install.Survey(o, w.cwd, w.root)
}

// ciRemote is the broker of --url.
func (a *app) ciRemote() (*ci.Broker, error) {
	b := &ci.Broker{Target: hookclient.Config{URL: a.url, Token: os.Getenv("ASSENT_TOKEN")}}
	// Whether an agent's words may leave the machine is said where it is said for hooks.
	if hooks, err := hookclient.ReadConfig(nil, os.Getenv); err == nil {
		b.Target.Transcript = hooks.Transcript
	}
	config, err := a.remoteTLS()
	if err != nil {
		return nil, err
	}
	dial := dialTLS(config)
	b.Target.Dial = func(ctx context.Context, to hookclient.URL) (net.Conn, error) {
		conn, err := dial(ctx, to)
		return conn, certificateError(err)
	}
	// Which rules hold there is not known here.
	b.Propose = proposals(files.Open(files.Config{}))
	return b, nil
}

// certificateError says what to do about a certificate that is not trusted.
func certificateError(err error) error {
	var unknown x509.UnknownAuthorityError
	var verify *tls.CertificateVerificationError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w; if the certificate is your own, name it: --cacert FILE", err)
	}
	if errors.As(err, &verify) {
		return fmt.Errorf("%w; is the URL right?", err)
	}
	return err
}

// ciOwn runs a broker in this process. Nobody else knows of it, unless --state-dir says where it is.
func (a *app) ciOwn(ctx, early context.Context, flags ciFlags) (*ci.Broker, error) {
	var f serveFlags
	f.add(pflag.NewFlagSet("", pflag.ContinueOnError)) // the defaults
	f.listen, f.natsListen, f.rules = "127.0.0.1:0", "off", flags.rules
	f.socket = filepath.Join(a.stateDir, "hook.sock")
	f.quiet, f.noLink = true, true
	// The agent has no prompt to which a request could be left, so each waits for as long as the run says.
	f.unattended, f.hold = unattendedHold, max(f.hold, flags.timeout)
	// The agent runs as the same person and would find a token that decides; and it may be allowed
	// to write files, but not the rules that it works under.
	f.noOwnerToken, f.rulesOnce = !flags.keep, true
	f.notices = noNotices // nobody who was notified could answer
	if f.rules != "" {
		if _, err := os.Stat(f.rules); err != nil {
			return nil, usagef("--rules: %w", err)
		}
	}
	// A file with a mistake would allow nothing, one denial after the other until the time is up.
	nothing := func(string, ...any) {}
	book := files.Open(a.rulebook(f, f.socket, nothing, nothing))
	if problems := book.InForce().Problems; len(problems) > 0 {
		p := problems[0]
		return nil, fmt.Errorf("rules: %s:%d: %s; fix it, and see: assent rules check %s", p.File, p.Line, p.Message, p.File)
	}
	stop, err := ci.StartOwn(ctx, early, a.stateDir, func(ctx context.Context, ready func()) error {
		return a.serve(ctx, f, func(*auth.Auth, string, statedir.Broker) { ready() })
	})
	if err != nil {
		return nil, err
	}
	return &ci.Broker{Target: hookclient.Config{Socket: f.socket}, Stop: stop, Propose: proposals(book)}, nil
}

// proposals makes rules that would have allowed a request under the rules of book.
func proposals(book *files.Book) func(context.Context, *hook.Request) ([]report.Proposal, string) {
	proposer := suggest.NewProposer(book, nil)
	return func(ctx context.Context, req *hook.Request) ([]report.Proposal, string) {
		p, err := proposer.Propose(ctx, req)
		if err != nil {
			return nil, "there was no time to make one"
		}
		var list []report.Proposal
		for _, x := range p.Proposals {
			list = append(list, report.Proposal{Sentence: x.Sentence, Warnings: x.Warnings, Rule: x.Rule})
		}
		return list, p.Reason
	}
}
