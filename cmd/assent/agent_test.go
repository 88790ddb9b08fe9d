package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/host/optin"
	"assent/internal/setup/doctor"
)

// agentHome is a home with one agent, whose project brings settings, and a function that runs assent there.
func agentHome(t *testing.T) (project string, run func(args ...string) (string, error)) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(home, "app")
	program := filepath.Join(home, "claude")
	for path, f := range map[string]struct {
		text string
		mode os.FileMode
	}{
		program: {"#!/bin/sh\necho 2.1.329\n", 0o700},
		filepath.Join(project, ".claude", "settings.json"):      {`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`, 0o600},
		filepath.Join(home, ".config", "assent", "agents.yaml"): {"accept: [device:cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s]\nagents: {coder: {project: " + project + ", executor: {kind: claude, cli: " + program + "}}}\n", 0o600},
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.text), f.mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	return project, func(args ...string) (string, error) {
		var out bytes.Buffer
		a := &app{out: &out, err: t.Output()}
		c := a.root()
		c.SetArgs(append([]string{"--state-dir", filepath.Join(home, "state"), "agent"}, args...))
		c.SetOut(&out)
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
}

// An agent is refused until what its project brings was accepted as it was shown.
func TestAgentDoctorAndAccept(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "k") // else it is not logged in
	project, run := agentHome(t)
	doctorSays := func(want doctor.Status) {
		t.Helper()
		out, err := run("doctor", "--json")
		var findings []doctor.Finding
		if jerr := json.Unmarshal([]byte(out), &findings); jerr != nil {
			t.Fatalf("%v: %s", jerr, out)
		}
		got := doctor.Status("")
		for _, f := range findings {
			if f.Name == "coder accepted" {
				got = f.Status
			} else if f.Status != doctor.OK {
				t.Errorf("%+v", f)
			}
		}
		if got != want || (err == nil) != (want == doctor.OK) {
			t.Errorf("%s, %v", out, err)
		}
	}
	doctorSays(doctor.Fail)
	out, err := run("accept", "coder", "--json")
	var shown acceptance
	if jerr := json.Unmarshal([]byte(out), &shown); jerr != nil || err != nil || shown.Accepted || len(shown.Files) != 1 || len(shown.Settings) != 1 {
		t.Fatalf("%s, %v, %v", out, err, jerr)
	}
	doctorSays(doctor.Fail) // to look accepts nothing
	if err := os.WriteFile(filepath.Join(project, ".mcp.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run("accept", "coder", "--seen", shown.Digest); err == nil || !strings.Contains(err.Error(), "look again") {
		t.Errorf("something else was accepted: %s, %v", out, err)
	}
	if err := os.Remove(filepath.Join(project, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if out, err := run("accept", "coder", "--seen", shown.Digest); err != nil || !strings.Contains(out, "Accepted, as it is now") {
		t.Errorf("%s, %v", out, err)
	}
	doctorSays(doctor.OK)
	if out, err := run("accept", "other"); err == nil || !strings.Contains(err.Error(), "there are: coder") {
		t.Errorf("%s, %v", out, err)
	}
}

// Each mistake in the file is a finding, and nothing of the file counts.
func TestAgentDoctorOfAFileWithMistakes(t *testing.T) {
	_, run := agentHome(t)
	path := filepath.Join(os.Getenv("HOME"), ".config", "assent", "agents.yaml")
	if err := os.WriteFile(path, []byte("agents:\n  coder: {mode: auto, env: {A: b}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run("doctor")
	if err == nil || !strings.Contains(out, "agents.yaml:2:17: mode is") || !strings.Contains(out, `unknown key "env"`) {
		t.Errorf("%s, %v", out, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out, err := run("doctor"); err != nil || !strings.Contains(out, "no agent can be started") {
		t.Errorf("%s, %v", out, err)
	}
}

// The host says what is missing before it does anything.
func TestAgentServeSaysWhatIsMissing(t *testing.T) {
	_, run := agentHome(t)
	path := filepath.Join(os.Getenv("HOME"), ".config", "assent", "agents.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run("serve"); err == nil || !strings.Contains(err.Error(), "no broker is running") {
		t.Errorf("no broker: %v", err)
	}
	token := filepath.Join(filepath.Dir(path), hostToken)
	if err := os.WriteFile(token, []byte("assent_host_x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(os.Getenv("HOME"), "state")
	if err := errors.Join(os.MkdirAll(state, 0o700), os.WriteFile(filepath.Join(state, "runtime.json"), []byte(`{"http_url":"http://127.0.0.1:1"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := run("serve"); err == nil || !strings.Contains(err.Error(), "others can read or write "+token) {
		t.Errorf("a token that others can read: %v", err)
	}
	_, agents, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte(agents), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run("serve"); err == nil || !strings.Contains(err.Error(), "accepts no device") {
		t.Errorf("nobody is accepted: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := run("serve"); err == nil || !strings.Contains(err.Error(), "nothing to run") {
		t.Errorf("no file: %v", err)
	}
}

// Hooks that only the project has installed are not in a session's work tree, so they are handed to the agent there.
func TestHooksOfAWorkTree(t *testing.T) {
	project, _ := agentHome(t)
	a := &app{stateDir: t.TempDir()}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "assent-hook"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	hooks := `{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"assent-hook --socket /s"}]}]}}`
	for _, name := range []string{"settings.json", "settings.local.json"} {
		if err := os.WriteFile(filepath.Join(project, ".claude", name), []byte(hooks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for worktree := range map[bool]bool{true: true, false: true} {
		text, err := a.hostHooks(optin.Agent{Project: project, Worktree: worktree}, "/s")
		if err != nil || (text != nil) != worktree {
			t.Errorf("worktree %v: %s, %v", worktree, text, err)
		}
	}
}
