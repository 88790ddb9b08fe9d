package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/internal/text/show"
)

func (a *app) serviceCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "service",
		Short: "Keep the broker running after this terminal closes",
		Long: `Have your own service manager (systemd's user instance, or launchd) start the broker now and
at every login, and start it again when it fails. Nothing of it needs root.`,
		Example: "  assent service install\n  assent service status\n  assent service uninstall",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	c.AddCommand(a.serviceInstallCmd(), a.serviceStatusCmd(), a.serviceUninstallCmd())
	return c
}

func (a *app) serviceInstallCmd() *cobra.Command {
	var print bool
	c := &cobra.Command{
		Use:   "install [-- FLAG OF SERVE…]",
		Short: "Start the broker now and at every login",
		Long: `Start the broker now and at every login. What follows -- are flags of assent serve; they are
checked here and kept. Called again it changes the service to what is said now.

The service gets this terminal's state directory and socket by name, so that the hooks that
assent install wrote reach it.`,
		Example: `  assent service install
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
			f, err := parseServeFlags(args)
			if err != nil {
				return err
			}
			if print {
				text, err := a.serviceText(f)
				if err == nil {
					fmt.Fprint(a.out, text)
				}
				return err
			}
			changed, err := a.installService(cmd.Context(), f)
			if err != nil {
				return err
			}
			st := a.serviceStatus(cmd.Context())
			if a.json {
				return a.printJSON(st)
			}
			if !changed {
				fmt.Fprintln(a.out, "Nothing to do.")
			}
			a.printService(st)
			fmt.Fprintln(a.out, "To take it away again: assent service uninstall")
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

// serviceText is the file for this system's supervisor.
func (a *app) serviceText(f serveFlags) (string, error) {
	s, err := findSupervisor(os.Getenv)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	if runtime.GOOS == "darwin" && !f.verbose {
		f.quiet = true // launchd keeps a log for good
	}
	spec, err := a.serviceSpec(stable(self), f, os.Getenv)
	if err != nil {
		return "", err
	}
	return s.text(spec), nil
}

// installService makes the service what f says and waits until its broker is ready. changed is
// false if there was nothing to do. After an error the service is the one from before, or none.
func (a *app) installService(ctx context.Context, f serveFlags) (changed bool, err error) {
	text, err := a.serviceText(f)
	if err != nil {
		return false, err
	}
	s, err := findSupervisor(os.Getenv)
	if err != nil {
		return false, err
	}
	if err := s.answers(ctx); err != nil {
		return false, fmt.Errorf("%w\n%s", err, instead)
	}
	before, err := s.installed()
	if err != nil {
		return false, err
	}
	runs := false
	if before != "" {
		if !s.serves(before, a.stateDir) {
			return false, errors.New("a service for another state directory is installed; take it away first: assent service uninstall")
		}
		runs, _ = s.running() // what cannot be asked is installed anew
	}
	info, ready := a.ready(ctx)
	switch {
	case before == text && runs && ready && info.Version == version():
		return false, nil
	case ready && !runs:
		return false, fmt.Errorf("a broker runs already (pid %d); stop it first, and waiting hooks will come back to the service", info.PID)
	case !runs:
		if err := listenable(f.listen); err != nil {
			return false, err
		}
	}
	if err := makeOwnDir(a.stateDir); err != nil {
		return false, fmt.Errorf("state directory: %w", err)
	}
	if before != "" {
		if err := s.uninstall(); err != nil {
			return false, fmt.Errorf("replace the service: %w", err)
		}
	}
	if err = s.install(text); err != nil {
		err = fmt.Errorf("install the service: %w", err)
	} else if err = a.awaitReady(ctx, s, info.PID); err != nil {
		err = errors.Join(fmt.Errorf("the service does not come up (%w); see: %s", err, s.logs(a.stateDir)), s.uninstall())
	}
	if err != nil && before != "" {
		err = errors.Join(err, s.install(before))
	}
	return err == nil, err
}

// instead is what to do without a service manager.
const instead = `Without one, let whatever starts programs on this machine run: assent serve --no-link
Under su or sudo there is often no user session: log in as that user first. See docs/service.md`

// ready returns the broker of the state directory and whether it serves hooks now. A broker that
// does not answer at all has no process id here.
func (a *app) ready(ctx context.Context) (runtimeInfo, bool) {
	c, err := a.reach()
	if err != nil {
		return runtimeInfo{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	status, err := c.Status(ctx, "/readyz")
	if err != nil {
		return runtimeInfo{}, false
	}
	return c.info, status == http.StatusNoContent
}

// awaitReady waits for the service's broker, which is another than the one with the process id old.
func (a *app) awaitReady(ctx context.Context, s supervisor, old int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Second, errors.New("no answer within 20 seconds"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		if info, ok := a.ready(ctx); ok && info.PID != old {
			return nil
		}
		if n%5 == 0 {
			if runs, err := s.running(); !runs {
				return cmp.Or(err, errors.New("it ended at once"))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// serviceStatus is what status tells programs.
type serviceStatus struct {
	Installed bool   `json:"installed"`
	Running   bool   `json:"running"`          // as the service manager sees it
	Ready     bool   `json:"ready"`            // the broker answers
	Unit      string `json:"unit,omitempty"`   // the file
	Linger    *bool  `json:"linger,omitempty"` // it runs on after the last logout
	Problem   string `json:"problem,omitempty"`
	logs      string
}

func (a *app) serviceStatus(ctx context.Context) serviceStatus {
	var st serviceStatus
	_, st.Ready = a.ready(ctx)
	s, err := findSupervisor(os.Getenv)
	if err != nil {
		st.Problem = err.Error()
		return st
	}
	st.Unit, st.logs = s.file, s.logs(a.stateDir)
	text, err := s.installed()
	if err != nil {
		st.Problem = err.Error()
	}
	if text != "" && !s.serves(text, a.stateDir) {
		st.Problem = "a service is installed, for another state directory than " + a.stateDir
		return st
	}
	if st.Installed = text != ""; !st.Installed {
		return st
	}
	if yes, known := s.lingers(); known {
		st.Linger = &yes
	}
	if err := s.answers(ctx); err != nil {
		st.Problem = err.Error()
		return st
	}
	if st.Running, err = s.running(); err != nil {
		st.Problem = err.Error()
	}
	return st
}

func (a *app) serviceStatusCmd() *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "Say whether the service is installed and runs",
		Long:    "Say whether the service is installed and runs. Exits 1 when it is installed and does not run.",
		Example: "  assent service status\n  assent service status --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st := a.serviceStatus(cmd.Context())
			if a.json {
				if err := a.printJSON(st); err != nil {
					return err
				}
			} else {
				a.printService(st)
			}
			if st.Installed && (!st.Running || !st.Ready) {
				return errors.New("the service is down")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: installed, running, ready, unit, linger, problem")
	return c
}

func (a *app) printService(st serviceStatus) {
	switch {
	case !st.Installed && st.Problem == "":
		fmt.Fprintln(a.out, "No service is installed. To install one: assent service install")
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
	fmt.Fprintln(a.out, "  log     ", show.Line(st.logs))
	if st.Linger != nil && !*st.Linger {
		fmt.Fprintln(a.out, "It runs while you are logged in. To keep it after you log out: loginctl enable-linger")
	}
}

func (a *app) serviceUninstallCmd() *cobra.Command {
	c := &cobra.Command{
		Use:     "uninstall",
		Short:   "Stop the service and take it away",
		Long:    "Stop the service and take it away. Requests, decisions, devices and tokens stay for the next broker.",
		Example: "  assent service uninstall",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := findSupervisor(os.Getenv)
			if err != nil {
				return err
			}
			text, err := s.installed()
			if err != nil {
				return err
			}
			if text != "" {
				if err := s.answers(cmd.Context()); err != nil {
					return err
				}
				if err := s.uninstall(); err != nil {
					return fmt.Errorf("uninstall the service: %w", err)
				}
			}
			if a.json {
				return a.printJSON(a.serviceStatus(cmd.Context()))
			}
			if text == "" {
				fmt.Fprintln(a.out, "No service is installed.")
			} else {
				fmt.Fprintln(a.out, "The service is stopped and gone. Hooks abstain until a broker runs again: assent serve")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON, as status prints it")
	return c
}

// checkService says, for doctor, when an installed service is down.
func (a *app) checkService(ctx context.Context) []check {
	st := a.serviceStatus(ctx)
	if !st.Installed {
		return nil
	}
	c := check{Name: "service", Status: "ok", Detail: "runs; " + st.Unit}
	switch {
	case st.Problem != "":
		c.Status, c.Detail, c.Fix = "warn", st.Problem, "see: assent service status"
	case !st.Running:
		c.Status, c.Detail, c.Fix = "fail", "installed, but it does not run", "assent service install starts it; its log: "+st.logs
	case !st.Ready:
		c.Status, c.Detail, c.Fix = "fail", "is started again and again, or does not answer", "read its log: "+st.logs
	}
	return []check{c}
}
