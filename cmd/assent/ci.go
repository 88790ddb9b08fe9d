package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/install"
	"assent/internal/ci"
	"assent/internal/ci/report"
	"assent/internal/text/show"
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
		Use:     "ci",
		Short:   "Run an agent without a person: rules and approvers decide, or nobody",
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
		Use:   "run [flags] -- claude ARGS",
		Short: "Run claude -p under rules, and deny what nobody allows in time",
		Long: `Run an agent in a pipeline. What a rule allows runs, what a rule denies does not, and what no
rule decides waits for an approver, for --timeout at most, and is then denied with words that the
model can act on. So is everything while no broker can be asked.

By default the command brings a broker of its own, with the rules of --rules. With --url or
ASSENT_URL it asks the broker there, with the token in ASSENT_TOKEN: one of role submit that
expires suffices (there: assent token create --role submit --name ci --ttl 2h). The agent does not
get the token.

Nobody's settings are changed: the hooks stand in a file that is handed to claude with --settings.
Settings of your own that claude is given with --settings are kept.

The command hands on signals and the agent's exit code. With --fail-on-deny the code is 86 if
anything was denied. --report PATH writes PATH.md, PATH.xml (JUnit) and PATH.json: each request,
what became of it and why, and for the denied ones a rule that would have allowed it.`,
		Example: `  assent ci run -- claude -p "fix the tests"
  assent ci run --rules ci/rules.yaml --report out/assent --fail-on-deny -- claude -p "fix the tests"
  ASSENT_URL=https://box.example.net ASSENT_TOKEN=... assent ci run --timeout 10m -- claude -p "release"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.keep = cmd.Flags().Changed("state-dir")
			r, err := a.newCIRun(f, args)
			if err != nil {
				return err
			}
			return r.run(cmd.Context())
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

// ciRun is one run of the command.
type ciRun struct {
	*app
	f     ciFlags
	agent ciAgent
	dir   string // of this run alone: settings, the sockets, and the broker's state unless kept
	relay *ci.Relay
	rep   report.Run

	signals <-chan os.Signal // those of ciSignals, from the start until the report is written

	mu sync.Mutex // guards writes to err
}

// newCIRun checks what was asked for, before anything is done.
func (a *app) newCIRun(f ciFlags, args []string) (*ciRun, error) {
	switch {
	case f.timeout < shortestCI || f.timeout > longestCI:
		return nil, usagef("--timeout %v: want %v to %v", f.timeout, shortestCI, longestCI)
	case a.url != "" && f.rules != "":
		return nil, usagef("--rules is for the command's own broker; the one at %s has its own rules", a.url)
	case a.url != "" && os.Getenv("ASSENT_TOKEN") == "":
		return nil, usagef("set ASSENT_TOKEN to a token of the broker at %s; there: assent token create --role submit --name ci --ttl 2h", a.url)
	}
	agent, err := newCIAgent(args)
	if err != nil {
		return nil, err
	}
	if f.report != "" {
		if err := report.Writable(f.report); err != nil {
			return nil, err
		}
	}
	r := &ciRun{app: a, f: f, agent: agent}
	r.rep = report.Run{Version: version(), Broker: "private", StartedAt: time.Now().UTC(), Timeout: f.timeout.Seconds()}
	if a.url != "" {
		r.rep.Broker = a.url
	}
	for _, w := range args {
		r.rep.Command = append(r.rep.Command, show.Short(w, 200))
	}
	return r, nil
}

// run runs the agent and reports. Whatever fails before the agent starts, is in the report too.
func (r *ciRun) run(ctx context.Context) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, ciSignals...)
	defer signal.Stop(signals)
	r.signals = signals
	code, err := r.guarded(ctx)
	if err != nil {
		r.problem("not-started", err.Error(), true)
		r.rep.Exit = exitFailed
		var e *exitError
		if errors.As(err, &e) {
			r.rep.Exit = e.code
		}
	} else {
		r.rep.AgentExit, r.rep.Exit = &code, code
	}
	r.rep.EndedAt = time.Now().UTC()
	if err == nil && r.f.failOnDeny && r.rep.Failed() {
		r.rep.Exit = exitDenied
	}
	if r.f.report != "" {
		if werr := report.Write(r.f.report, r.rep); werr != nil {
			if err = errors.Join(err, werr); r.rep.Exit == 0 {
				r.rep.Exit = exitFailed
			}
		}
	}
	if r.rep.AgentExit != nil {
		r.sum()
	}
	if err == nil && r.rep.Exit == 0 {
		return nil
	}
	return &exitError{code: r.rep.Exit, err: err}
}

// guarded starts the broker, the relay and the agent, and returns the agent's exit code.
func (r *ciRun) guarded(ctx context.Context) (code int, err error) {
	// A signal is for the agent: what it asks on its way out is still answered.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if r.dir, err = privateDir(); err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(r.dir) }()
	early, interrupted := r.untilSignal(ctx)
	refuse := r.checkVersion(early)
	if early.Err() != nil {
		return 0, interrupted()
	}

	b, err := r.startBroker(ctx, early)
	if early.Err() != nil && err != nil {
		return 0, interrupted()
	}
	if err != nil {
		return 0, err
	}
	defer b.close()
	if refuse != "" {
		r.problem("unknown-version", refuse, true)
	}

	socket := filepath.Join(r.guardedDir(), "ci.sock")
	l, err := listenUnix("--state-dir", socket, "")
	if err != nil {
		return 0, err
	}
	r.relay = ci.New(ci.Config{
		Ask: b.ask, Tell: b.tell, Timeout: r.f.timeout, Refuse: refuse, Propose: b.propose,
		Waits: func(q report.Request) {
			r.say("waits, for %v at most: %s: %s (request %s)", r.f.timeout, q.Tool, q.Summary, q.ID)
		},
		Ended: func(q report.Request) { r.say("%s", q.Line()) },
	})
	srv := &http.Server{Handler: r.relay, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l) // until Close
	}()
	defer func() {
		_ = srv.Close()
		<-served
		l.remove()
	}()

	settings, err := r.writeSettings(socket)
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(settings) }() // the directory may be one that stays
	r.checkOthers()
	r.say("%s", r.about())
	if err := interrupted(); err != nil {
		return 0, err
	}
	code, err = r.agent.run(r.app, settings, socket, r.signals)
	if err != nil {
		return 0, err
	}
	_ = srv.Close() // a hook that the agent left behind is one that nobody hears
	r.relay.End()
	r.settled()
	return code, nil
}

// about says what is about to happen.
func (r *ciRun) about() string {
	if r.url != "" {
		return fmt.Sprintf("asks the broker at %s; a request waits for %v at most", r.url, r.f.timeout)
	}
	if !r.f.keep {
		return fmt.Sprintf("asks a broker of its own, where only rules decide; any other request is denied after %v", r.f.timeout)
	}
	return fmt.Sprintf("asks a broker of its own; a request waits for %v at most; to answer one: assent pending --state-dir %s", r.f.timeout, show.Line(r.stateDir))
}

// guardedDir is the directory whose files no rule of a private broker lets anybody touch.
func (r *ciRun) guardedDir() string {
	if r.url == "" {
		return r.stateDir
	}
	return r.dir
}

// settled takes over what the relay kept.
func (r *ciRun) settled() {
	requests, omitted, events, lost := r.relay.Settled()
	r.rep.Requests, r.rep.Omitted = requests, omitted
	switch {
	case events == 0:
		r.problem("no-hooks", "no hook of this run ever asked assent: claude did not read the settings it was given, or ended before it did anything", true)
	case lost != "":
		r.problem("events", "not every event reached the broker: "+lost, false)
	}
}

// sum ends the output with what became of it all.
func (r *ciRun) sum() {
	allowed, denied := 0, 0
	for _, q := range r.rep.Requests {
		switch q.Verdict {
		case report.Allowed:
			allowed++
		case report.Denied:
			denied++
		}
	}
	where := ""
	if r.f.report != "" {
		where = "; see " + r.f.report + ".md"
	}
	r.say("%d allowed, %d denied%s", allowed, denied, where)
}

// problem notes something about the run, and says it.
func (r *ciRun) problem(key, text string, bad bool) {
	if slices.ContainsFunc(r.rep.Problems, func(p report.Problem) bool { return p.Text == text }) {
		return
	}
	text = show.Line(text)
	r.rep.Problems = append(r.rep.Problems, report.Problem{Key: key, Text: text, Error: bad})
	if key != "not-started" { // that one is said as the command's error
		r.say("%s", text)
	}
}

// say writes a line of ours beside the agent's output.
func (r *ciRun) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.err, "assent: "+noCommand.Replace(fmt.Sprintf(format, args...))+"\n")
}

// noCommand takes the meaning from what GitHub's and Azure's runners carry out wherever it stands in
// a line of a job's output.
var noCommand = strings.NewReplacer("##[", "## [", "##vso[", "## vso[")

// privateDir makes a directory of our own with a path that is short enough for a socket in it.
func privateDir() (string, error) {
	const room = 60
	parent := os.TempDir()
	if len(parent) > room {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "assent-ci-")
	if err != nil {
		return "", fmt.Errorf("make a directory for this run: %w; set TMPDIR to one that can be written", err)
	}
	return dir, nil
}
