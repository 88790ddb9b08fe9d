package doctor

import (
	"context"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/text/show"
)

// checkClients finds the agents on this machine, and where they keep their settings.
func (x *examination) checkClients(ctx context.Context) []Finding {
	o, err := install.OptionsFrom(x.Env, x.StateDir)
	if err != nil {
		return []Finding{{"hooks", Fail, err.Error(), "set it to an absolute path, or unset it"}}
	}
	x.agent = &o
	var findings []Finding
	findings, x.versions = clients(install.Clients(ctx, x.Env("PATH"), o.Home))
	return findings
}

// checkHooks reads the settings that count in the current directory.
func (x *examination) checkHooks(context.Context) []Finding {
	dir, root, err := x.Where()
	if err != nil {
		return []Finding{{"hooks", Warn, err.Error(), "go to a directory that is there"}}
	}
	x.settings, x.surveyed = install.Survey(*x.agent, dir, root), true
	return hooks(x.settings, x.versions, x.broker.Socket, x.Env)
}

// checkSignatures says whether hooks print only what is signed, and for whom that holds.
func (x *examination) checkSignatures(ctx context.Context) []Finding {
	paired := func() (list []device, err error) { return list, x.Call(ctx, "/v1/devices", &list) }
	if !x.mayLook {
		paired = nil
	}
	return signatures(x.settings, x.Env, install.RootsAlone, paired)
}

func (x *examination) checkMode(context.Context) []Finding {
	return []Finding{mode(x.settings, x.versions)}
}

// clients says which versions of Claude Code are there.
func clients(found []install.Client) (checks []Finding, versions []string) {
	if len(found) == 0 {
		return []Finding{{"claude", Warn, "no claude on PATH, nor in ~/.local/bin and ~/.claude/local", "install Claude Code, or go on with assent simulate"}}, nil
	}
	for _, c := range found {
		k := Finding{Name: "claude", Status: OK, Detail: c.Version + " at " + c.Path}
		switch {
		case c.Err != nil:
			k.Status, k.Detail, k.Fix = Warn, c.Err.Error(), "run it by hand: "+c.Path+" --version"
			checks = append(checks, k)
			continue
		case install.Older(c.Version, install.Oldest):
			k.Status, k.Fix = Fail, "update Claude Code"
			k.Detail += "; assent needs " + install.Oldest + " or newer"
		case c.Version == install.Oldest:
			k.Status, k.Fix = Warn, "update Claude Code"
			k.Detail += "; in this version claude -p asks no hook for permission"
		case install.Older(install.Newest, c.Version):
			k.Detail += "; newer than " + install.Newest + ", the newest that assent was tried with"
		case install.Older(c.Version, install.Driven):
			k.Detail += "; assent was tried with " + install.Oldest + " and " + install.Driven
		}
		checks = append(checks, k)
		versions = append(versions, c.Version)
	}
	if v := slices.Compact(slices.Sorted(slices.Values(versions))); len(v) > 1 {
		checks = append(checks, Finding{"claude", Warn, "several versions (" + strings.Join(v, ", ") + ") read the same settings; hooks can only be for events that all of them know", "keep one, if you do not need the others"})
	}
	return checks, versions
}

// mode says whether requests reach a hook at all.
func mode(settings []install.Settings, versions []string) Finding {
	mode, asks := install.Mode(settings)
	where := ""
	for _, s := range settings {
		if s.DefaultMode == mode && mode != "" {
			where = " (" + s.Path + ")"
		}
	}
	c := Finding{Name: "mode", Status: OK, Detail: mode + where}
	switch {
	case slices.Contains(install.Modes, mode):
		return c
	case mode == "bypassPermissions" || mode == "dontAsk":
		c.Status, c.Detail, c.Fix = Warn, mode+where+": Claude Code asks for no permission, so assent is never asked", "assent install --default-mode default"
		return c
	case mode == "" && len(versions) > 0 && !slices.ContainsFunc(versions, install.StartsInAuto):
		c.Detail = "not set: Claude Code asks for everything that needs permission"
		return c
	}
	c.Detail = "auto" + where
	if mode == "" {
		c.Detail = "auto, Claude Code's own default in a terminal"
	}
	if asks > 0 {
		c.Detail += ": hooks are asked about nothing but " + show.Count(asks, "permissions.ask rule")
		return c
	}
	c.Status = Warn
	c.Detail += ": most calls reach no hook"
	c.Fix = "assent install --ask (risky commands reach assent), or assent install --default-mode default (all that needs permission)"
	return c
}
