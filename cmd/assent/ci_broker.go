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
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/auth"
	"assent/internal/ci/report"
	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/policy/suggest"
)

// ciBroker is the broker that a run asks.
type ciBroker struct {
	target hookclient.Config
	rules  *suggest.Proposer
	stop   func() error // ends a private one; nil
}

// startBroker makes ready whom to ask: the broker of --url, or one of our own.
func (r *ciRun) startBroker(ctx, early context.Context) (*ciBroker, error) {
	if r.url == "" {
		return r.privateBroker(ctx, early)
	}
	b := &ciBroker{target: hookclient.Config{URL: r.url, Token: os.Getenv("ASSENT_TOKEN")}}
	config, err := r.remoteTLS()
	if err != nil {
		return nil, err
	}
	if dial := dialTLS(r.url, config); dial != nil {
		b.target.Dial = func(ctx context.Context) (net.Conn, error) {
			conn, err := dial(ctx)
			return conn, certificateError(err)
		}
	}
	// Which rules hold there is not known here.
	b.rules = suggest.NewProposer(files.Open(files.Config{}), nil)
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

// startTime bounds the start of a private broker, which takes a moment. Without room on the disk it
// would wait for some. stopTime bounds its end, after that.
const (
	startTime = 20 * time.Second
	stopTime  = 5 * time.Second
)

// privateBroker runs a broker in this process. Nobody else knows of it, unless --state-dir says
// where it is. It gives up the start when early ends; the broker ends with ctx.
func (r *ciRun) privateBroker(ctx, early context.Context) (*ciBroker, error) {
	if !r.f.keep {
		r.stateDir = filepath.Join(r.dir, "state")
	}
	var f serveFlags
	f.add(pflag.NewFlagSet("", pflag.ContinueOnError)) // the defaults
	f.listen, f.natsListen, f.rules = "127.0.0.1:0", "off", r.f.rules
	f.socket = filepath.Join(r.stateDir, "hook.sock")
	f.quiet, f.noLink = true, true
	// The agent runs as the same person and would find a token that decides; and it may be allowed
	// to write files, but not the rules that it works under.
	f.noOwnerToken, f.rulesOnce = !r.f.keep, true
	f.notices = noNotices // whoever is told could not answer
	if f.rules != "" {
		if _, err := os.Stat(f.rules); err != nil {
			return nil, usagef("--rules: %w", err)
		}
	}
	// A file with a mistake would allow nothing, one denial after the other until the time is up.
	nothing := func(string, ...any) {}
	book := files.Open(r.rulebook(f, f.socket, nothing, nothing))
	if problems := book.InForce().Problems; len(problems) > 0 {
		p := problems[0]
		return nil, fmt.Errorf("rules: %s:%d: %s; fix it, and see: assent rules check %s", p.File, p.Line, p.Message, p.File)
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- r.serve(ctx, f, func(*auth.Auth, string, runtimeInfo) { close(ready) })
	}()
	b := &ciBroker{target: hookclient.Config{Socket: f.socket}}
	b.stop = func() error { cancel(); return <-ended }
	late := time.NewTimer(startTime)
	defer late.Stop()
	giveUp := func(err error) (*ciBroker, error) {
		cancel()
		select {
		case <-ended:
		case <-time.After(stopTime): // the process ends soon
		}
		return nil, fmt.Errorf("start a broker for this run: %w", err)
	}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("start a broker for this run: %w", err)
	case <-early.Done():
		return giveUp(early.Err())
	case <-late.C:
		return giveUp(fmt.Errorf("it is not ready after %v; is there room in %s?", startTime, r.stateDir))
	}
	b.rules = suggest.NewProposer(book, nil)
	return b, nil
}

func (b *ciBroker) close() {
	if b.stop != nil {
		_ = b.stop() // what it had to say it said on standard error
	}
}

// ask is relay.Config's Ask.
func (b *ciBroker) ask(ctx context.Context, e hook.Event, patience time.Duration) hookclient.Answer {
	cfg := b.target
	cfg.Timeout, cfg.OnTimeout, cfg.OnFailure = patience, hook.Deny, hook.Deny
	return hookclient.Submit(ctx, cfg, e)
}

// tell is relay.Config's Tell.
func (b *ciBroker) tell(ctx context.Context, e hook.Event) string {
	return hookclient.Tell(ctx, b.target, e)
}

// propose is relay.Config's Propose.
func (b *ciBroker) propose(ctx context.Context, req *hook.Request) ([]report.Proposal, string) {
	p, err := b.rules.Propose(ctx, req)
	if err != nil {
		return nil, "there was no time to make one"
	}
	var list []report.Proposal
	for i, x := range p.Proposals {
		id := fmt.Sprintf("ci-%.8s-%d", req.ID, i+1)
		list = append(list, report.Proposal{Sentence: x.Sentence, Warnings: x.Warnings, Rule: named(x.Rule, id)})
	}
	return list, p.Reason
}

// named gives each rule of a proposal an id, so that it can be put into a file as it is.
func named(rules, id string) string {
	n := 0
	return ruleStart.ReplaceAllStringFunc(rules, func(string) string {
		if n++; n > 1 {
			return fmt.Sprintf("  - id: %s-%d\n    action:", id, n)
		}
		return "  - id: " + id + "\n    action:"
	})
}

var ruleStart = regexp.MustCompile(`(?m)^  - action:`)

// checkVersion finds the version of the client, and returns why nothing may be allowed under it;
// empty if it may.
func (r *ciRun) checkVersion(ctx context.Context) (refuse string) {
	v, err := r.f.claudeVersion, error(nil)
	if v == "" {
		v, err = r.agent.version(ctx)
	}
	switch {
	case err != nil:
		refuse = "the version of Claude Code is not known: " + err.Error()
	case !clientVersion.MatchString(v):
		refuse = fmt.Sprintf("the version of Claude Code is not known: %q is none", v)
	case install.Older(v, install.Oldest):
		refuse = fmt.Sprintf("Claude Code %s is older than %s, the oldest that assent was tried with: update it", v, install.Oldest)
	case major(v) != major(install.Newest):
		refuse = fmt.Sprintf("Claude Code %s is unknown to this assent, which was tried with versions from %s to %s: update assent", v, install.Oldest, install.Newest)
	}
	if refuse != "" {
		return refuse + "; until then every permission request is denied"
	}
	r.rep.ClientVersion = v
	switch {
	case v == install.Oldest:
		r.problem("no-permission-hook", "Claude Code "+v+" asks no hook for permission with -p, so neither rules nor approvers are asked: it denies by itself whatever needs permission, and this report does not see it; update Claude Code", true)
	case install.Older(install.Newest, v):
		r.problem("newer-version", fmt.Sprintf("Claude Code %s is newer than %s, the newest that this assent was tried with", v, install.Newest), false)
	}
	return ""
}

func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}

// writeSettings writes the settings file of this run.
func (r *ciRun) writeSettings(socket string) (path string, err error) {
	o := install.Options{CI: true, Wait: r.f.timeout, Versions: []string{r.rep.ClientVersion}}
	if r.rep.ClientVersion == "" {
		o.Versions = []string{install.Oldest} // what all know
	}
	if o.Command, err = r.hookCommand(installFlags{socket: socket}); err != nil {
		return "", err
	}
	name, base, err := r.agent.base()
	if err != nil {
		return "", err
	}
	text, err := install.Apart(o, name, base)
	if err != nil {
		return "", err
	}
	path = filepath.Join(r.guardedDir(), "settings.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("settings for this run: %w", err)
	}
	return path, nil
}

// checkOthers says what in the command line and in the settings of this machine and project gets
// between the agent and us.
func (r *ciRun) checkOthers() {
	if d := r.agent.decider; d != "" && !strings.Contains(d, "assent") {
		r.problem("second-decider", "the tool "+d+" answers permission requests too: both are asked, and the first decision counts, which this report may not see", false)
	}
	o, err := r.agentOptions()
	if err != nil {
		return // the agent says so itself
	}
	w, err := here()
	if err != nil {
		return
	}
	for _, s := range install.Survey(o, w.cwd, w.root) {
		if r.agent.leavesOut(s.Scope) {
			continue
		}
		if s.DisableAllHooks {
			r.problem("hooks-disabled", s.Path+" says disableAllHooks: no hook may run, and Claude Code then denies whatever needs permission", false)
		}
		if n := len(s.Allow); n > 0 {
			r.problem("allowed-elsewhere", fmt.Sprintf("%s allows %d kinds of calls: for them Claude Code asks nobody, and this report does not see them", s.Path, n), false)
		}
		has := func(event string, ours bool) bool {
			return slices.ContainsFunc(s.Hooks, func(h install.Hook) bool { return h.Event == event && h.Ours == ours })
		}
		const both = " answers permission requests too: both are asked, and the first decision counts, which this report may not see"
		if has(hook.EventPermissionRequest, false) {
			r.problem("second-decider", "a hook in "+s.Path+both, false)
		}
		if has(hook.EventPermissionRequest, true) { // it asks another broker, with its rules and approvers
			r.problem("second-decider", "the hook of assent in "+s.Path+both, false)
		}
		if has(hook.EventPreToolUse, false) {
			r.problem("hook-before", "a PreToolUse hook in "+s.Path+" may allow calls: then Claude Code asks nobody, and this report does not see them", false)
		}
	}
}
