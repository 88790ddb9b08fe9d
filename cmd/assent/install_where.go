package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/host/gitrepo"
	"assent/internal/setup/programs"
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
	if f.strict && !f.print && os.Geteuid() != 0 {
		return install.Options{}, whereabouts{}, usagef("--strict is for all users of this machine, and holds only if it is root's; --print shows what it would do. Run: %s", asRoot())
	}
	switch scope {
	case install.User, install.Project, install.Local:
		if f.managedOnly {
			return install.Options{}, whereabouts{}, usagef("--managed-only goes with --scope managed")
		}
	case install.Managed:
		if !f.print && os.Geteuid() != 0 {
			return install.Options{}, whereabouts{}, usagef("--scope managed is for all users of this machine: run it as root, with sudo; --print shows the file")
		}
	default:
		return install.Options{}, whereabouts{}, usagef("--scope %s: want user, project, local or managed", f.scope)
	}
	w, err := here()
	if err != nil {
		return install.Options{}, w, err
	}
	o, err := a.agentOptions()
	o.Scope, o.Dir, o.CI, o.OnlyManaged = scope, w.dir(), f.ci, f.managedOnly
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
	o, err := install.OptionsFrom(os.Getenv, a.stateDir)
	if err != nil {
		return o, usagef("%w", err)
	}
	return o, nil
}

// versions finds the clients that will read the settings, and refuses those that are too old.
func (a *app) versions(ctx context.Context, f installFlags, o *install.Options) (notes []install.Note, err error) {
	if f.claudeVersion != "" {
		o.Versions = []string{f.claudeVersion}
		if _, err := install.Events(o.Versions); err != nil {
			return nil, usagef("--claude-version: %w", err)
		}
		return nil, nil
	}
	o.Versions, notes, err = install.Versions(install.Clients(ctx, os.Getenv("PATH"), o.Home))
	return notes, err
}

// hookCommand is the argv that the hooks run, with absolute paths.
func (a *app) hookCommand(f installFlags) ([]string, error) {
	if f.scope != string(install.Managed) {
		return a.hookArgv(f)
	}
	if f.url == "" && f.socket == "" {
		return nil, usagef("--scope managed: say --url, or --socket with --socket-owner: root's own broker is not everybody's")
	}
	argv, err := a.hookArgv(f)
	if err != nil {
		return nil, err
	}
	if err := install.RootsAlone(argv[0]); err != nil && !f.print {
		return nil, fmt.Errorf("all users would run %s, and %w; install assent for the machine, as with sh install.sh --prefix /usr/local", argv[0], err)
	}
	return argv, nil
}

func (a *app) hookArgv(f installFlags) ([]string, error) {
	if f.socketOwner != "" && f.url != "" && f.socket == "" {
		return nil, usagef("--socket-owner is for a socket; over --url the certificate says who answers")
	}
	self, err := lasting(!f.print)
	if err != nil {
		return nil, err
	}
	if f.url != "" {
		if err := hookclient.CheckURLs(f.url); err != nil {
			return nil, usagef("--url: %w", err)
		}
		command := []string{stable(self), "hook"}
		if f.socket != "" {
			if command, err = onSocket(command, f.socket, f.socketOwner); err != nil {
				return nil, err
			}
		}
		return append(command, "--url", f.url), nil
	}
	name := "assent-hook"
	if f.strict {
		name = hookclient.StrictName
	}
	program, err := programs.Beside(self, name)
	if err != nil {
		return nil, err
	}
	socket := f.socket
	if socket == "" {
		socket = a.hookSocket(defaultSocket(a.stateDir, os.Getenv))
	}
	return onSocket([]string{stable(program)}, socket, f.socketOwner)
}

// onSocket adds to a hook's command where its broker listens on this machine.
func onSocket(command []string, socket, owner string) ([]string, error) {
	socket, err := filepath.Abs(socket)
	if err != nil {
		return nil, fmt.Errorf("--socket: %w", err)
	}
	command = append(command, "--socket", socket)
	if owner != "" {
		command = append(command, "--socket-owner", owner)
	}
	return command, nil
}

// lasting is the path of this program under which it can be named for good; keep sees to it that it is there.
func lasting(keep bool) (string, error) { return programs.Self(os.Getenv, version(), keep) }

// stable is the name by which settings should call a program, see programs.Stable.
func stable(program string) string {
	w, err := here()
	if err != nil {
		return program
	}
	return programs.Stable(program, w.root, os.Getenv("HOME"))
}
