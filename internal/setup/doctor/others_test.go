package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/setup/installer"
)

// An agent that takes a failed hook for a yes is named in red, with what was done about it.
func TestOthers(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		installed      bool
		unanswered     hook.Fallback
		want           []Status
		says           string
	}{
		{"without hooks", "", false, "", []Status{Warn}, "asks in its terminal only"},
		{"as installed", "", true, "", []Status{OK, Danger}, "where it can tell"},
		{"denies", `{"defaultPermissionMode":"allow-all"}`, true, hook.Deny, []Status{OK, Danger}, "always"},
		{"abstains", "", true, hook.Abstain, []Status{OK, Danger}, "was told to say nothing"},
		{"by its settings", `{"defaultPermissionMode":"allow-all"}`, true, "", []Status{OK, Fail}, "defaultPermissionMode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			env := func(k string) string { return map[string]string{"HOME": home, "PATH": home}[k] }
			x := &examination{Config: Config{StateDir: t.TempDir(), Env: env}}
			put := func(path, text string, mode os.FileMode) {
				t.Helper()
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if err == nil {
					err = os.WriteFile(path, []byte(text), mode)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			put(filepath.Join(home, "copilot"), "", 0o755)
			if c.settings != "" {
				put(filepath.Join(home, ".copilot", "settings.json"), c.settings, 0o600)
			}
			if c.installed {
				o, err := installer.Options("copilot", env, x.StateDir, []string{"/opt/assent-hook"}, installer.Choices{Unanswered: c.unanswered})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := install.Install(o)
				if err == nil {
					_, err = plan.Apply()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got := x.checkOthers(t.Context())
			if len(got) != len(c.want) {
				t.Fatalf("%+v", got)
			}
			for i, f := range got {
				if f.Name != "copilot" || f.Status != c.want[i] {
					t.Errorf("%+v, want %s", f, c.want[i])
				}
			}
			if last := got[len(got)-1]; !strings.Contains(last.Detail, c.says) {
				t.Errorf("%q does not say %q", last.Detail, c.says)
			}
		})
	}
}

// A hook for Droid that would let a call run where it cannot be run itself was written by an older assent, and
// doctor says so.
func TestDroidHookFails(t *testing.T) {
	home := t.TempDir()
	env := func(k string) string { return map[string]string{"HOME": home, "PATH": home}[k] }
	x := &examination{Config: Config{StateDir: t.TempDir(), Env: env}}
	if err := os.WriteFile(filepath.Join(home, "droid"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	o, err := installer.Options("droid", env, x.StateDir, []string{"/opt/assent-hook"}, installer.Choices{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := install.Install(o)
	if err == nil {
		_, err = plan.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := x.checkOthers(t.Context()); len(got) != 2 || got[1].Status != Danger || !strings.Contains(got[1].Detail, "always") {
		t.Errorf("%+v", got)
	}
	b, err := os.ReadFile(plan.Path)
	before, after, ok := strings.Cut(string(b), " || {")
	_, after, closed := strings.Cut(after, "}")
	if err == nil {
		err = os.WriteFile(plan.Path, []byte(before+after), 0o600)
	}
	if err != nil || !ok || !closed {
		t.Fatalf("%v\n%s", err, b)
	}
	if got := x.checkOthers(t.Context()); len(got) != 2 || got[1].Status != Fail || got[1].Fix != "assent install droid" {
		t.Errorf("%+v", got)
	}
}

// An agent of a version that nobody tried is named, and one that was tried is not.
func TestUntried(t *testing.T) {
	dir := t.TempDir()
	for name, says := range map[string]string{
		"codex": "codex-cli 0.169.0", "copilot": "GitHub Copilot CLI 1.0.999.", "qwen": "0.15.1", "opencode": "none", "kilo": "7.7.7", "droid": "0.215.0",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho "+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := func(k string) string { return map[string]string{"HOME": dir, "PATH": dir}[k] }
	x := &examination{Config: Config{StateDir: dir, Env: env}}
	got := x.untried(t.Context(), installer.OnMachine(env))
	if len(got) != 2 || got[0].Name != "copilot" || got[0].Status != OK || !strings.Contains(got[0].Detail, "is 1.0.999, newer than 1.0.102") ||
		got[1].Name != "qwen" || got[1].Status != Warn || !strings.Contains(got[1].Detail, "is 0.15.1, older than 0.24.4") {
		t.Errorf("%+v", got)
	}
}

// An agent that has no hooks of ours is named, with the way to it.
func TestOverACPOnly(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"gemini", "cline"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	x := &examination{Config: Config{StateDir: dir, Env: func(k string) string { return map[string]string{"HOME": dir, "PATH": dir}[k] }}}
	got := x.checkOthers(t.Context())
	if len(got) != 2 || got[0].Status != OK || !strings.Contains(got[0].Detail, "assent acp -- gemini --acp") || !strings.Contains(got[1].Detail, "no hooks") || strings.Contains(got[1].Detail, "assent acp") {
		t.Errorf("%+v", got)
	}
}
