package ci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"assent/internal/agent/claude/install"
	"assent/internal/ci/report"
	"assent/internal/text/show"
)

// Options say what is run and whom it asks. All functions are required.
type Options struct {
	Agent   Agent
	Timeout time.Duration // how long a request waits for an answer
	// ClientVersion is that of the agent; empty: the agent is asked.
	ClientVersion string
	// FailOnDeny makes the exit code Denied if anything was denied.
	FailOnDeny bool
	// Report is where the report is written, without the endings of its files; empty: nowhere.
	Report string
	// Command is the whole command line, and Version that of assent, for the report.
	Command []string
	Version string
	// URL is the broker that is asked; empty: one of our own, whose state is in StateDir. If that is
	// empty the state goes when the run ends.
	URL, StateDir string

	// In, Out and Err are the agent's too. Terminal says that In is one.
	In       io.Reader
	Out, Err io.Writer
	Terminal bool

	// Start makes ready whom to ask. It gives up when early ends; a broker of our own, with its state
	// in stateDir, ends with ctx.
	Start func(ctx, early context.Context, stateDir string) (*Broker, error)
	// Listen makes a unix socket that only the user can reach. remove takes it away again.
	Listen func(path string) (l net.Listener, remove func(), err error)
	// Hook is the command that a hook runs to ask the broker on socket.
	Hook func(socket string) ([]string, error)
	// Settings are those of this machine and project, as far as they are known.
	Settings func() []install.Settings
	// ExitCode is that of a command that ends with err.
	ExitCode func(err error) int
}

// Denied is the exit code of a run in which something was denied, with Options.FailOnDeny.
const Denied = 86

// run is one run.
type run struct {
	Options
	dir     string // of this run alone: settings, the sockets, and the broker's state unless that is kept
	proxy   *HookProxy
	rep     report.Run
	made    []string         // files and directories of the hooks, which go when the run ends
	signals <-chan os.Signal // from the start until the report is written

	mu sync.Mutex // guards writes to Err
}

// forwarded are the signals that are handed on to the agent, and SIGPIPE: that nobody reads our
// output any more does not end the run.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE}

// Run runs the agent and writes the report, also when the agent was not started. code is the exit
// code of the command; err is why the agent was not started or the report not written. Signals are
// handed on to the agent, so ctx does not end a run.
func Run(ctx context.Context, o Options) (code int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	r := &run{Options: o, signals: signals}
	return r.run(ctx)
}

func (r *run) run(ctx context.Context) (int, error) {
	r.rep = report.Run{Version: r.Version, Broker: "private", StartedAt: time.Now().UTC(), Timeout: r.Timeout.Seconds()}
	if r.URL != "" {
		r.rep.Broker = r.URL
	}
	for _, w := range r.Command {
		r.rep.Command = append(r.rep.Command, show.Short(w, 200))
	}
	code, err := r.guarded(ctx)
	if err != nil {
		r.problem("not-started", err.Error(), true)
		r.rep.Exit = r.ExitCode(err)
		if s := (*signalError)(nil); errors.As(err, &s) {
			r.rep.Exit = 128 + int(s.signal)
		}
	} else {
		r.rep.AgentExit, r.rep.Exit = &code, code
	}
	r.rep.EndedAt = time.Now().UTC()
	if err == nil && r.FailOnDeny && r.rep.Failed() {
		r.rep.Exit = Denied
	}
	if r.Report != "" {
		if werr := report.Write(r.Report, r.rep); werr != nil {
			if err = errors.Join(err, werr); r.rep.Exit == 0 {
				r.rep.Exit = r.ExitCode(werr)
			}
		}
	}
	if r.rep.AgentExit != nil {
		r.sum()
	}
	return r.rep.Exit, err
}

// guarded starts the broker, the proxy and the agent, and returns the agent's exit code.
func (r *run) guarded(ctx context.Context) (code int, err error) {
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

	b, err := r.Start(ctx, early, r.brokerDir())
	if early.Err() != nil && err != nil {
		return 0, interrupted()
	}
	if err != nil {
		return 0, err
	}
	if b.Stop != nil {
		defer b.Stop()
	}
	if refuse != "" {
		r.problem("unknown-version", refuse, true)
	}

	socket := filepath.Join(r.guardedDir(), "ci.sock")
	l, remove, err := r.Listen(socket)
	if err != nil {
		return 0, err
	}
	r.proxy = New(Config{
		Ask: b.ask, Tell: b.notify, Timeout: r.Timeout, Refuse: refuse, Propose: b.propose,
		Waits: func(q report.Request) {
			r.say("waits, for %v at most: %s: %s (request %s)", r.Timeout, q.Tool, q.Summary, q.ID)
		},
		Ended: func(q report.Request) { r.say("%s", q.Line()) },
	})
	srv := &http.Server{Handler: r.proxy, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l) // until Close
	}()
	defer func() {
		_ = srv.Close()
		<-served
		remove()
	}()

	defer func() {
		for _, path := range r.made {
			_ = os.RemoveAll(path) // the directory may be one that stays
		}
	}()
	ours, err := r.Agent.client.hooks(early, r, socket)
	if early.Err() != nil && err != nil {
		return 0, interrupted()
	}
	if err != nil {
		return 0, err
	}
	r.Agent.client.others(r)
	r.say("%s", r.about())
	if err := interrupted(); err != nil {
		return 0, err
	}
	code, err = r.Agent.run(&r.Options, ours, socket, r.signals)
	if err != nil {
		return 0, err
	}
	_ = srv.Close() // a hook that the agent left behind has nobody to answer to
	r.proxy.End()
	r.settled()
	return code, nil
}

// signalError says that a signal came before the agent was started.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string {
	return fmt.Sprintf("ended by a signal (%v) before the agent was started", e.signal)
}

// untilSignal returns a context that ends with the first signal, for as long as there is no agent to
// hand it on to. interrupted ends that, and says which signal it was, if one came.
func (r *run) untilSignal(ctx context.Context) (early context.Context, interrupted func() error) {
	early, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var first os.Signal
	go func() {
		defer close(done)
		for {
			select {
			case s := <-r.signals:
				if s == syscall.SIGPIPE {
					continue
				}
				first = s
				cancel()
				return
			case <-early.Done():
				return
			}
		}
	}()
	return early, func() error {
		cancel()
		<-done
		if s, ok := first.(syscall.Signal); ok {
			return &signalError{s}
		}
		return nil
	}
}

// about says what is about to happen.
func (r *run) about() string {
	switch {
	case r.URL != "":
		return fmt.Sprintf("asks the broker at %s; a request waits for %v at most", r.URL, r.Timeout)
	case r.StateDir == "":
		return fmt.Sprintf("asks a broker of its own, where only rules decide; any other request is denied after %v", r.Timeout)
	}
	return fmt.Sprintf("asks a broker of its own; a request waits for %v at most; to answer one: assent pending --state-dir %s", r.Timeout, show.Line(r.StateDir))
}

// brokerDir is the state directory of a broker of our own.
func (r *run) brokerDir() string {
	if r.StateDir != "" {
		return r.StateDir
	}
	return filepath.Join(r.dir, "state")
}

// guardedDir is a directory whose files no rule of a broker of our own lets anybody touch.
func (r *run) guardedDir() string {
	if r.URL == "" {
		return r.brokerDir()
	}
	return r.dir
}

// settled takes over what the proxy kept.
func (r *run) settled() {
	requests, omitted, events, lost := r.proxy.Settled()
	r.rep.Requests, r.rep.Omitted = requests, omitted
	switch {
	case events == 0:
		r.problem("no-hooks", "no hook of this run ever asked assent: "+r.Agent.Title()+" did not read what it was given, or ended before it did anything", true)
	case lost != "":
		r.problem("events", "not every event reached the broker: "+lost, false)
	}
}

// sum ends the output with the numbers of the run.
func (r *run) sum() {
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
	if r.Report != "" {
		where = "; see " + r.Report + ".md"
	}
	r.say("%d allowed, %d denied%s", allowed, denied, where)
}

// problem notes something about the run, once, and says it.
func (r *run) problem(key, text string, bad bool) {
	if slices.ContainsFunc(r.rep.Problems, func(p report.Problem) bool { return p.Text == text }) {
		return
	}
	text = show.Line(text)
	r.rep.Problems = append(r.rep.Problems, report.Problem{Key: key, Text: text, Error: bad})
	if key != "not-started" { // that one is printed as the command's error
		r.say("%s", text)
	}
}

// say writes a line of ours beside the agent's output.
func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.Err, "assent: "+noCommand.Replace(fmt.Sprintf(format, args...))+"\n")
}

// noCommand breaks what GitHub's and Azure's runners would carry out wherever it is in a line of a
// job's output.
var noCommand = strings.NewReplacer("##[", "## [", "##vso[", "## vso[")

// privateDir makes a directory of our own with a path that is short enough for a socket in it.
func privateDir() (string, error) {
	const longest = 60
	parent := os.TempDir()
	if len(parent) > longest {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "assent-ci-")
	if err != nil {
		return "", fmt.Errorf("make a directory for this run: %w; set TMPDIR to one that can be written", err)
	}
	return dir, nil
}
