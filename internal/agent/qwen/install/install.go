// Package install says what assent writes into Qwen Code's settings, by the edits of package claude/install.
package install

import (
	"errors"
	"path/filepath"
	"slices"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/qwen"
)

// Timeouts, in milliseconds: what is below 1000 would be seconds. Qwen Code waits for no hook longer than a
// minute, so a request has to be over before that.
const (
	limit = 60_000
	wait  = "50s"
	plain = 10_000
)

// Options are those of an install of hooks that run this command.
func Options(env func(string) string, stateDir string, command []string) (install.Options, error) {
	if env("HOME") == "" {
		return install.Options{}, errors.New("where Qwen Code keeps its settings is not known: HOME is not set")
	}
	return install.Options{
		Scope: install.User, StateDir: stateDir, Command: command,
		Format: &install.Format{
			Agent: "Qwen Code", Path: filepath.Join(env("HOME"), ".qwen", "settings.json"), Events: qwen.Events, Comments: true, BOM: true,
			Handler: func(event string) string { return handler(command, event) },
			Notes: []install.Note{
				{Key: "minute", Text: "Qwen Code waits for a hook for a minute at most, whatever its settings say: there are 50 seconds to answer, then it asks at its own prompt"},
				{Key: "mode", Text: "Qwen Code starts in auto mode, where a model decides most calls; --approval-mode default has it ask"},
			},
		},
	}, nil
}

// handler is the hook of an event. Qwen Code runs it by a shell.
func handler(command []string, event string) string {
	words := slices.Concat(command, []string{"--agent", qwen.Name})
	timeout := plain
	if event == "PermissionRequest" {
		words, timeout = append(words, "--timeout", wait), limit
	}
	return install.CommandHook(words, timeout)
}
