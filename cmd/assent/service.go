package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/internal/host/executor"
	"assent/internal/setup/service"
	"assent/internal/setup/statedir"
	"assent/internal/text/show"
)

func (a *app) serviceCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "service",
		Short: "Keep the broker, or the host of agents, running after this terminal closes",
		Long: `Have your own service manager (systemd's user instance, or launchd) start the broker now and at
every login, and start it again when it fails. None of this needs root.

With --agents, systemd keeps the host of agents (assent agent serve) running instead of the
broker. The agents outlive their host: each runs in a scope of its own.`,
		Example: "  assent service install\n  assent service install --agents\n  assent service status\n  assent service uninstall",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	var agents bool
	c.PersistentFlags().BoolVar(&agents, "agents", false, "the host of agents, instead of the broker")
	c.AddCommand(a.serviceInstallCmd(&agents), a.serviceStatusCmd(&agents), a.serviceUninstallCmd(&agents))
	return c
}

func (a *app) serviceInstallCmd(agents *bool) *cobra.Command {
	var print bool
	c := &cobra.Command{
		Use:   "install [-- FLAG OF SERVE…]",
		Short: "Start the broker now and at every login",
		Long: `Start the broker now and at every login. Arguments behind -- are flags of assent serve; they are
checked now and stored. Run the command again to change them.

The service uses this terminal's state directory and socket, so that the hooks written by assent
install reach it.

With --agents, the service runs assent agent serve instead, with this terminal's PATH, so that the
agents find their programs. Put the agents' API keys into env in ~/.claude/settings.json.`,
		Example: `  assent service install
  assent service install --agents
  assent service install --print
  assent service install -- --public-url https://box.example.net
  assent service install -- --ledger --hookd-socket "$XDG_RUNTIME_DIR/hookd.sock"`,
		Args: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); len(args) > 0 && n != 0 {
				return fmt.Errorf("takes no argument, got %q; flags of serve come after --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := func() (string, error) { return a.agentsText(false) }
			install := a.installAgents
			if *agents && len(args) > 0 {
				return usagef("assent agent serve has no flags to be kept; take away what follows --")
			}
			if !*agents {
				f, err := parseServeFlags(args)
				if err != nil {
					return err
				}
				text = func() (string, error) { return a.serviceText(f, false) }
				install = func(ctx context.Context) (bool, error) { return a.installService(ctx, f) }
			}
			if print {
				file, err := text()
				if err == nil {
					fmt.Fprint(a.out, file)
				}
				return err
			}
			changed, err := install(cmd.Context())
			if err != nil {
				return err
			}
			st := a.statusOf(cmd.Context(), *agents)
			if a.json {
				return a.printJSON(st)
			}
			if !changed {
				fmt.Fprintln(a.out, "Nothing to do.")
			}
			a.printStatus(st, *agents)
			fmt.Fprintln(a.out, "To take it away again: assent service uninstall"+agentsFlag(*agents))
			return nil
		},
	}
	c.Flags().BoolVar(&print, "print", false, "only show the file that would be written")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON, as status prints it")
	return c
}

// parseServeFlags reads flags of serve that were given after --.
func parseServeFlags(args []string) (serveFlags, error) {
	var f serveFlags
	fl := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.add(fl)
	if err := fl.Parse(args); err != nil {
		return f, usagef("%w; see assent serve --help", err)
	}
	if fl.NArg() > 0 {
		return f, usagef("serve takes no argument, got %q", fl.Arg(0))
	}
	return f, nil
}

// service is the broker of this state directory as a service, installed or not.
func (a *app) service() (*service.Service, error) {
	m, err := service.Find(os.Getenv, service.OfBroker)
	if err != nil {
		return nil, err
	}
	return &service.Service{Manager: m, StateDir: a.stateDir, Look: func(ctx context.Context) (service.Process, bool) {
		info, ready := a.ready(ctx)
		return service.Process{PID: info.PID, Version: info.Version}, ready
	}}, nil
}

// serviceText is the file for the service manager of this system. keep sees to it that the program which
// it names is there, see lasting.
func (a *app) serviceText(f serveFlags, keep bool) (string, error) {
	s, err := a.service()
	if err != nil {
		return "", err
	}
	self, err := lasting(keep)
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" && !f.verbose {
		f.quiet = true // launchd never deletes its log
	}
	spec, err := a.serviceSpec(stable(self), f, os.Getenv)
	if err != nil {
		return "", err
	}
	return s.Text(spec), nil
}

// serviceSpec makes the broker of the service the one that the hooks of this terminal know: the
// same socket, state directory and spool.
func (a *app) serviceSpec(program string, f serveFlags, env func(string) string) (service.Spec, error) {
	if _, err := f.check(); err != nil {
		return service.Spec{}, err
	}
	var err error
	if f.socket, err = f.socketPath(a.stateDir); err != nil {
		return service.Spec{}, err
	}
	for _, path := range []*string{&f.tlsCert, &f.tlsKey, &f.rules, &f.hookdSocket, &f.relayTokenFile} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return service.Spec{}, fmt.Errorf("%s: %w", *path, err)
		}
	}
	f.noLink = true
	amqpURL := f.amqpURL
	f.amqpURL = "" // it holds a password, and other users can see the flags of a process
	s := service.SpecOf(program, a.stateDir, env, append([]string{"serve", "--state-dir", a.stateDir}, f.args()...)...)
	if amqpURL != "" {
		s.Env = append(s.Env, "ASSENT_AMQP_URL="+amqpURL)
	}
	if text, found := s.Unwritable(); found {
		if amqpURL != "" && strings.HasSuffix(text, amqpURL) {
			text = "what --amqp-url says" // and not its password
		}
		return s, usagef("%q cannot be written into a service file; use another path", text)
	}
	return s, nil
}

// args spells the flags that are not at their default, so that serve reads them back.
func (f serveFlags) args() []string {
	g, fl := f, pflag.NewFlagSet("serve", pflag.ContinueOnError)
	g.add(fl) // sets the defaults
	g = f
	var args []string
	fl.VisitAll(func(p *pflag.Flag) {
		if p.Value.String() == p.DefValue {
			return
		}
		if list, ok := p.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				args = append(args, "--"+p.Name, v)
			}
			return
		}
		switch v := p.Value.String(); {
		case p.Value.Type() == "bool":
			args = append(args, "--"+p.Name)
		default:
			args = append(args, "--"+p.Name, v)
		}
	})
	return args
}

// installService makes the service what f says and waits until its broker is ready. changed is
// false if there was nothing to do. After an error the service is the previous one, or none.
func (a *app) installService(ctx context.Context, f serveFlags) (changed bool, err error) {
	text, err := a.serviceText(f, true)
	if err != nil {
		return false, err
	}
	s, err := a.service()
	if err != nil {
		return false, err
	}
	return s.Install(ctx, text, version(), func(runs bool) error {
		if !runs {
			if err := listenable(f.listen); err != nil {
				return err
			}
		}
		if err := statedir.Make(a.stateDir); err != nil {
			return fmt.Errorf("state directory: %w", err)
		}
		return nil
	})
}

// ready returns the broker of the state directory and whether it serves hooks now. A broker that
// does not answer at all has no process id here.
func (a *app) ready(ctx context.Context) (statedir.Broker, bool) {
	c, err := a.reach()
	if err != nil {
		return statedir.Broker{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	status, err := c.Status(ctx, "/readyz")
	if err != nil {
		return statedir.Broker{}, false
	}
	return c.info, status == http.StatusNoContent
}

func (a *app) serviceStatus(ctx context.Context) service.Status { return a.statusOf(ctx, false) }

func (a *app) statusOf(ctx context.Context, agents bool) service.Status {
	s, err := a.serviceOf(agents)
	switch {
	case err == nil:
		return s.Status(ctx)
	case agents:
		_, ready := executor.FindRunning(a.sessionsDir())
		return service.Status{Ready: ready, Problem: err.Error()}
	}
	_, ready := a.ready(ctx)
	return service.Status{Ready: ready, Problem: err.Error()}
}

func agentsFlag(agents bool) string {
	if agents {
		return " --agents"
	}
	return ""
}

func (a *app) serviceStatusCmd(agents *bool) *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show whether the service is installed and running",
		Long:    "Show whether the service is installed and running. Exits 1 if it is installed but not running.",
		Example: "  assent service status\n  assent service status --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st := a.statusOf(cmd.Context(), *agents)
			if a.json {
				if err := a.printJSON(st); err != nil {
					return err
				}
			} else {
				a.printStatus(st, *agents)
			}
			if st.Down() {
				return errors.New("the service is down")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: installed, running, ready, unit, linger, problem")
	return c
}

func (a *app) printService(st service.Status) { a.printStatus(st, false) }

func (a *app) printStatus(st service.Status, agents bool) {
	switch {
	case !st.Installed && st.Problem == "":
		fmt.Fprintln(a.out, "No service is installed. To install one: assent service install"+agentsFlag(agents))
		return
	case !st.Installed:
	case st.Running && st.Ready:
		fmt.Fprintln(a.out, "The service runs.")
	case st.Running:
		fmt.Fprintln(a.out, "The service is started again and again, or does not answer.")
	default:
		fmt.Fprintln(a.out, "The service is installed and does not run.")
	}
	if st.Problem != "" {
		fmt.Fprintln(a.out, "  problem ", show.Line(st.Problem))
	}
	if !st.Installed {
		return
	}
	fmt.Fprintln(a.out, "  file    ", show.Line(st.Unit))
	fmt.Fprintln(a.out, "  log     ", show.Line(st.Logs))
	if st.Linger != nil && !*st.Linger {
		fmt.Fprintln(a.out, "It runs while you are logged in. To keep it after you log out: loginctl enable-linger")
	}
}

func (a *app) serviceUninstallCmd(agents *bool) *cobra.Command {
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service",
		Long: `Stop and remove the service. Requests, decisions, devices and tokens are kept for the next broker.
With --agents, running agents carry on, and the next host takes them over.`,
		Example: "  assent service uninstall\n  assent service uninstall --agents",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.serviceOf(*agents)
			if err != nil {
				return err
			}
			was, err := s.Remove(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(a.statusOf(cmd.Context(), *agents))
			}
			switch {
			case !was:
				fmt.Fprintln(a.out, "No service is installed.")
			case *agents:
				fmt.Fprintln(a.out, "The service is stopped and gone. Agents that run go on; they can be spoken to again once a host runs: assent agent serve")
			default:
				fmt.Fprintln(a.out, "The service is stopped and gone. Hooks abstain until a broker runs again: assent serve")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON, as status prints it")
	return c
}
