// Package install says what assent writes into Droid's settings, by the edits of package claude/install.
package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/droid"
	"assent/internal/hook"
	"assent/internal/host/regular"
	"assent/internal/text/strictjson"
)

// Timeouts, in seconds.
const (
	day   = 86400
	wait  = "86390s"
	plain = 10
)

// notes say what becomes of a request without an answer.
var notes = map[hook.Fallback]string{ // read-only
	hook.Deny:    "Droid takes a hook without an answer for leave to go by its autonomy level, under which the call may run: so assent's hook denies when assent is away, when nobody answers in time, and when it fails itself. --on-failure abstain leaves it to Droid",
	hook.Abstain: "when assent is away, and when nobody answers in time, Droid's autonomy level decides, and the call may run; a rule that denies holds while the broker answers",
}

// Dir is Droid's own directory, by its environment.
func Dir(env func(string) string) (string, error) {
	if env("HOME") == "" {
		return "", errors.New("where Droid keeps its settings is not known: HOME is not set")
	}
	return filepath.Join(env("HOME"), ".factory"), nil
}

// Options are those of an install of hooks that run this command. unanswered is what a request gets that
// could not be asked, or that nobody answered in time: hook.Deny, which empty stands for, or hook.Abstain.
func Options(env func(string) string, stateDir string, command []string, unanswered hook.Fallback) (install.Options, error) {
	dir, err := Dir(env)
	if err != nil {
		return install.Options{}, err
	}
	if unanswered == "" {
		unanswered = hook.Deny
	}
	if file, events, err := Shadowed(env); command != nil && (err != nil || len(events) > 0) {
		if err != nil {
			return install.Options{}, fmt.Errorf("whether Droid would pass over the hooks in settings.json cannot be told: %w", err)
		}
		return install.Options{}, fmt.Errorf("%s has hooks for %s, and Droid takes them in the place of those in settings.json: move them into settings.json, then install", file, strings.Join(events, ", "))
	}
	return install.Options{
		Scope: install.User, StateDir: stateDir, Command: command,
		Format: &install.Format{
			Agent: "Droid", Path: filepath.Join(dir, "settings.json"), Events: droid.Events, Comments: true,
			Handler: func(event string) string { return handler(command, event, unanswered) },
			Matcher: func(event string) string {
				if event == droid.Asks {
					return droid.Matcher
				}
				return ""
			},
			Notes: []install.Note{
				{Key: "unanswered", Text: notes[unanswered]},
				{Key: "every-call", Text: "Droid's hook is asked about every call that runs, changes or fetches something, also where Droid itself would not have asked: allow with rules what need not wait (assent rules --help)"},
			},
		},
	}, nil
}

const maxHooks = 1 << 20 // bytes of a hooks.json

// Shadowed says whether Droid passes over hooks in its settings: hooks.json beside them counts, event by event,
// in their place. An error means that hooks.json could not be read.
func Shadowed(env func(string) string) (file string, events []string, err error) {
	dir, err := Dir(env)
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, "hooks.json")
	b, err := regular.Read(file, maxHooks, 0)
	if errors.Is(err, os.ErrNotExist) {
		return file, nil, nil
	}
	if err != nil {
		return file, nil, err
	}
	members, err := strictjson.Object(b)
	if err != nil {
		return file, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, m := range members {
		if slices.Contains(droid.Events, m.Key) {
			events = append(events, m.Key)
		}
	}
	return file, events, nil
}

// handler is the hook of an event. Droid runs it by a shell, and takes a hook that cannot be run, crashes or is
// killed for leave to go by its autonomy level. An exit code of 2 denies, in the words on standard error.
func handler(command []string, event string, unanswered hook.Fallback) string {
	words := slices.Concat(command, []string{"--agent", droid.Name})
	if event != droid.Asks {
		return install.CommandHook(words, plain)
	}
	// The event is named, so that no payload can be taken for one that asks nothing.
	words = append(words, "--event", droid.Asks, "--timeout", wait, "--on-failure", string(unanswered), "--on-timeout", string(unanswered))
	line := install.CommandLine(words)
	if unanswered == hook.Deny {
		line += OrDeny
	}
	return install.ShellHook(line, day)
}

// OrDeny follows the command of a hook that denies where it fails itself.
var OrDeny = " || { echo " + install.Quote(hook.FailureWords("its hook failed; assent doctor says more")) + " >&2; exit 2; }" // read-only
