package main

import (
	"context"
	"os"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/setup/installer"
)

// named takes the agent that was named on the command line, in the place of --agent.
func (f *installFlags) named(args []string) error {
	if len(args) > 0 {
		f.agent = args[0]
	}
	if err := installer.Known(f.agent); err != nil {
		return usagef("%w", err)
	}
	if f.unanswered != "" && !installer.TakesUnanswered(f.agent) {
		return usagef("--on-failure is for agents that run what a hook does not answer, such as copilot; %s asks at its own prompt", f.agent)
	}
	if _, err := hook.ParseFallback(f.unanswered); f.unanswered != "" && err != nil {
		return usagef("--on-failure: %w", err)
	}
	if f.agent == installer.Claude {
		return f.strictly()
	}
	for flag, given := range map[string]bool{"--ci": f.ci, "--ask": f.ask != "" && (!installer.TakesAsk(f.agent) || f.ask != defaultAsk), "--default-mode": f.defaultMode != "", "--claude-version": f.claudeVersion != "", "--scope": f.scope != string(install.User), "--strict": f.strict || len(f.trust)+len(f.trustRules) > 0} {
		if given {
			return usagef("%s is for Claude Code", flag)
		}
	}
	return nil
}

// otherOptions are those of an install for another agent than Claude Code. command may be nil for an
// uninstall.
func (a *app) otherOptions(f installFlags, command []string) (install.Options, error) {
	o, err := installer.Options(f.agent, os.Getenv, a.stateDir, command, installer.Choices{Ask: f.ask != "", Unanswered: hook.Fallback(f.unanswered)})
	if err != nil {
		return o, usagef("%w", err)
	}
	return o, nil
}

// installNamed installs for the agent that the flags name, and says what to do next.
func (a *app) installNamed(ctx context.Context, f installFlags) (outcome, error) {
	if f.agent != installer.Claude {
		done, err := a.installOther(ctx, f)
		return outcome{installed: done}, shown(err)
	}
	done, err := a.install(ctx, f)
	if done.Applied && !a.json {
		a.nextSteps(f, done)
	}
	return done, err
}

// uninstallNamed uninstalls for the agent that the flags name.
func (a *app) uninstallNamed(ctx context.Context, f installFlags) (installed, error) {
	if f.agent != installer.Claude {
		done, err := a.uninstallOther(ctx, f)
		return done, shown(err)
	}
	return a.uninstall(ctx, f)
}

// installOther is install for another agent than Claude Code.
func (a *app) installOther(ctx context.Context, f installFlags) (done installed, err error) {
	command, err := a.hookCommand(f)
	if err != nil {
		return done, err
	}
	o, err := a.otherOptions(f, command)
	if err != nil {
		return done, err
	}
	plan, err := install.Install(o)
	if err != nil {
		return done, err
	}
	return a.carryOut(ctx, f, plan, o)
}

// otherFacts say in short what an install for another agent means. Of an agent with a limit of its own, and of one whose
// calls may run without an answer, the notes above say more.
func otherFacts(o install.Options) string {
	for _, name := range agents.Names() {
		a, err := agents.Named(name)
		if err != nil || a.Facts().Title != o.Format.Agent || a.Facts().Race {
			continue
		}
		wait, then := "for ten minutes at most (assent serve --hold)", "then, and if assent is away, "+o.Format.Agent+" asks at its own prompt."
		if a.Facts().MaxHold > 0 {
			wait = "no longer than said above"
		}
		if a.Facts().Failed.Runs {
			then = "what becomes of it then, and where assent is\naway, is said above."
		}
		return o.Format.Agent + " shows no prompt while the hook waits.\nSo a request waits " + wait + ", and not at all while nobody can\nbe told of it; " + then
	}
	return "Its own prompt stays up meanwhile, and the first answer counts."
}

// uninstallOther is uninstall for another agent than Claude Code.
func (a *app) uninstallOther(ctx context.Context, f installFlags) (done installed, err error) {
	o, err := a.otherOptions(f, nil)
	if err != nil {
		return done, err
	}
	plan, err := install.Uninstall(o)
	if err != nil {
		return done, err
	}
	return a.carryOut(ctx, f, plan, o)
}
