package claude

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// That the driver drives is shown by package e2e, with the real client; these are the promises
// that can be seen without it.

func TestPrepareRegistersTheHookInExecForm(t *testing.T) {
	c := Config{Dir: t.TempDir(), Hook: "/opt/assent-hook", HookArgs: []string{"--socket", "/run/s"}}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(c.settings())
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Type, Command string
				Args          []string
				Timeout       int
			}
		}
	}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Hooks) != 31 {
		t.Errorf("%d events, want all 33 but the two that replace git", len(s.Hooks))
	}
	for event, groups := range s.Hooks {
		if strings.HasPrefix(event, "Worktree") {
			t.Errorf("a hook on %s would replace git", event)
		}
		h := groups[0].Hooks[0]
		if h.Type != "command" || h.Command != c.Hook || strings.Join(h.Args, " ") != "--socket /run/s" || h.Timeout != 86400 {
			t.Errorf("%s: %+v", event, h)
		}
	}
	if _, err := os.Stat(filepath.Join(c.Home(), ".claude.json")); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentIsCleanAndStaysOnTheMachine(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-real")
	t.Setenv("SECRET", "x")
	c := Config{Dir: t.TempDir(), ModelURL: "http://127.0.0.1:1"}
	env := map[string]string{}
	for _, kv := range c.env() {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	if env["ANTHROPIC_API_KEY"] != key || env["SECRET"] != "" || !strings.Contains(key, "dummy") {
		t.Errorf("environment %v", env)
	}
	for _, k := range []string{"ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY"} {
		if env[k] != c.ModelURL {
			t.Errorf("%s = %q, want the model server", k, env[k])
		}
	}
	if !strings.HasPrefix(env["HOME"], c.Dir) {
		t.Errorf("HOME = %q", env["HOME"])
	}
}

func TestOwnSettingsAreLeftToTheClient(t *testing.T) {
	c := Config{Dir: t.TempDir(), Own: true}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.settings()); err == nil {
		t.Error("settings were written")
	}
	if args := strings.Join(c.args(), " "); strings.Contains(args, "--settings") || strings.Contains(args, "--permission-mode") {
		t.Errorf("arguments %s", args)
	}
}

func TestInstallWithoutNpm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Install(t.Context(), t.TempDir(), Version); !errors.Is(err, ErrMissing) {
		t.Errorf("Install = %v, want ErrMissing", err)
	}
}

func TestCheckRefusesAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '2.1.197 (Claude Code)'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := check(t.Context(), path, Version); err == nil || !strings.Contains(err.Error(), Version) {
		t.Errorf("check = %v, want an error naming %s", err, Version)
	}
}
