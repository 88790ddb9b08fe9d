package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
)

// examineAgent looks at the agents on this machine and at their settings.
func (a *app) examineAgent(ctx context.Context, socket string) []check {
	o, err := a.agentOptions()
	if err != nil {
		return []check{{"hooks", "fail", err.Error(), "set it to an absolute path, or unset it"}}
	}
	checks, versions := checkClients(install.Clients(ctx, os.Getenv("PATH"), o.Home))
	w, err := here()
	if err != nil {
		return append(checks, check{"hooks", "warn", err.Error(), "go to a directory that is there"})
	}
	settings := install.Survey(o, w.cwd, w.root)
	checks = append(checks, checkHooks(settings, versions, socket)...)
	return append(checks, checkMode(settings, versions))
}

// checkClients says which Claude Codes are there.
func checkClients(clients []install.Client) (checks []check, versions []string) {
	if len(clients) == 0 {
		return []check{{"claude", "warn", "no claude on PATH, nor in ~/.local/bin and ~/.claude/local", "install Claude Code, or go on with assent simulate"}}, nil
	}
	for _, c := range clients {
		k := check{Name: "claude", Status: "ok", Detail: c.Version + " at " + c.Path}
		switch {
		case c.Err != nil:
			k.Status, k.Detail, k.Fix = "warn", c.Err.Error(), "run it by hand: "+c.Path+" --version"
			checks = append(checks, k)
			continue
		case install.Older(c.Version, install.Oldest):
			k.Status, k.Fix = "fail", "update Claude Code"
			k.Detail += "; assent needs " + install.Oldest + " or newer"
		case c.Version == install.Oldest:
			k.Status, k.Fix = "warn", "update Claude Code"
			k.Detail += "; in this version claude -p asks no hook for permission"
		case install.Older(c.Version, install.Newest):
			k.Detail += "; assent was tried with " + install.Oldest + " and " + install.Newest
		}
		checks = append(checks, k)
		versions = append(versions, c.Version)
	}
	if v := slices.Compact(slices.Sorted(slices.Values(versions))); len(v) > 1 {
		checks = append(checks, check{"claude", "warn", "several versions (" + strings.Join(v, ", ") + ") read the same settings; hooks can only be for events that all of them know", "keep one, if you do not need the others"})
	}
	return checks, versions
}

// checkMode says whether requests reach a hook at all.
func checkMode(settings []install.Settings, versions []string) check {
	mode, asks := permissionMode(settings)
	where := ""
	for _, s := range settings {
		if s.DefaultMode == mode && mode != "" {
			where = " (" + s.Path + ")"
		}
	}
	c := check{Name: "mode", Status: "ok", Detail: mode + where}
	switch {
	case slices.Contains(install.Modes, mode):
		return c
	case mode == "bypassPermissions" || mode == "dontAsk":
		c.Status, c.Detail, c.Fix = "warn", mode+where+": Claude Code asks for no permission, so assent is never asked", "assent install --default-mode default"
		return c
	case mode == "" && len(versions) > 0 && !slices.ContainsFunc(versions, startsInAuto):
		c.Detail = "not set: Claude Code asks for everything that needs permission"
		return c
	}
	c.Detail = "auto" + where
	if mode == "" {
		c.Detail = "auto, Claude Code's own default in a terminal"
	}
	if asks > 0 {
		c.Detail += ": hooks are asked about nothing but " + counted(asks, "permissions.ask rule")
		return c
	}
	c.Status = "warn"
	c.Detail += ": most calls reach no hook"
	c.Fix = "assent install --ask (risky commands reach assent), or assent install --default-mode default (all that needs permission)"
	return c
}
