// Package install says what assent writes into Codex's hooks.json: the file that package
// claude/install edits, with every other byte kept, and the way back.
//
// Codex runs a hook only after its user has trusted it, and asks again when anything about it changes:
// its command, time-out, status message or place. So what is written here never changes once it is
// installed: how long a request waits is the broker's to say (assent serve --hold), the rest stands in
// hook.conf.
package install

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/codex"
	"assent/internal/text/strictjson"
)

// Timeouts, in seconds. Codex cuts those of SessionEnd and Interrupt to 3, and says so.
const (
	day   = 86400
	wait  = "86390s"
	plain = 10
	short = 3
)

// Status is what Codex shows while the hook waits, in the place of a prompt.
const Status = "assent: waiting for an answer (page, phone, assent watch); Esc cancels"

// Home is Codex's own directory, by its environment.
func Home(env func(string) string) (string, error) {
	dir := env("CODEX_HOME")
	switch {
	case dir == "" && env("HOME") == "":
		return "", errors.New("where Codex keeps its settings is not known: HOME is not set")
	case dir == "":
		return filepath.Join(env("HOME"), ".codex"), nil
	case !filepath.IsAbs(dir):
		return "", errors.New("CODEX_HOME is " + dir + ", which Codex takes from wherever it is started; make it an absolute path")
	}
	return dir, nil
}

// Options are those of an install of this command into the hooks of a Codex with this home.
func Options(home, stateDir string, command []string) install.Options {
	return install.Options{
		Scope: install.User, StateDir: stateDir, Command: command,
		Format: &install.Format{
			Agent: "Codex", Path: filepath.Join(home, "hooks.json"), Events: codex.Events,
			Handler: func(event string) string { return handler(command, event) },
			Notes:   []install.Note{{Key: "trust", Text: "Codex runs new and changed hooks only after you have trusted them: start codex, and choose \"Trust all and continue\" when it asks; until then codex exec passes over them without a word"}},
		},
	}
}

// Hook is the hook of an event, as Codex's settings spell it.
type Hook struct {
	Type          string `json:"type"`
	Command       string `json:"command"`
	Timeout       int    `json:"timeout"` // in seconds
	StatusMessage string `json:"statusMessage,omitempty"`
}

// HookOf is the hook of an event that runs this command. asks are further words for the one that asks for
// permission, and timeout is how long Codex waits for it, in seconds.
func HookOf(command []string, event string, asks []string, timeout int) Hook {
	words := slices.Concat(command, []string{"--agent", codex.Name})
	h := Hook{Type: "command", Timeout: plain}
	switch event {
	case "PermissionRequest":
		words = append(words, asks...)
		h.Timeout, h.StatusMessage = timeout, Status
	case "Interrupt", "SessionEnd":
		h.Timeout = short
	}
	for i, w := range words {
		words[i] = install.Quote(w)
	}
	h.Command = strings.Join(words, " ") // Codex runs it by the user's shell
	return h
}

func handler(command []string, event string) string {
	b, _ := strictjson.Encode(HookOf(command, event, []string{"--timeout", wait}, day)) // texts and numbers
	return string(b)
}
