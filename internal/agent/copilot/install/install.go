// Package install says what assent writes for the Copilot CLI: one file of hooks that is assent's alone.
package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/copilot"
	"assent/internal/hook"
)

// Timeouts, in seconds. Copilot's own default is too short for a person.
const (
	day   = 86400
	wait  = "86390s"
	plain = 10
)

// notes say what becomes of a request without an answer.
var notes = map[hook.Fallback]string{ // read-only
	"":           "a Copilot that runs everything (--allow-all-tools, --allow-all, --yolo, COPILOT_ALLOW_ALL) takes a hook without an answer for a yes; there assent's hook denies when assent is away and when nobody answers in time. It does not know of /allow-all in a session, nor of defaultPermissionMode: for those, --on-failure deny",
	hook.Deny:    "when assent is away, and when nobody answers in time, calls of Copilot are denied, also where its own prompt would have asked",
	hook.Abstain: "a Copilot that runs everything (--allow-all-tools) runs what nobody answers, and all of it when assent is away, as it does without assent; rules that deny still hold",
}

// File is where its hooks are, in Copilot's own directory.
func File(home string) string { return filepath.Join(home, "hooks", "assent.json") }

type handler struct {
	Type       string `json:"type"`
	Bash       string `json:"bash"`
	TimeoutSec int    `json:"timeoutSec"`
}

// Home is Copilot's own directory, by its environment.
func Home(env func(string) string) (string, error) {
	dir := env("COPILOT_HOME")
	switch {
	case dir == "" && env("HOME") == "":
		return "", errors.New("where Copilot keeps its hooks is not known: HOME is not set")
	case dir == "":
		return filepath.Join(env("HOME"), ".copilot"), nil
	case !filepath.IsAbs(dir):
		return "", errors.New("COPILOT_HOME is " + dir + ", which Copilot takes from wherever it is started; make it an absolute path")
	}
	return dir, nil
}

// Options are those of an install of hooks that run this command. unanswered is what a request gets that
// could not be asked, or that nobody answered in time: hook.Deny or hook.Abstain. Empty leaves that to the
// hook, which denies where it knows that Copilot asks nobody.
func Options(env func(string) string, stateDir string, command []string, unanswered hook.Fallback) (install.Options, error) {
	home, err := Home(env)
	if err != nil {
		return install.Options{}, err
	}
	asks := []string{"--timeout", wait}
	if unanswered != "" {
		asks = append(asks, "--on-failure", string(unanswered), "--on-timeout", string(unanswered))
	}
	whole, err := Hooks(command, asks, day)
	if err != nil {
		return install.Options{}, err
	}
	events := make([]string, len(copilot.Order))
	for i, e := range copilot.Order {
		events[i] = copilot.Natives[e]
	}
	return install.Options{
		Scope: install.User, StateDir: stateDir, Command: command,
		Format: &install.Format{
			Agent: "Copilot CLI", Path: File(home), Events: events, Whole: whole,
			Notes: []install.Note{{Key: "allow-all", Text: notes[unanswered]}},
		},
	}, nil
}

// Hooks is the text of a file of hooks that run this command. asks are further words for the one that asks
// for permission, and timeout is how long Copilot waits for it, in seconds.
func Hooks(command, asks []string, timeout int) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{\n  \"version\": 1,\n  \"hooks\": {\n")
	for i, event := range copilot.Order {
		// Its payloads do not say what event they are of.
		words := slices.Concat(command, []string{"--agent", copilot.Name, "--event", event})
		h := handler{Type: "command", TimeoutSec: plain}
		if copilot.Natives[event] == "PermissionRequest" {
			words, h.TimeoutSec = append(words, asks...), timeout
		}
		h.Bash = install.CommandLine(words)
		line, err := json.Marshal(h)
		if err != nil {
			return nil, err
		}
		b.WriteString("    \"" + event + "\": [" + string(line) + "]")
		if i < len(copilot.Order)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  }\n}\n")
	return b.Bytes(), nil
}
