package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/agents"
	"assent/internal/agent/claude/install"
	codexinstall "assent/internal/agent/codex/install"
	copilotinstall "assent/internal/agent/copilot/install"
	opencodeinstall "assent/internal/agent/opencode/install"
	qweninstall "assent/internal/agent/qwen/install"
)

// installable are the agents whose settings assent writes.
var installable = []string{"claude", "codex", "opencode", "kilo", "copilot", "qwen"} // read-only

// named takes the agent that was named on the command line, in the place of --agent.
func (f *installFlags) named(args []string) error {
	if len(args) > 0 {
		f.agent = args[0]
	}
	if !slices.Contains(installable, f.agent) {
		return usagef("%s: want one of %s", f.agent, strings.Join(installable, ", "))
	}
	if f.agent == "claude" {
		return nil
	}
	for flag, given := range map[string]bool{"--ci": f.ci, "--ask": f.ask != "" && (f.agent != "opencode" || f.ask != defaultAsk), "--default-mode": f.defaultMode != "", "--claude-version": f.claudeVersion != "", "--scope": f.scope != string(install.User)} {
		if given {
			return usagef("%s is for Claude Code", flag)
		}
	}
	return nil
}

// otherOptions are those of an install for another agent than Claude Code. command may be nil for an
// uninstall.
func (a *app) otherOptions(f installFlags, command []string) (install.Options, error) {
	var o install.Options
	var err error
	switch f.agent {
	case "codex":
		var home string
		if home, err = codexinstall.Home(os.Getenv); err == nil {
			o = codexinstall.Options(home, a.stateDir, command)
		}
	case "copilot":
		o, err = copilotinstall.Options(os.Getenv, a.stateDir, command)
	case "qwen":
		o, err = qweninstall.Options(os.Getenv, a.stateDir, command)
	default:
		var of agent.Agent
		if of, err = agents.Named(f.agent); err == nil {
			o, err = opencodeinstall.Options(f.agent, of.Facts().Title, os.Getenv, a.stateDir, command, f.ask != "")
		}
	}
	if err != nil {
		return o, usagef("%w", err)
	}
	return o, nil
}

// installOther is install for another agent than Claude Code.
func (a *app) installOther(ctx context.Context, f installFlags) (changed bool, err error) {
	command, err := a.hookCommand(f)
	if err != nil {
		return false, err
	}
	o, err := a.otherOptions(f, command)
	if err != nil {
		return false, err
	}
	plan, err := install.Install(o)
	if err != nil {
		return false, err
	}
	return a.carryOut(ctx, f, plan, o)
}

// otherFacts say in short what an install for another agent means.
func otherFacts(o install.Options) string {
	for _, name := range agents.Names() {
		if a, err := agents.Named(name); err == nil && a.Facts().Title == o.Format.Agent && !a.Facts().Race {
			return o.Format.Agent + " shows no prompt while the hook waits.\nSo a request waits for ten minutes at most (assent serve --hold), and not at all while nobody can\nbe told of it; then, and if assent is away, " + o.Format.Agent + " asks at its own prompt."
		}
	}
	return "Its own prompt stays up meanwhile, and the first answer counts."
}

// uninstallOther is uninstall for another agent than Claude Code.
func (a *app) uninstallOther(ctx context.Context, f installFlags) error {
	o, err := a.otherOptions(f, nil)
	if err != nil {
		return err
	}
	plan, err := install.Uninstall(o)
	if err != nil {
		return err
	}
	_, err = a.carryOut(ctx, f, plan, o)
	return err
}
