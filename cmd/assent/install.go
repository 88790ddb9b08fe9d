package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/internal/agent/claude/install"
	"assent/internal/setup/hookconf"
	"assent/internal/setup/installer"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// installFlags say what assent install writes, and where.
type installFlags struct {
	scope, agent  string
	all           bool // agent does not count
	ci            bool
	managedOnly   bool
	strict        bool     // with scope managed: hooks print only what a trusted key signed
	trust         []string // values of trust lines
	trustRules    []string // values of trust-rules lines
	socket, url   string
	socketOwner   string
	unanswered    string // "", "deny" or "abstain"
	ask           string // "default", or rules with commas between
	defaultMode   string
	claudeVersion string
	print, yes    bool
	keepMode      bool // the person was asked about the mode before
}

// defaultAsk is what --ask without a value stands for.
const defaultAsk = "default"

// add declares the flags that a command which installs has.
func (f *installFlags) add(fl *pflag.FlagSet) {
	f.addWhere(fl)
	fl.BoolVar(&f.managedOnly, "managed-only", false, "with --scope managed: no hooks run on this machine but managed ones")
	fl.StringArrayVar(&f.trust, "trust", nil, "with --strict: whose signature lets an allow through, device:KEY as assent device list prints it, optionally followed by broker or independent; may be repeated (default: those in the file)")
	fl.StringArrayVar(&f.trustRules, "trust-rules", nil, "with --strict: whose signed rules hooks evaluate, device:KEY as assent rules key prints it, optionally followed by since and a time; may be repeated (default: those in the file)")
	fl.BoolVar(&f.ci, "ci", false, "for runs without a person: a request is denied if nobody answers it within five minutes, or if no broker can be asked")
	fl.StringVar(&f.socket, "socket", "", "the broker's socket (default: that of the running broker, else where assent serve makes it)")
	fl.StringVar(&f.socketOwner, "socket-owner", "", "user whose broker listens on the socket, by name or number, if that is not the user who runs the hooks")
	fl.StringVar(&f.url, "url", "", "URL of a broker on another machine, or several of one cluster with commas; with --socket they are asked where the broker there does not answer")
	f.addMode(fl)
	fl.StringVar(&f.claudeVersion, "claude-version", "", "the version that will read the settings, instead of asking the claude on this machine")
}

// addMode declares the flags that say what the agent asks about.
func (f *installFlags) addMode(fl *pflag.FlagSet) {
	fl.StringVar(&f.ask, "ask", "", "also add permissions.ask rules, so that these calls reach assent in auto mode; without a value a list of risky commands")
	fl.Lookup("ask").NoOptDefVal = defaultAsk
	fl.StringVar(&f.defaultMode, "default-mode", "", "also set permissions.defaultMode: "+strings.Join(install.Modes, ", "))
}

// addWhere declares the flags that say which file is meant, and whether to ask.
func (f *installFlags) addWhere(fl *pflag.FlagSet) {
	fl.StringVar(&f.scope, "scope", string(install.User), "whose settings: user (all your projects), project (this one, shared with others), local (this one, yours), managed (all users of this machine; for root)")
	fl.StringVar(&f.agent, "agent", "claude", "which agent's settings")
	fl.BoolVar(&f.strict, "strict", false, "managed settings and /etc/assent/hook.conf, for root: Claude Code's hooks print an allow only if a trusted device signed it")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
}

// errDeclined says that a person did not want what was shown.
var errDeclined = errors.New("nothing was changed")

func (a *app) installCmd() *cobra.Command {
	var f installFlags
	c := &cobra.Command{
		Use:   "install [AGENT]",
		Short: "Install assent's hooks into the settings of Claude Code, or of another agent",
		Long: `Write assent's hooks into Claude Code's settings: one for permission requests, and one for each
event that lets assent follow a session. The change is shown first, and you are asked before
anything is written. Everything already in the file stays as it is, including other tools' hooks.
A second install changes nothing; assent uninstall removes the hooks again.

Only events that the installed Claude Code knows are written: an unknown event would make Claude
Code ask about its settings at every start.

In a terminal, Claude Code starts in auto mode, where most calls reach no hook. --ask and
--default-mode change that; without these flags the mode stays as it is.

--strict is for a machine whose administrator trusts certain devices but not the broker. The hooks
then pass an allow on only if a key named with --trust signed it, or if rules signed by a key
named with --trust-rules allow the call. No other hooks run. --strict needs root; docs/managed.md
says what it protects against.

AGENT names another agent: codex, opencode, kilo, copilot, qwen or droid. Codex runs hooks only
once you have trusted them; the command says how. docs/agents.md says what works with each agent.

--all installs for every agent whose program is found, one after the other. Each file is written
completely or not at all. If one agent fails, the others are still done, and the exit code is 1.`,
		Example: `  assent install
  assent install --scope local --ask
  assent install --default-mode default --yes
  assent install --ask='Bash(git push:*),WebFetch'
  assent install --socket /run/assent/hook.sock --socket-owner assent
  sudo assent install --scope managed --managed-only --url https://box.example.net
  sudo assent install --strict --socket /run/assent/hook.sock --socket-owner assent --trust 'device:UOAy… independent'
  assent install --print                             show the file, change nothing
  assent install codex
  assent install opencode --ask
  assent install copilot --on-failure deny
  assent install --all --yes`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: installer.Names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all {
				return a.installAll(cmd.Context(), f, args)
			}
			if err := f.named(args); err != nil {
				return err
			}
			done, err := a.installNamed(cmd.Context(), f)
			return a.reportJSON(f, done.installed, err)
		},
	}
	f.add(c.Flags())
	c.Flags().BoolVar(&f.all, "all", false, "for every agent that is found on this machine")
	c.Flags().StringVar(&f.unanswered, "on-failure", "", "for copilot and droid: what a request gets when assent is away or nobody answers in time, deny or abstain (default: deny where the agent would run it unasked)")
	c.Flags().BoolVar(&f.print, "print", false, "print the resulting file without changing anything")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: path, changed, applied, backup, hookConf, events, versions, notes, diff; with --all a list, with agent, program and error too")
	return c
}

func (a *app) uninstallCmd() *cobra.Command {
	var f installFlags
	c := &cobra.Command{
		Use:   "uninstall [AGENT]",
		Short: "Remove assent's hooks from the settings of Claude Code, or of another agent",
		Long: `Remove what assent install wrote: the hooks, and the permission rules and the mode if it
added them. If the file has not been changed since, it is restored byte for byte.
Shows the change and asks first.`,
		Example:   "  assent uninstall\n  assent uninstall --scope local --yes\n  assent uninstall codex\n  assent uninstall --all",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: installer.Names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all {
				return a.uninstallAll(cmd.Context(), f, args)
			}
			if err := f.named(args); err != nil {
				return err
			}
			done, err := a.uninstallNamed(cmd.Context(), f)
			return a.reportJSON(f, done, err)
		},
	}
	f.addWhere(c.Flags())
	c.Flags().BoolVar(&f.all, "all", false, "for every agent whose settings assent writes, on this machine or gone from it")
	c.Flags().BoolVar(&f.print, "print", false, "print the resulting file without changing anything")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: path, changed, applied, backup, hookConf, notes, diff; with --all a list, with agent and error too")
	return c
}

// installed is what install and uninstall did, for programs.
type installed struct {
	Path     string         `json:"path"`
	Target   string         `json:"target,omitempty"` // what was written, where path is a link
	Changed  bool           `json:"changed"`
	Applied  bool           `json:"applied"`
	Backup   string         `json:"backup,omitempty"`
	HookConf string         `json:"hookConf,omitempty"` // the administrator's, if it was written
	Events   []string       `json:"events,omitempty"`
	Versions []string       `json:"versions,omitempty"`
	Notes    []install.Note `json:"notes"`
	Diff     string         `json:"diff,omitempty"`
}

// outcome is what a person should know after an install.
type outcome struct {
	installed
	silent bool // the client starts in auto mode, and nothing makes it ask
	manual bool // the client was told to start in the default mode
}

// install plans, shows, asks and writes. errDeclined says that the person at the terminal said no.
func (a *app) install(ctx context.Context, f installFlags) (done outcome, err error) {
	defer func() { err = shown(err) }()
	o, at, err := a.installOptions(f)
	if err != nil {
		return done, err
	}
	notes, err := a.versions(ctx, f, &o)
	if err != nil {
		return done, err
	}
	if o.Command, err = a.hookCommand(f); err != nil {
		return done, err
	}
	switch f.ask {
	case "":
	case defaultAsk:
		o.AskRules = install.DefaultAsk
	default:
		if o.AskRules, err = install.ParseAsk(f.ask); err != nil {
			return done, usagef("%w", err)
		}
	}
	if o.DefaultMode = f.defaultMode; o.DefaultMode != "" && !slices.Contains(install.Modes, o.DefaultMode) {
		return done, usagef("--default-mode %s: want one of %s; in others assent is hardly asked", o.DefaultMode, strings.Join(install.Modes, ", "))
	}
	settings := install.Survey(o, at.dir(), at.root)
	if id := install.Plugin(settings); id != "" {
		notes = append(notes, install.Note{Key: "plugin", Text: "the plugin " + id + " brings the same hooks, and every request will be asked twice; take it out with: claude plugin uninstall " + id})
	}
	if install.Auto(settings, o) {
		if a.interactive() && !f.yes && !f.print && !f.keepMode && !a.json {
			// No question whose answer could not be carried out.
			plan, err := install.Install(o)
			if err == nil {
				err = plan.Writable()
			}
			if err == nil {
				err = a.offerAuto(ctx, &o)
			}
			if err != nil {
				return done, err
			}
		} else {
			notes = append(notes, install.AutoNote())
		}
	}
	plan, err := install.Install(o)
	if err != nil {
		return done, err
	}
	notes = append(append(notes, plan.Notes...), install.Surroundings(o, plan, settings, at.cwd)...)
	contain := containLine{}
	if !f.print && f.scope != string(install.Managed) {
		contain = planContain(ctx, configDir(os.Getenv))
		notes = append(notes, contain.notes()...)
	}
	plan.Notes = notes
	done.silent = install.Auto(settings, o)
	done.manual = slices.Contains([]string{"default", "manual"}, o.DefaultMode) && slices.ContainsFunc(o.Versions, install.StartsInAuto)
	conf, err := a.planConf(ctx, f, true)
	if err != nil {
		return done, err
	}
	if done.installed, err = a.carryOut(ctx, f, plan, o); err == nil {
		done.HookConf, err = conf.write(a)
	}
	if err == nil {
		err = contain.write()
	}
	return done, err
}

func (a *app) uninstall(ctx context.Context, f installFlags) (done installed, err error) {
	defer func() { err = shown(err) }()
	o, at, err := a.installOptions(f)
	if err != nil {
		return done, err
	}
	plan, err := install.Uninstall(o)
	if err != nil {
		return done, err
	}
	plan.Notes = append(plan.Notes, install.Left(plan, install.Survey(o, at.dir(), at.root))...)
	conf, err := a.planConf(ctx, f, false)
	if err != nil {
		return done, err
	}
	if done, err = a.carryOut(ctx, f, plan, o); err == nil {
		done.HookConf, err = conf.write(a)
	}
	if dir := configDir(os.Getenv); err == nil && !f.print && dir != "" && f.scope != string(install.Managed) {
		_, err = hookconf.SetContain(hookconf.Path(dir), 0, "")
	}
	if err == nil && !f.print {
		err = a.forgetJoined(f.scope)
	}
	if done.Applied && !a.json {
		a.leftOver()
	}
	return done, err
}

// shownError is an error about a file that strangers may have written, made fit for a terminal.
type shownError struct{ error }

func (e shownError) Error() string {
	return show.Line(strings.ReplaceAll(e.error.Error(), "\n", "; "))
}
func (e shownError) Unwrap() error { return e.error }

func shown(err error) error {
	if err == nil {
		return nil
	}
	return shownError{err}
}

// carryOut shows a plan, asks, and does it.
func (a *app) carryOut(ctx context.Context, f installFlags, plan install.Plan, o install.Options) (done installed, err error) {
	if f.print {
		for _, n := range plan.Notes {
			fmt.Fprintln(a.err, "note:", show.Line(n.Text))
		}
		text := plan.After
		if terminal.IsTerminal(a.out) { // a pipe gets the bytes
			text = []byte(show.Text(string(text)))
		}
		_, err := a.out.Write(text)
		return done, err
	}
	done = installed{Path: plan.Path, Changed: plan.Changed(), Events: plan.Events, Versions: o.Versions, Notes: plan.Notes, Diff: plan.Diff()}
	if plan.Target != plan.Path {
		done.Target = plan.Target
	}
	if done.Notes == nil {
		done.Notes = []install.Note{}
	}
	if err := plan.Writable(); err != nil {
		return done, err
	}
	if !a.json {
		if !a.asks(f) || !done.Changed {
			a.showChange(plan)
		}
		a.showPlan(plan, o)
	}
	if done.Changed {
		if err := a.agree(ctx, f, plan); err != nil {
			return done, err
		}
		if done.Backup, err = plan.Apply(); err != nil {
			return done, err
		}
		done.Applied = true
	}
	if done.Applied && !a.json {
		if plan.After == nil {
			fmt.Fprintf(a.out, "Removed %s, which assent install had made.\n", show.Line(plan.Target))
		} else {
			fmt.Fprintf(a.out, "Wrote %s.\n", show.Line(plan.Target))
		}
		if done.Backup != "" {
			fmt.Fprintf(a.out, "The old file is kept as %s\n", show.Line(done.Backup))
		}
	}
	return done, nil
}

// reportJSON prints what was done, for programs that want to know.
func (a *app) reportJSON(f installFlags, done installed, err error) error {
	if err != nil || !a.json || f.print {
		return err
	}
	return a.printJSON(done)
}

// asks reports whether a person is asked before a file is written.
func (a *app) asks(f installFlags) bool { return a.interactive() && !f.yes && !a.json }

// showChange prints each line that changes.
func (a *app) showChange(plan install.Plan) {
	if !plan.Changed() && plan.Before == nil {
		fmt.Fprintf(a.out, "Nothing to do: there is no %s.\n", show.Line(plan.Path))
	} else if !plan.Changed() {
		fmt.Fprintf(a.out, "Nothing to do: %s is as it should be.\n", show.Line(plan.Path))
	} else {
		fmt.Fprint(a.out, show.Text(strings.ReplaceAll(plan.Diff(), "\r\n", "\n")))
	}
}

// showPlan prints the notes, and the change in short.
func (a *app) showPlan(plan install.Plan, o install.Options) {
	for _, n := range plan.Notes {
		fmt.Fprintln(a.out, "\n"+strings.Join(terminal.Wrap(callable("Note: "+show.Line(n.Text)+"."), columns(a.out), 2), "\n"))
	}
	switch {
	case !plan.Changed():
	case plan.After == nil:
		a.tell("\nIn short: the file goes. assent install had made it, and nothing else is in it.")
	case len(plan.Events) == 0: // an uninstall
		a.tell("\nIn short: what assent install added is taken out. The rest of the file stays.")
	case o.Format != nil:
		a.tell(fmt.Sprintf("\nIn short: the hook runs for %s of %s. %s", counted(len(plan.Events), "event"), o.Format.Agent, otherFacts(o)))
	default:
		waits := "It waits for an answer to permission requests, and for two minutes at most to forms of MCP servers. If assent is away it leaves them to the terminal."
		if o.CI {
			waits = "It waits for an answer to permission requests only, and if assent is away it denies them."
		}
		a.tell(fmt.Sprintf("\nIn short: the hook runs for %s of Claude Code. %s", counted(len(plan.Events), "event"), waits))
		if len(o.AskRules) > 0 {
			a.tell("Rules under permissions.ask name calls that Claude Code must ask about in any mode.")
		}
		if o.DefaultMode != "" {
			a.tell(fmt.Sprintf("Claude Code will start in the mode %s.", o.DefaultMode))
		}
	}
}

// agree asks whether to write; --yes is the answer where nobody can be asked.
func (a *app) agree(ctx context.Context, f installFlags, plan install.Plan) error {
	if f.yes {
		return nil
	}
	if !a.asks(f) {
		return usagef("there is no terminal to ask on, so nothing was changed: --yes writes %s, --print shows it", plan.Path)
	}
	fmt.Fprintln(a.out)
	yes, err := a.confirmOr(ctx, "Write this to "+show.Line(plan.Target)+"? (d shows each line)", true, func() { a.showChange(plan) })
	if err != nil || !yes {
		return errDeclined // the end of input, and Ctrl-C, are a no
	}
	return nil
}

// nextSteps says what a person does after the hooks are written.
func (a *app) nextSteps(f installFlags, done outcome) {
	a.tell("Claude Code runs these hooks from now on, in open sessions too.")
	switch _, err := a.runtime(); {
	case f.url != "":
		a.tell("Next: the token of the broker, if this machine has none: assent join does both, see docs/join.md")
	case err != nil:
		a.tell("Next: start the broker, with assent serve. Until then Claude Code asks in its terminal only.")
	default:
		a.tell("Next: start claude and have it do something. assent doctor says whether all is well.")
	}
	if done.manual {
		a.tell(keepManual)
	}
	if f.scope == string(install.User) && os.Getenv("CLAUDE_CONFIG_DIR") != "" {
		a.tell("CLAUDE_CONFIG_DIR is set here, so the hooks are for a claude that is started with it, too.")
	}
}
