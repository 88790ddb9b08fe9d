package installer

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assent/internal/agent/agents"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

// Every agent that assent knows can be installed, and has options that name a file below its user's home.
func TestOptions(t *testing.T) {
	if want := agents.Names(); !slices.Equal(Names, want) {
		t.Errorf("names %v, want %v", Names, want)
	}
	for _, name := range Names[1:] {
		o, err := Options(name, env(map[string]string{"HOME": "/h"}), "/s", []string{"/opt/assent-hook"}, Choices{})
		if err != nil || o.Format == nil || o.Format.Agent != Title(name) || o.StateDir != "/s" || len(o.Format.Notes) == 0 {
			t.Errorf("%s: %+v, %v", name, o, err)
			continue
		}
		if rel, err := filepath.Rel("/h", o.Format.Path); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%s: %s", name, o.Format.Path)
		}
		if _, err := Options(name, env(nil), "/s", nil, Choices{}); err == nil {
			t.Errorf("%s: no error without a home", name)
		}
	}
	if _, err := Options("claude", env(map[string]string{"HOME": "/h"}), "/s", nil, Choices{}); err == nil {
		t.Error("Claude Code has options of its own")
	}
}

// An agent without hooks of ours is no unknown one: the error says why, and which way it has.
func TestKnown(t *testing.T) {
	for name, want := range map[string]string{
		"droid":  "",
		"gemini": `assent installs no hooks for Gemini CLI: its hooks can deny a call, not allow one. In an editor its requests reach the queue: have the editor start "assent acp -- gemini --acp" (assent acp --help)`,
		"cline":  "assent installs no hooks for Cline: its hooks can only end the whole run, and its editor protocol wants a login and was not tried",
		"hal":    "hal: want one of claude, codex, opencode, kilo, copilot, qwen, droid",
	} {
		got := ""
		if err := Known(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, a := range hookless {
		if slices.Contains(Names, a.Name) {
			t.Errorf("%s has hooks", a.Name)
		}
	}
}

func TestOnMachine(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	put := func(path string, mode os.FileMode) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, nil, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(bin, "qwen"), 0o755)
	put(filepath.Join(bin, "codex"), 0o755)
	put(filepath.Join(bin, "kilo"), 0o644) // no program
	put(filepath.Join(home, ".local", "bin", "claude"), 0o755)
	put(filepath.Join(home, ".local", "bin", "copilot"), 0o755) // not on PATH
	if err := os.Mkdir(filepath.Join(bin, "opencode"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := []Found{
		{"claude", "Claude Code", filepath.Join(home, ".local", "bin", "claude")},
		{"codex", "Codex", filepath.Join(bin, "codex")},
		{"qwen", "Qwen Code", filepath.Join(bin, "qwen")},
	}
	if got := OnMachine(env(map[string]string{"PATH": ".:" + bin, "HOME": home})); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := OnMachine(env(nil)); got != nil {
		t.Errorf("%+v without anything", got)
	}
}
