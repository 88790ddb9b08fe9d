package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
)

// whereabouts is where the person stands.
type whereabouts struct {
	cwd  string
	root string // of the git work tree around cwd, "" if there is none
}

// dir is the directory whose settings scopes project and local mean.
func (w whereabouts) dir() string {
	if w.root != "" {
		return w.root
	}
	return w.cwd
}

// installOptions finds the file that the flags mean.
func (a *app) installOptions(f installFlags) (install.Options, whereabouts, error) {
	if f.agent != "claude" {
		return install.Options{}, whereabouts{}, usagef("--agent %s: only claude so far", f.agent)
	}
	scope := install.Scope(f.scope)
	switch scope {
	case install.User, install.Project, install.Local:
	default:
		return install.Options{}, whereabouts{}, usagef("--scope %s: want user, project or local", f.scope)
	}
	w, err := here()
	if err != nil {
		return install.Options{}, w, err
	}
	o, err := a.agentOptions()
	o.Scope, o.Dir, o.CI = scope, w.dir(), f.ci
	return o, w, err
}

func here() (whereabouts, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return whereabouts{}, fmt.Errorf("current directory: %w", err)
	}
	return whereabouts{cwd: cwd, root: gitrepo.Find(cwd).Root}, nil
}

// agentOptions is where the agent keeps its own settings.
func (a *app) agentOptions() (install.Options, error) {
	o := install.Options{Home: os.Getenv("HOME"), ConfigDir: os.Getenv("CLAUDE_CONFIG_DIR"), StateDir: a.stateDir}
	if o.ConfigDir != "" && !filepath.IsAbs(o.ConfigDir) {
		return o, usagef("CLAUDE_CONFIG_DIR is %q, which Claude Code takes from wherever it is started; make it an absolute path", o.ConfigDir)
	}
	return o, nil
}

// versions finds the clients that will read the settings, and refuses those that are too old.
func (a *app) versions(ctx context.Context, f installFlags, o *install.Options) ([]install.Note, error) {
	if f.claudeVersion != "" {
		o.Versions = []string{f.claudeVersion}
		if _, err := install.Events(o.Versions); err != nil {
			return nil, usagef("--claude-version: %w", err)
		}
		return nil, nil
	}
	clients := install.Clients(ctx, os.Getenv("PATH"), o.Home)
	if len(clients) == 0 {
		return nil, errors.New("no claude was found on PATH, nor in ~/.local/bin and ~/.claude/local; install Claude Code first, or say which version will read the settings: --claude-version " + install.Newest)
	}
	var notes []install.Note
	var seen []string
	for _, c := range clients {
		if c.Err != nil {
			notes = append(notes, install.Note{Key: "no-version", Text: fmt.Sprintf("%v; it is left out of account", c.Err)})
			continue
		}
		if _, err := install.Events([]string{c.Version}); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		o.Versions = append(o.Versions, c.Version)
		seen = append(seen, c.Version+" at "+c.Path)
	}
	if len(o.Versions) == 0 {
		return nil, fmt.Errorf("no claude says its version: %w; run it by hand, or say --claude-version V", clients[0].Err)
	}
	if len(seen) > 1 {
		notes = append(notes, install.Note{Key: "several-versions", Text: "several Claude Codes are here (" + strings.Join(seen, ", ") + "); only events that all of them know are written"})
	}
	return notes, nil
}

// hookCommand is the argv that the hooks run, with absolute paths.
func (a *app) hookCommand(f installFlags) ([]string, error) {
	if f.socket != "" && f.url != "" {
		return nil, usagef("--socket and --url exclude each other; give one")
	}
	if f.socketOwner != "" && f.url != "" {
		return nil, usagef("--socket-owner is for a socket; over --url the certificate says who answers")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	if f.url != "" {
		if _, err := hookclient.ParseURL(f.url); err != nil {
			return nil, usagef("--url: %w", err)
		}
		return []string{stable(self), "hook", "--url", f.url}, nil
	}
	program := filepath.Join(filepath.Dir(self), "assent-hook")
	if fi, err := os.Stat(program); err != nil || fi.Mode()&0o111 == 0 {
		if program, err = exec.LookPath("assent-hook"); err != nil {
			return nil, fmt.Errorf("assent-hook is neither beside %s nor on PATH; build it (make build) or install it there", self)
		}
		if program, err = filepath.Abs(program); err != nil {
			return nil, fmt.Errorf("path of assent-hook: %w", err)
		}
	}
	socket := f.socket
	if socket == "" {
		if info, err := a.runtime(); err == nil && info.Socket != "" {
			socket = info.Socket
		} else {
			socket = defaultSocket(a.stateDir, os.Getenv)
		}
	}
	if socket, err = filepath.Abs(socket); err != nil {
		return nil, fmt.Errorf("--socket: %w", err)
	}
	command := []string{stable(program), "--socket", socket}
	if f.socketOwner != "" {
		command = append(command, "--socket-owner", f.socketOwner)
	}
	return command, nil
}

// stable prefers the name under which a program is on PATH: a package manager's link there
// outlives an update, the directory of one version does not. A name inside of the repository that
// we stand in is no such one: the next commit may lead it elsewhere.
func stable(program string) string {
	found, err := exec.LookPath(filepath.Base(program))
	if err != nil || !filepath.IsAbs(found) {
		return program
	}
	x, err1 := os.Stat(found)
	y, err2 := os.Stat(program)
	if err1 != nil || err2 != nil || !os.SameFile(x, y) {
		return program
	}
	if w, err := here(); err != nil || w.root != "" && w.root != os.Getenv("HOME") && strings.HasPrefix(found, w.root+string(filepath.Separator)) {
		return program
	}
	return found
}

// notes says what is special about the place of the settings.
func (w whereabouts) notes(o install.Options, plan install.Plan, settings []install.Settings) []install.Note {
	var notes []install.Note
	if o.Scope != install.User && w.cwd != o.Dir {
		text := "Claude Code reads " + plan.Path + " when it is started in " + o.Dir
		if o.Scope == install.Local {
			text += ", and newer ones below it too"
		}
		notes = append(notes, install.Note{Key: "directory", Text: text})
	}
	for _, s := range settings {
		if s.Path == plan.Path {
			continue
		}
		ours, others := 0, 0
		for _, h := range s.Hooks {
			switch {
			case h.Ours:
				ours++
			case h.Event == hook.EventPermissionRequest:
				others++
			}
		}
		if ours > 0 {
			notes = append(notes, install.Note{Key: "other-scope", Text: fmt.Sprintf("%s runs assent's hook for %s too; Claude Code runs a hook once only if both are written alike, so keep one: assent uninstall --scope %s", s.Path, counted(ours, "event"), s.Scope)})
		}
		if others > 0 {
			notes = append(notes, install.Note{Key: "second-decider", Text: "a hook in " + s.Path + " answers permission requests too: both are asked, and the first decision counts"})
		}
		if s.DisableAllHooks {
			notes = append(notes, install.Note{Key: "hooks-disabled", Text: s.Path + " says disableAllHooks: no hook runs until you take that out"})
		}
	}
	if p := o.Command[0]; strings.HasPrefix(p, filepath.Clean(os.TempDir())+string(filepath.Separator)) {
		notes = append(notes, install.Note{Key: "temporary-path", Text: p + " lies in a directory for temporary files; when it is gone, Claude Code asks in its terminal only"})
	}
	return notes
}

// left says where assent's hooks stay when they go from this file.
func (w whereabouts) left(o install.Options, plan install.Plan) []install.Note {
	var notes []install.Note
	for _, s := range install.Survey(o, w.dir(), w.root) {
		if s.Path != plan.Path && slices.ContainsFunc(s.Hooks, func(h install.Hook) bool { return h.Ours }) {
			notes = append(notes, install.Note{Key: "other-scope", Text: fmt.Sprintf("%s still runs assent's hook: assent uninstall --scope %s", s.Path, s.Scope)})
		}
	}
	return notes
}
