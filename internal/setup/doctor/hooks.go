package doctor

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// wanted are the events without which assent does not notice that a request is over.
var wanted = []string{hook.EventPostToolUse, hook.EventPostToolUseFailure, hook.EventPostToolBatch, hook.EventStop, hook.EventUserPromptSubmit, hook.EventSessionEnd}

// hooks looks for assent's hooks in the settings, and at how they are told to run. socket is the
// broker's, "" if it is not known.
func hooks(settings []install.Settings, versions []string, socket string, env func(string) string) []Finding {
	var checks []Finding
	add := func(status Status, detail, fix string) {
		checks = append(checks, Finding{"hooks", status, detail, fix})
	}
	seen := map[Finding]bool{} // thirty hooks may have one and the same fault
	var ours []install.Hook
	foreign := false
	only := slices.ContainsFunc(settings, func(s install.Settings) bool { return s.Scope == install.Managed && s.ManagedOnly })
	for _, s := range settings {
		if only && s.Scope != install.Managed && s.Err == nil {
			if slices.ContainsFunc(s.Hooks, func(h install.Hook) bool { return h.Ours }) {
				add(OK, s.Path+" has hooks of assent's that do not run: the administrator lets only managed ones run", "assent uninstall --scope "+string(s.Scope))
			}
			continue
		}
		if s.Err != nil {
			add(Fail, s.Err.Error(), "fix the file, then: assent install")
			continue
		}
		if s.DisableAllHooks {
			add(Fail, s.Path+" sets disableAllHooks", "remove it: no hook runs while it is there")
		}
		for _, h := range s.Hooks {
			if !h.Ours {
				foreign = foreign || h.Event == hook.EventPermissionRequest
				if len(versions) > 0 && install.Unknown([]string{h.Event}, versions) != nil {
					c := Finding{"hooks", Warn, fmt.Sprintf("%s: another tool's hook is for %s, which Claude Code %s does not know; it may ask about the settings at every start", s.Path, h.Event, strings.Join(versions, " and ")), "take that entry out, or update Claude Code"}
					if !seen[c] {
						seen[c] = true
						checks = append(checks, c)
					}
				}
				continue
			}
			ours = append(ours, h)
			for _, c := range handler(s, h, socket, env) {
				if !seen[c] {
					seen[c] = true
					checks = append(checks, c)
				}
			}
		}
	}
	plugin := install.Plugin(settings)
	switch {
	case plugin != "" && len(ours) > 0:
		add(Warn, "the plugin "+plugin+" brings the same hooks as the settings, so every request is asked twice", "claude plugin uninstall "+plugin+", or assent uninstall")
		checks = append(checks, events(ours, versions)...)
	case plugin != "":
		add(OK, "no settings file runs assent-hook; the plugin "+plugin+" is switched on, which does if it is assent's own", "")
	default:
		checks = append(checks, events(ours, versions)...)
	}
	asked := plugin != "" || slices.ContainsFunc(ours, func(h install.Hook) bool { return h.Event == hook.EventPermissionRequest })
	if foreign && asked {
		add(Warn, "another tool's PermissionRequest hook runs beside assent's", "the first of them to decide wins; keep one")
	}
	if event := doubled(ours); event != "" {
		add(Warn, fmt.Sprintf("assent's hook stands twice for %s, written differently, so it runs twice", event), "keep it in one settings file: assent uninstall --scope user, project or local")
	}
	for _, s := range settings {
		if s.ReadOnly != nil && s.Err == nil && s.Scope != install.Managed {
			status := OK
			if !asked {
				status = Warn
			}
			add(status, s.ReadOnly.Error(), "")
		}
	}
	return checks
}

// events says for which events the hooks run, and for which they should or must not.
func events(ours []install.Hook, versions []string) []Finding {
	var names []string
	for _, h := range ours {
		if !slices.Contains(names, h.Event) {
			names = append(names, h.Event)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return []Finding{{"hooks", Warn, "no settings file runs assent-hook", "assent install"}}
	case !slices.Contains(names, hook.EventPermissionRequest):
		return []Finding{{"hooks", Fail, "assent-hook runs, but not for PermissionRequest", "assent install"}}
	}
	var checks []Finding
	if slices.Contains(names, "WorktreeCreate") {
		checks = append(checks, Finding{"hooks", Fail, "a WorktreeCreate hook replaces git there and breaks worktrees", "assent install takes it out"})
	}
	c := Finding{"hooks", OK, "assent-hook runs for " + show.Count(len(names), "event"), ""}
	if len(versions) == 0 {
		versions = []string{install.Newest}
	}
	if unknown := install.Unknown(names, versions); len(unknown) > 0 {
		checks = append(checks, Finding{"hooks", Fail, fmt.Sprintf("the settings were written for another version: %s is not known to Claude Code %s, which may ask about the settings at every start", strings.Join(unknown, ", "), strings.Join(versions, " and ")), "assent install"})
	}
	all, err := install.Events(versions)
	if err != nil {
		return append(checks, c) // the version itself has its own line
	}
	missing := slices.DeleteFunc(all, func(e string) bool { return slices.Contains(names, e) })
	needed := slices.DeleteFunc(slices.Clone(wanted), func(e string) bool { return slices.Contains(names, e) })
	switch {
	case len(needed) > 0:
		c.Status, c.Fix = Warn, "assent install"
		c.Detail += "; without " + strings.Join(needed, ", ") + " an answer in the terminal may go unnoticed"
	case len(missing) > 0:
		c.Fix = "assent install adds them"
		c.Detail += "; the settings leave out or were written before " + strings.Join(missing, ", ")
	}
	return append(checks, c)
}

// handler looks at one hook of assent.
func handler(s install.Settings, h install.Hook, socket string, env func(string) string) []Finding {
	var checks []Finding
	add := func(status Status, detail, fix string) {
		checks = append(checks, Finding{"hooks", status, detail, fix})
	}
	program := h.Words[0]
	again := "assent install"
	if s.Scope != install.User {
		again += " --scope " + string(s.Scope)
	}
	if !filepath.IsAbs(program) {
		add(Warn, fmt.Sprintf("%s: %s is no absolute path", s.Path, program), again+": PATH differs between terminals")
	} else if fi, err := os.Stat(program); err != nil || fi.IsDir() || fi.Mode()&0o111 == 0 {
		add(Fail, fmt.Sprintf("%s: %s cannot be run", s.Path, program), "make build, or "+again+" if it has moved")
	}
	if (s.Scope == install.Project || s.Scope == install.Local) && namesake(program) {
		add(Warn, fmt.Sprintf("%s: %s is another program than the assent-hook of this assent, and came with the project or was put there", s.Path, program), "look at it; "+again+" puts ours in its place")
	}
	if asks, err := target(h.Words); err != nil {
		add(Warn, fmt.Sprintf("%s: whom the hook asks cannot be read: %v", s.Path, err), again)
	} else if asks != "" && socket != "" && asks != socket {
		add(Warn, fmt.Sprintf("%s: the hook asks %s, the broker listens on %s", s.Path, asks, socket), again+" while the broker runs")
	}
	if h.Event == hook.EventElicitation && h.Timeout > 0 && h.Timeout < install.FormTimeout && !denies(s) {
		add(Warn, fmt.Sprintf("%s: Claude Code gives up on the hook for forms of MCP servers (Elicitation) after %g s, as an older assent told it to: too soon to answer one on the page", s.Path, h.Timeout), again)
	}
	if h.Event != hook.EventPermissionRequest {
		return checks
	}
	if c, err := read(h.Words, env); err == nil {
		if err := hookclient.Foreign(c); err != nil {
			add(Fail, fmt.Sprintf("%s: the hook tells nothing to %s: %v", s.Path, c.Socket, err), again+" --socket "+c.Socket+" --socket-owner USER, if that is your broker's user")
		}
		if c.Socket != "" && strings.Contains(strings.ToLower(c.URL), "https:") && filepath.Base(program) != "assent" {
			add(Warn, fmt.Sprintf("%s: %s speaks no TLS, so it asks none of %s where the broker on its socket does not answer", s.Path, filepath.Base(program), c.URL), again+" --socket "+c.Socket+" --url "+c.URL)
		}
	}
	if h.Timeout > 0 && h.Timeout < 300 {
		add(Warn, fmt.Sprintf("%s: Claude Code gives up on the hook after %g s", s.Path, h.Timeout), again)
	}
	if h.Matcher != "" && h.Matcher != "*" {
		add(Warn, fmt.Sprintf("%s: the PermissionRequest hook is only for tools that match %s", s.Path, h.Matcher), again)
	}
	return checks
}

// target is the socket or URL that a hook's flags name first, "" if they name none.
func target(words []string) (string, error) {
	c, err := flags(words)
	return cmp.Or(c.Socket, c.URL), err
}

// flags is what the flags of a hook say.
func flags(words []string) (hookclient.Config, error) {
	return read(words, func(string) string { return "" })
}

// read is what a hook's flags, its file and env say.
func read(words []string, env func(string) string) (hookclient.Config, error) {
	args := words[1:]
	if filepath.Base(words[0]) == "assent" {
		args = words[2:]
	}
	return hookclient.ReadConfig(args, env)
}

// denies reports whether the hooks of a file are for runs without a person: those of install --ci
// hold no forms.
func denies(s install.Settings) bool {
	return slices.ContainsFunc(s.Hooks, func(h install.Hook) bool {
		if !h.Ours || h.Event != hook.EventPermissionRequest {
			return false
		}
		c, err := flags(h.Words)
		return err == nil && c.OnTimeout == hook.Deny
	})
}

// namesake reports whether a program that can be run is not the hook client of this assent.
func namesake(program string) bool {
	fi, err := os.Stat(program)
	if err != nil {
		return false // which is said elsewhere
	}
	self, err := os.Executable()
	if err != nil {
		return false
	}
	own := []string{self}
	for _, name := range []string{"assent-hook", "assent-hook-strict"} {
		own = append(own, filepath.Join(filepath.Dir(self), name))
		if found, err := exec.LookPath(name); err == nil {
			own = append(own, found)
		}
	}
	return !slices.ContainsFunc(own, func(path string) bool {
		x, err := os.Stat(path)
		return err == nil && os.SameFile(x, fi)
	})
}

// doubled returns an event for which different hooks of assent run, "" if there is none.
func doubled(ours []install.Hook) string {
	for i, h := range ours {
		for _, other := range ours[:i] {
			if other.Event == h.Event && !h.Same(other) {
				return h.Event
			}
		}
	}
	return ""
}
