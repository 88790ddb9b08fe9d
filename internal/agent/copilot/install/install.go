// Package install says what assent writes for the Copilot CLI: one file of hooks that is assent's alone.
package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/copilot"
)

// Timeouts, in seconds. Copilot's own default is too short for a person.
const (
	day   = 86400
	wait  = "86390s"
	plain = 10
)

type handler struct {
	Type       string `json:"type"`
	Bash       string `json:"bash"`
	TimeoutSec int    `json:"timeoutSec"`
}

// Options are those of an install of hooks that run this command.
func Options(env func(string) string, stateDir string, command []string) (install.Options, error) {
	home := env("HOME")
	if home == "" {
		return install.Options{}, errors.New("where Copilot keeps its hooks is not known: HOME is not set")
	}
	whole, err := Hooks(command, []string{"--timeout", wait}, day)
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
			Agent: "Copilot CLI", Path: filepath.Join(home, ".copilot", "hooks", "assent.json"), Events: events, Whole: whole,
			Notes: []install.Note{{Key: "allow-all", Text: "with --allow-all-tools Copilot runs what nobody answers, as it does without assent; rules that deny still hold"}},
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
		for i, w := range words {
			words[i] = install.Quote(w)
		}
		h.Bash = strings.Join(words, " ")
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
