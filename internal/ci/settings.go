package ci

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
)

// checkVersion finds the version of the client, and returns why nothing may be allowed under it;
// empty if it may.
func (r *run) checkVersion(ctx context.Context) (refuse string) {
	v, err := r.ClientVersion, error(nil)
	if v == "" {
		v, err = r.Agent.version(ctx)
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
func (r *run) writeSettings(socket string) (path string, err error) {
	o := install.Options{CI: true, Wait: r.Timeout, Versions: []string{r.rep.ClientVersion}}
	if r.rep.ClientVersion == "" {
		o.Versions = []string{install.Oldest} // what all know
	}
	if o.Command, err = r.Hook(socket); err != nil {
		return "", err
	}
	name, base, err := r.Agent.base()
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

// checkOthers says what in the command line and in the settings of this machine and project comes
// between the agent and assent.
func (r *run) checkOthers() {
	if d := r.Agent.decider; d != "" && !strings.Contains(d, "assent") {
		r.problem("second-decider", "the tool "+d+" answers permission requests too: both are asked, and the first decision counts, which this report may not see", false)
	}
	for _, s := range r.Settings() {
		if r.Agent.leavesOut(s.Scope) {
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
