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

// claude is Claude Code, which takes settings on its command line.
type claude struct{}

func (claude) names() (title, pkg string, programs []string) {
	return "Claude Code", "@anthropic-ai/claude-code", []string{"claude"}
}

// parse takes out the settings that it was given, and refuses what keeps it from asking a hook.
func (claude) parse(a *Agent) error {
	words := a.words
	var rest []string
	for i := a.at + 1; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		if words[i] == "--" {
			rest = append(rest, words[i:]...)
			break
		}
		switch name {
		case "--settings", "--permission-mode", "--permission-prompt-tool", "--setting-sources":
			if !given {
				if i++; i == len(words) {
					return fmt.Errorf("%s needs a value", name)
				}
				value = words[i]
			}
			if name == "--settings" {
				a.settings = value // taken out: claude reads one, and gets it with our hooks in it
				continue
			}
			if name == "--permission-prompt-tool" {
				a.decider = value
			} else if name == "--setting-sources" {
				a.sources = value
			} else if !slices.Contains(install.Modes, value) {
				return fmt.Errorf("--permission-mode %s: then Claude Code decides without asking any hook, and no rule would count; want one of %s", value, strings.Join(install.Modes, ", "))
			}
			rest = append(rest, name+"="+value)
			continue
		case "--dangerously-skip-permissions", "--bare":
			return fmt.Errorf("%s: then Claude Code asks no hook, and no rule would count; leave it out and allow with rules what may run", name)
		}
		rest = append(rest, words[i])
	}
	a.words = append(slices.Clone(words[:a.at+1]), rest...)
	return nil
}

// leavesOut reports whether the client was told not to read the settings of a scope.
func (a *Agent) leavesOut(scope install.Scope) bool {
	return a.sources != "" && !slices.ContainsFunc(strings.Split(a.sources, ","), func(s string) bool {
		return strings.TrimSpace(s) == string(scope)
	})
}

// base is the settings that the client was given, nil if none.
func (a *Agent) base() (name string, text []byte, err error) {
	switch s := strings.TrimSpace(a.settings); {
	case s == "":
		return "--settings", nil, nil
	case strings.HasPrefix(s, "{"):
		return "--settings", []byte(s), nil
	}
	text, err = os.ReadFile(a.settings)
	if err != nil {
		return "", nil, fmt.Errorf("settings for claude: %w", err)
	}
	return a.settings, text, nil
}

func (claude) judge(r *run, v string) (refuse string) {
	switch {
	case install.Older(v, install.Oldest):
		return fmt.Sprintf("Claude Code %s is older than %s, the oldest that assent was tried with: update it", v, install.Oldest)
	case major(v) != major(install.Newest):
		return fmt.Sprintf("Claude Code %s is unknown to this assent, which was tried with versions from %s to %s: update assent", v, install.Oldest, install.Newest)
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

// hooks writes the settings file of this run.
func (claude) hooks(_ context.Context, r *run, socket string) (words []string, err error) {
	o := install.Options{CI: true, Wait: r.Timeout, Versions: []string{r.rep.ClientVersion}}
	if r.rep.ClientVersion == "" {
		o.Versions = []string{install.Oldest} // what all know
	}
	if o.Command, err = r.Hook(socket); err != nil {
		return nil, err
	}
	name, base, err := r.Agent.base()
	if err != nil {
		return nil, err
	}
	text, err := install.Apart(o, name, base)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(r.guardedDir(), "settings.json")
	r.made = append(r.made, path)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("settings for this run: %w", err)
	}
	return []string{"--settings", path}, nil
}

// others looks at the command line, and at the settings of this machine and project.
func (claude) others(r *run) {
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
