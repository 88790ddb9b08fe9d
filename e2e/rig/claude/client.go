package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"assent/internal/agent/claude/events"
)

// key is no credential: the model server takes any text.
const key = "sk-ant-dummy-00000000000000000000000000000000"

// Config says how to run a client. Program, Dir and ModelURL are required, and Hook or Own.
type Config struct {
	Program  string // from Install
	Dir      string // an empty directory of this run's own; holds work/, home/ and logs
	ModelURL string // base URL of the model server, which is also the proxy that refuses
	// Hook is the absolute path of the hook command, HookArgs its arguments.
	Hook     string
	HookArgs []string
	// HookTimeout is the agent's own timeout for a hook, in seconds; 0 means 86,400.
	HookTimeout int
	// Mode is the permission mode; empty means "default". (The client's own default in a
	// terminal is auto, where the requests never reach a hook.)
	Mode string
	// Own leaves the client to the settings in its home, where somebody else has installed the
	// hooks, and to the mode that they give.
	Own bool
	// Args are further arguments of the client.
	Args []string
	// Wrap is a program and its arguments that runs the headless client, which follows them; Env is
	// what it finds in its environment besides.
	Wrap, Env []string
}

// Work is the working directory of the agent.
func (c Config) Work() string { return filepath.Join(c.Dir, "work") }

// Home is the agent's home directory.
func (c Config) Home() string { return filepath.Join(c.Dir, "home") }

// Debug is the client's own debug log.
func (c Config) Debug() string { return filepath.Join(c.Dir, "debug.log") }

func (c Config) settings() string { return filepath.Join(c.Dir, "settings.json") }

func (c Config) args() []string {
	if c.Own {
		return append([]string{"--debug-file", c.Debug()}, c.Args...)
	}
	mode := c.Mode
	if mode == "" {
		mode = "default"
	}
	return append([]string{"--settings", c.settings(), "--permission-mode", mode, "--debug-file", c.Debug()}, c.Args...)
}

// env is the whole environment of the client.
func (c Config) env() []string {
	return append(append([]string{
		"HOME=" + c.Home(),
		"PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"SHELL=/bin/bash",
		"TMPDIR=" + c.Dir,
		"ANTHROPIC_API_KEY=" + key,
	}, Loopback(c.ModelURL)...), c.Env...)
}

// Loopback is the environment that has a client talk to the model server, which is its proxy too and
// lets nothing leave the machine.
func Loopback(modelURL string) []string {
	return []string{
		"ANTHROPIC_BASE_URL=" + modelURL,
		"HTTPS_PROXY=" + modelURL,
		"HTTP_PROXY=" + modelURL,
		"NO_PROXY=127.0.0.1,localhost",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
	}
}

// Prepare writes the home, the working directory and the settings of a run; Open and Headless do so themselves. A client that
// runs in this home before has to find them: it writes what it knows over what others wrote.
func (c Config) Prepare() error {
	for _, d := range []string{c.Work(), filepath.Join(c.Home(), ".claude")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("prepare the client's run: %w", err)
		}
	}
	state := map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": Version, "theme": "dark", "numStartups": 9,
		"autoUpdates": false, "hasSeenTasksHint": true, "shiftEnterKeyBindingInstalled": true,
		"customApiKeyResponses": map[string]any{"approved": []string{key[len(key)-20:]}, "rejected": []string{}},
		"projects": map[string]any{c.Work(): map[string]any{
			"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
			"projectOnboardingSeenCount": 9, "allowedTools": []string{},
		}},
	}
	if err := writeJSON(filepath.Join(c.Home(), ".claude.json"), state); err != nil {
		return err
	}
	if c.Own {
		return nil
	}
	timeout := c.HookTimeout
	if timeout == 0 {
		timeout = 86400
	}
	args := c.HookArgs
	if args == nil {
		args = []string{} // present, though empty: exec form, no shell in between
	}
	hooks := map[string]any{}
	for _, e := range events.Names() {
		if e == "WorktreeCreate" || e == "WorktreeRemove" {
			continue // a hook there replaces git
		}
		hooks[e] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": c.Hook, "args": args, "timeout": timeout,
		}}}}
	}
	return writeJSON(c.settings(), map[string]any{"hooks": hooks, "skipWebFetchPreflight": true})
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("prepare the client's run: %w", err)
	}
	return nil
}
