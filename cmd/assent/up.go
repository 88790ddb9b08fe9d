package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"assent/internal/agent/claude/install"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/setup/installer"
	"assent/internal/setup/phone"
	"assent/internal/setup/statedir"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// upFlags are the answers to what assent up would ask.
type upFlags struct {
	install            installFlags
	serve              serveFlags
	service, noService bool
	noBrowser          bool
	role               string
}

func (a *app) upCmd() *cobra.Command {
	f := upFlags{role: "approve"}
	c := &cobra.Command{
		Use:   "up",
		Short: "Set everything up, step by step, and run the broker",
		Long: `The first run, in one command: start the broker, write the hooks into the settings of Claude Code
and of other agents that are found on this machine, pair a browser, and your phone if you like.
The command says what each step will do and asks first; Enter takes the recommended answer. Ctrl-C
stops at any point and leaves nothing half done. Steps that are already done are skipped, so you
can run the command again at any time.

Where there is a display, the browser is opened for you. Without a terminal nothing is asked: the
flags are the answers, and nothing else is changed.`,
		Example: `  assent up
  assent up --public-url https://box.example.net      for a phone; see docs/phone.md
  assent up --yes --service --ask                     for a script`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			given := cmd.Flags().Changed
			u := &up{app: a, f: f, otherFlags: slices.ContainsFunc([]string{"listen", "socket", "tls-cert", "public-url", "trusted-proxy", "amqp-url", "ledger", "hookd-socket", "mutation-tools"}, given)}
			return u.run(ctx)
		},
	}
	fl := c.Flags()
	f.install.addWhere(fl)
	f.install.addMode(fl)
	fl.BoolVar(&f.service, "service", false, "have the system keep the broker running after this terminal closes")
	fl.BoolVar(&f.noService, "no-service", false, "run the broker in this terminal")
	fl.BoolVar(&f.noBrowser, "no-browser", false, "open no browser; print the link only")
	fl.StringVar(&f.role, "role", f.role, "role of the paired browser: view, approve, operate or admin")
	f.serve.add(pflag.NewFlagSet("", pflag.ContinueOnError)) // the defaults of the others
	f.serve.addListen(fl)
	f.serve.addMutations(fl)
	return c
}

// up is one run of the command.
type up struct {
	*app
	f          upFlags
	otherFlags bool // a broker that runs already may have been told otherwise
	steps      int
	done       []string // what a person who stops here should know
	noAgent    bool
	hooks      outcome
	declined   bool       // the hooks were not wanted
	others     []string   // other agents that ask assent now
	invited    bool       // a link was shown
	paired     bool       // a browser is paired
	ended      chan error // gets the end of the broker that runs in this process; else nil
	log        heldLog    // what that one logs until the steps are done
}

// run takes the steps. The broker comes first: the hooks name the socket that it really has. If
// it runs in this process, it ends before run returns.
func (u *up) run(ctx context.Context) (err error) {
	if err := u.begin(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer u.log.release()
	defer func() {
		cancel()
		if u.ended != nil {
			err = errors.Join(err, <-u.ended)
		}
	}()
	u.tell("assent asks you before your coding agent acts. Ctrl-C stops at any point and breaks nothing.")
	for _, step := range []func(context.Context) error{u.startBroker, u.writeHooks, u.writeOthers, u.pairBrowser, u.addPhone, u.offerAgents} {
		if err := step(ctx); err != nil {
			return u.stopped(ctx, err)
		}
	}
	u.next()
	u.log.release()
	if u.ended == nil {
		return nil
	}
	err, u.ended = <-u.ended, nil
	if err == nil {
		u.tell("\nThe broker has stopped. Until one runs again, Claude Code asks in its terminal only.")
	}
	return err
}

// begin finds out, before anything is done, what would fail later.
func (u *up) begin(ctx context.Context) error {
	switch u.f.role {
	case "view", "approve", "operate", "admin":
	default:
		return usagef("--role: want view, approve, operate or admin")
	}
	if u.f.service && u.f.noService {
		return usagef("--service and --no-service exclude each other; give one")
	}
	if _, err := u.f.serve.check(); err != nil {
		return err
	}
	o, at, err := u.installOptions(u.f.install)
	if err != nil {
		return err
	}
	for _, s := range install.Survey(o, at.cwd, at.root) {
		u.f.install.keepMode = u.f.install.keepMode || slices.ContainsFunc(s.Hooks, func(h install.Hook) bool {
			return h.Ours && h.Event == hook.EventPermissionRequest
		})
	}
	u.noAgent = len(install.Clients(ctx, os.Getenv("PATH"), o.Home)) == 0
	if !u.noAgent && !u.f.install.keepMode && !u.f.install.yes && !u.interactive() {
		return usagef("there is no terminal to ask on, so nothing was changed: --yes writes the hooks, assent install --print shows them")
	}
	return nil
}

// title begins a step.
func (u *up) title(text string) {
	u.steps++
	u.tell(fmt.Sprintf("\n%d. %s", u.steps, text))
}

// writeHooks has the agent ask assent.
func (u *up) writeHooks(ctx context.Context) error {
	u.title("Hooks: have Claude Code ask assent")
	if u.noAgent && len(u.otherAgents()) > 0 {
		u.tell("No claude was found on PATH, but other agents were.")
		return nil
	}
	if u.noAgent {
		u.tell("No claude was found on PATH, so there is nothing to install yet. Once it is there, run assent up again, or assent install. The rest works without it.")
		return nil
	}
	var err error
	u.hooks, err = u.install(ctx, u.f.install) // by default for the broker that runs
	switch {
	case errors.Is(err, errDeclined):
		u.declined = true
		u.tell("Nothing was written. Claude Code will not ask assent; to change that later: assent install")
	case err != nil:
		return err
	case u.hooks.Applied:
		u.done = append(u.done, "the hooks are written (assent uninstall takes them out)")
		u.tell("Claude Code asks assent from now on, in open sessions too.")
	}
	return nil
}

// otherAgents are the agents of this machine besides Claude Code.
func (u *up) otherAgents() []installer.Found {
	return slices.DeleteFunc(installer.OnMachine(os.Getenv), func(f installer.Found) bool { return f.Name == installer.Claude })
}

// writeOthers has the other agents of this machine ask assent too. What goes wrong there ends nothing.
func (u *up) writeOthers(ctx context.Context) error {
	others := u.otherAgents()
	if len(others) == 0 {
		return nil
	}
	u.title("Other agents: the same queue for what they ask")
	if !u.interactive() && !u.f.install.yes {
		u.tell(fmt.Sprintf("%s here too. To have them ask assent: %s install --all", listed(others), typed()))
		return nil
	}
	f := u.f.install
	f.scope, f.agent, f.ask = string(install.User), installer.Claude, ""
	done, err := u.eachAgent(ctx, f, u.installEach, others)
	for _, d := range done {
		if d.Error == "" && !d.Declined {
			u.others = append(u.others, d.title)
			if d.Applied {
				u.done = append(u.done, "hooks of "+d.title+" are written (assent uninstall "+d.Agent+" takes them out)")
			}
		}
	}
	if err != nil {
		return err
	}
	if err := u.tellAll(done); err != nil {
		u.tell(fmt.Sprintf("Everything else works. To try again: %s install --all", typed()))
	}
	return nil
}

// listed names agents in a sentence.
func listed(found []installer.Found) string {
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.Title
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are"
}

// startBroker sees to it that one runs: as it does already, as a service, or in this process.
func (u *up) startBroker(ctx context.Context) error {
	u.title("Broker: it keeps each request until you answer")
	if info, _ := u.ready(ctx); info.PID != 0 && !u.f.service {
		u.tell(fmt.Sprintf("It runs already, at %s (pid %d).", info.HTTPURL, info.PID))
		u.passOver()
		return nil
	}
	wanted, err := u.wantsService(ctx)
	if err != nil {
		return err
	}
	if wanted {
		if err = u.keepRunning(ctx); err == nil || u.f.service || ctx.Err() != nil {
			return err
		}
		u.tell(fmt.Sprintf("That did not work: %s\nSo it runs in this terminal.", readable(err.Error())))
	}
	return u.inThisTerminal(ctx)
}

// passOver says that flags were given in vain.
func (u *up) passOver() {
	if u.otherFlags {
		u.tell("It goes on with the flags it was started with, not with those given here.")
	}
}

// wantsService asks, where there is somebody to ask and something to ask about.
func (u *up) wantsService(ctx context.Context) (bool, error) {
	if u.f.service || u.f.noService {
		return u.f.service, nil
	}
	s, err := u.app.service()
	if err != nil || s.Answers(ctx) != nil {
		return false, nil
	}
	if text, err := s.Installed(); err != nil || text != "" {
		return err == nil && s.Serves(text, u.stateDir), nil // else another broker's
	}
	if !u.interactive() || u.f.install.yes {
		return false, nil
	}
	u.tell("It can run in the background, also after every login, or in this terminal until you close it.")
	return u.confirm(ctx, "Keep it running in the background (recommended; a "+s.Kind()+" service of yours)?", true)
}

// keepRunning starts the service that is installed, as it is, or installs one.
func (u *up) keepRunning(ctx context.Context) error {
	s, err := u.app.service()
	if err != nil {
		return err
	}
	text, err := s.Installed()
	if err != nil {
		return err
	}
	if !s.Serves(text, u.stateDir) {
		if _, err = u.installService(ctx, u.f.serve); err == nil {
			u.done = append(u.done, "the broker runs as a service (assent service uninstall removes it)")
			u.printService(u.serviceStatus(ctx))
		}
		return err
	}
	if info, ok := u.ready(ctx); ok {
		u.tell(fmt.Sprintf("It runs already, at %s (pid %d).", info.HTTPURL, info.PID))
		u.passOver()
		return nil
	}
	if err := s.Start(); err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	if err := s.Await(ctx, 0); err != nil {
		return err
	}
	u.tell("The service was down; it runs again.")
	u.passOver()
	return nil
}

// inThisTerminal runs the broker in this process and returns when it is ready.
func (u *up) inThisTerminal(ctx context.Context) error {
	u.f.serve.quiet = true
	if listenable(u.f.serve.natsListen) != nil {
		u.f.serve.natsListen = "127.0.0.1:0" // nobody chose the default port, and readers find any
	}
	log, err := newLogger(u.err, u.f.serve)
	if err != nil {
		return err
	}
	u.f.serve.log = log.WithOptions(zap.WrapCore(u.log.wrap))
	ready := make(chan statedir.Broker, 1)
	u.ended = make(chan error, 1)
	go func() {
		u.ended <- u.serve(ctx, u.f.serve, func(_ *auth.Auth, _ string, info statedir.Broker) { ready <- info })
	}()
	select {
	case info := <-ready:
		u.tell(fmt.Sprintf("It runs in this terminal, at %s", info.HTTPURL))
		for _, note := range u.log.take() {
			fmt.Fprintln(u.out, layout.Wrap(readable("Note: "+note+"."), "", "  "))
		}
		return nil
	case err := <-u.ended:
		u.ended = nil
		return errors.Join(err, ctx.Err())
	}
}

// addPhone offers to set a phone up, where somebody can be asked and a browser is paired. Without a phone all
// works, so what goes wrong there ends nothing.
func (u *up) addPhone(ctx context.Context) error {
	if !u.interactive() || u.f.install.yes || !u.paired {
		return nil
	}
	u.title("Phone: answer from anywhere in the house, or further")
	if door, err := phone.Load(u.stateDir); err == nil {
		u.tell(fmt.Sprintf("Phones reach the page at %s. To add one: %s phone", show.Line(door.URL), typed()))
		return nil
	}
	yes, err := u.confirm(ctx, "Set up a phone now? It takes a minute or two; later: "+typed()+" phone.", false)
	if err != nil || !yes {
		return err
	}
	fmt.Fprintln(u.out)
	err = (&phoning{app: u.app, f: phoneFlags{role: "approve"}}).run(ctx)
	if err != nil && ctx.Err() == nil {
		u.tell(fmt.Sprintf("%s\nEverything else works. To try again: %s phone", readable("That did not work: "+err.Error()), typed()))
		return nil
	}
	return err
}

// next says what to do now, the most important last: one sentence that is true.
func (u *up) next() {
	where := ""
	if u.ended != nil {
		where = ", in another terminal"
	}
	fmt.Fprintln(u.out)
	if u.hooks.manual {
		u.tell(keepManual)
	}
	u.tell(fmt.Sprintf("To try it without an agent%s: %s simulate", where, typed()))
	if u.ended != nil {
		u.tell("The broker runs until you press Ctrl-C here or close this terminal.")
	}
	fmt.Fprintln(u.out)
	switch {
	case u.noAgent && len(u.others) > 0:
		u.tell(fmt.Sprintf("All is well: what %s asks waits where you answer.", strings.Join(u.others, " or ")))
	case u.noAgent:
		u.tell(fmt.Sprintf("The broker is ready, but no coding agent asks it yet. Once claude, or another, is on PATH: %s up again.", typed()))
	case u.declined:
		u.tell("The broker is ready, but Claude Code does not ask it.")
	case u.hooks.silent:
		u.tell(fmt.Sprintf("The broker is ready, but Claude Code is in auto mode: hardly anything it does will show up. To change that: %s install --ask", typed()))
	case !u.paired:
		u.tell(fmt.Sprintf("Claude Code asks assent from now on, but no browser is paired yet: %s pair", typed()))
	default:
		u.tell("All is well: start claude in a project, and what it asks waits in the paired browser.")
	}
}

// stopped is the error of a run that did not get to its end, and says what is done so far. Who
// stops it once only the browser is missing has just not paired one.
func (u *up) stopped(ctx context.Context, err error) error {
	given := ctx.Err() != nil || errors.Is(err, io.EOF)
	switch {
	case given && u.ended != nil && u.invited:
		u.tell("\nThe broker has stopped. Until one runs again, Claude Code asks in its terminal only.")
		return nil
	case given && u.invited:
		u.done = append(u.done, "the broker runs on", "the link above stays good until it is used or expires (then: assent pair)")
		err = errors.New("stopped")
	case given:
		err = errors.New("stopped")
	}
	if len(u.done) > 0 {
		return fmt.Errorf("%w; so far: %s", err, show.Line(strings.Join(u.done, "; ")))
	}
	if given {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	return err
}
