package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/setup/installer"
	"assent/internal/text/show"
)

// agentDone is what install --all and uninstall --all did for one agent, for programs.
type agentDone struct {
	Agent   string `json:"agent"`
	Program string `json:"program,omitempty"`
	installed
	Declined bool   `json:"declined,omitempty"` // a person said no
	Error    string `json:"error,omitempty"`    // why it was not done

	title string
}

// errSomeFailed says that not all agents were done. Which, was printed.
var errSomeFailed = errors.New("not everything was done; see above")

// oneAgent does something for the agent that the flags name.
type oneAgent func(context.Context, installFlags) (installed, error)

// installEach installs for one of the agents.
func (a *app) installEach(ctx context.Context, f installFlags) (installed, error) {
	done, err := a.installNamed(ctx, f)
	return done.installed, err
}

// checkAll says which flags are not for all agents at once.
func (a *app) checkAll(f installFlags, args []string) error {
	switch {
	case len(args) > 0 || f.agent != installer.Claude:
		return usagef("--all is for every agent; name none beside it")
	case f.scope != string(install.User):
		return usagef("--scope %s is for Claude Code; leave out --all", f.scope)
	case f.print:
		return usagef("--print shows one file; name an agent in the place of --all")
	case f.unanswered != "" && f.unanswered != string(hook.Deny) && f.unanswered != string(hook.Abstain):
		return usagef("--on-failure %s: want deny or abstain", f.unanswered)
	case f.strict || len(f.trust)+len(f.trustRules) > 0:
		return usagef("--strict is for Claude Code; leave out --all")
	case f.ci:
		return usagef("--ci is for Claude Code; leave out --all")
	case !f.yes && !a.asks(f):
		return usagef("there is no terminal to ask on, so nothing was changed: --yes is the answer for all agents")
	}
	return nil
}

// forAgent are the flags as they are for one of all agents: what only another knows is left out.
func (f installFlags) forAgent(name string) installFlags {
	f.agent = name
	if !installer.TakesAsk(name) || name != installer.Claude && f.ask != defaultAsk {
		f.ask = ""
	}
	if !installer.TakesUnanswered(name) {
		f.unanswered = ""
	}
	if name != installer.Claude {
		f.defaultMode, f.claudeVersion = "", ""
	}
	return f
}

// everyAgent does for each agent what do does for one, and says what became of it.
func (a *app) everyAgent(ctx context.Context, f installFlags, args []string, do oneAgent, of []installer.Found) error {
	if err := a.checkAll(f, args); err != nil {
		return err
	}
	done, err := a.eachAgent(ctx, f, do, of)
	if err != nil {
		return err
	}
	return a.tellAll(done)
}

// eachAgent calls do for each agent. Whatever becomes of one, the others are done too; the error is ctx's.
func (a *app) eachAgent(ctx context.Context, f installFlags, do oneAgent, of []installer.Found) ([]agentDone, error) {
	results := []agentDone{}
	for _, at := range of {
		if !a.json {
			fmt.Fprintf(a.out, "%s\n\n", strings.TrimSpace("== "+at.Title+"  "+show.Line(at.Program)))
		}
		r := agentDone{Agent: at.Name, Program: at.Program, title: at.Title}
		var err error
		r.installed, err = do(ctx, f.forAgent(at.Name))
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if r.Notes == nil {
			r.Notes = []install.Note{}
		}
		switch {
		case errors.Is(err, errDeclined):
			r.Declined = true
		case err != nil:
			r.Error = err.Error()
			if !a.json {
				fmt.Fprintln(a.out, "Nothing was changed:", r.Error)
			}
		}
		if !a.json {
			fmt.Fprintln(a.out)
		}
		results = append(results, r)
	}
	return results, nil
}

// tellAll says what became of each.
func (a *app) tellAll(results []agentDone) error {
	failed := false
	for _, r := range results {
		failed = failed || r.Error != ""
		if !a.json {
			fmt.Fprintf(a.out, "%-12s %s\n", r.title, r.line())
		}
	}
	if a.json {
		if err := a.printJSON(results); err != nil {
			return err
		}
	}
	if failed {
		return errSomeFailed
	}
	return nil
}

// line is what was done, in short.
func (r agentDone) line() string {
	switch {
	case r.Error != "":
		return "failed: " + r.Error
	case r.Declined:
		return "nothing was changed"
	case !r.Changed:
		return "as it should be: " + show.Line(r.Path)
	}
	return "done: " + show.Line(r.Path)
}

// installAll installs for every agent that is found.
func (a *app) installAll(ctx context.Context, f installFlags, args []string) error {
	found := installer.OnMachine(os.Getenv)
	if len(found) == 0 {
		return fmt.Errorf("none of %s is on PATH, so there is nothing to install", strings.Join(installer.Names, ", "))
	}
	return a.everyAgent(ctx, f, args, a.installEach, found)
}

// uninstallAll uninstalls for every agent, also those that are gone: their settings may be there still.
func (a *app) uninstallAll(ctx context.Context, f installFlags, args []string) error {
	var all []installer.Found
	for _, name := range installer.Names {
		all = append(all, installer.Found{Name: name, Title: installer.Title(name), Program: installer.Program(name, os.Getenv)})
	}
	return a.everyAgent(ctx, f, args, a.uninstallNamed, all)
}
