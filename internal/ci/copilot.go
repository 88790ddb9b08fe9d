package ci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/agent"
	"assent/internal/agent/claude/install"
	"assent/internal/agent/copilot"
	copilotinstall "assent/internal/agent/copilot/install"
	"assent/internal/host/regular"
)

// maxHooks bounds a file of hooks, in bytes.
const maxHooks = 1 << 20

// copilotCLI is the Copilot CLI, which takes a directory with a plugin, and so hooks, on its command line.
type copilotCLI struct{}

func (copilotCLI) names() (title, pkg string, programs []string) {
	f := copilot.New().Facts()
	return f.Title, f.Package, []string{"copilot"}
}

func (copilotCLI) parse(*Agent) error { return nil }

func (copilotCLI) judge(r *run, v string) string {
	return measured(r, copilot.New().Facts(), v)
}

// hooks writes a plugin that is nothing but hooks.
func (copilotCLI) hooks(_ context.Context, r *run, socket string) ([]string, error) {
	command, err := r.Hook(socket)
	if err != nil {
		return nil, err
	}
	asks, timeout := install.CIWords(r.Timeout)
	text, err := copilotinstall.Hooks(command, asks, timeout)
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(map[string]string{"name": "assent", "version": "1.0.0", "description": "Asks assent for permission", "hooks": "hooks.json"})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.guardedDir(), "copilot-plugin")
	r.made = append(r.made, dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("hooks for this run: %w", err)
	}
	for name, b := range map[string][]byte{"plugin.json": about, "hooks.json": text} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return nil, fmt.Errorf("hooks for this run: %w", err)
		}
	}
	return []string{"--plugin-dir", dir}, nil
}

// others looks at what lets Copilot run a call without asking.
func (copilotCLI) others(r *run) {
	for _, w := range r.Agent.words[r.Agent.at+1:] {
		if w == "--" {
			break
		}
		switch name, _, _ := strings.Cut(w, "="); name {
		case "--allow-all-tools", "--allow-all", "--yolo":
			r.problem("allowed-elsewhere", name+": a call whose hook Copilot does not wait for runs, and this report does not see it; -p needs no "+name+" under assent", false)
		case "--allow-tool", "--allow-url":
			r.problem("allowed-elsewhere", name+" allows calls: for them Copilot may ask nobody, and this report does not see them", false)
		}
	}
	if home, err := copilotinstall.Home(os.Getenv); err == nil {
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(copilotinstall.File(home)), "*.json"))
		for _, f := range files {
			if b, err := regular.Read(f, maxHooks, 0); err != nil || strings.Contains(string(b), `"permissionRequest"`) {
				r.problem("second-decider", "hooks in "+f+" answer permission requests too: both are asked, and this report may not see the other answer", false)
			}
		}
	}
}

// measured says how a version stands to those that assent was tried with.
func measured(r *run, f agent.Facts, v string) string {
	switch newest := cmp.Or(f.Newest, f.Version); {
	case install.Older(v, f.Version):
		r.problem("older-version", fmt.Sprintf("%s %s is older than %s, the oldest that this assent was tried with: whether it asks a hook for everything is not known; update it", f.Title, v, f.Version), true)
	case install.Older(newest, v):
		r.problem("newer-version", fmt.Sprintf("%s %s is newer than %s, the newest that this assent was tried with", f.Title, v, newest), false)
	}
	return ""
}
