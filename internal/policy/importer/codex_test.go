package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// codex reads one file of Codex's rules in a user's own directory.
func codex(t *testing.T, text string) (*Import, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".codex")
	path := filepath.Join(dir, "rules", "default.rules")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadCodex(Config{Settings: filepath.Dir(path), UserDir: dir}, []string{path})
}

func TestCodexRule(t *testing.T) {
	for _, tt := range []struct {
		rule, action, state string
		as                  []string
		under               string
	}{
		{`prefix_rule(pattern=["npm", "test"])`, "allow", Carried, []string{"Bash(npm test:*)"}, "allow"},
		{`prefix_rule(pattern=["git", ["status", "diff"]], decision="allow")`, "allow", Carried, []string{"Bash(git status:*)", "Bash(git diff:*)"}, "allow"},
		{`prefix_rule(pattern=["git", "push"], decision="prompt", match=["git push"])`, "ask", Carried, []string{"Bash(git push:*)"}, "ask"},
		{`prefix_rule(pattern=["rm"], decision="forbidden")`, "deny", Carried, []string{"Bash(rm:*)"}, "deny"},
		{`prefix_rule(pattern=["rm"], decision="forbidden", justification="use trash")`, "deny", Changed, []string{"Bash(rm:*)"}, "deny"},
		{`prefix_rule(pattern=["bash", "-lc", "make | tee x"])`, "allow", Left, nil, ""},
		{`prefix_rule(pattern=["git", "a b"], decision="forbidden")`, "deny", Changed, []string{"Bash(git:*)"}, "ask"},
		{`prefix_rule(pattern=["a b"], decision="forbidden")`, "deny", Changed, []string{"Bash"}, "ask"},
		{`prefix_rule(pattern=["git", "*"])`, "allow", Left, nil, ""},
		{`prefix_rule(pattern=["A=b", "x"])`, "allow", Left, nil, ""},
		{`prefix_rule(pattern=["timeout", "60", "npm"])`, "allow", Left, nil, ""},
		{`prefix_rule(pattern=["npm"] + ["test"])`, "statement", Left, nil, ""},
		{`prefix_rule(pattern=["npm"], decision="maybe")`, "statement", Left, nil, ""},
		{`prefix_rule(pattern=["npm"], later=1)`, "statement", Left, nil, ""},
		{`host_executable(name="git", paths=["/usr/bin/git"])`, "host_executable", Left, nil, ""},
		{`network_rule(host="example.com", protocol="https", decision="allow")`, "network_rule", Left, nil, ""},
		{`load("x", "y")`, "statement", Left, nil, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			m, err := codex(t, tt.rule+"\n")
			if err != nil || len(m.Entries) != 1 {
				t.Fatalf("got %v, %v", m, err)
			}
			e := m.Entries[0]
			if e.Action != tt.action || e.State != tt.state || !slices.Equal(e.As, tt.as) || e.Under != tt.under {
				t.Errorf("got %+v", e)
			}
			if e.State != Carried && e.Why == "" {
				t.Error("no reason is given")
			}
			file(t, m)
		})
	}
}

// A statement that is not understood may forbid what the rules beside it allow.
func TestCodexAllowsNothingBesideWhatItCannotRead(t *testing.T) {
	m, err := codex(t, "prefix_rule(pattern=[\"git\"])\nfor w in [\"push\"]:\n    prefix_rule(pattern=[\"git\", w], decision=\"forbidden\")\n")
	if err != nil {
		t.Fatal(err)
	}
	if text := file(t, m); strings.Contains(text, "\nallow:") || !strings.Contains(text, "default.rules:2:1") {
		t.Errorf("got\n%s", text)
	}
}

func TestCodexRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"prefix_rule(pattern=[\"a\"])\nprefix_rule(pattern=[\n": "default.rules:",
		strings.Repeat("[", 5000):                               "nested more than",
		"\"":                                                    "default.rules:1:",
	} {
		if _, err := codex(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
}

// What a project's rules allow holds there only.
func TestCodexProjectRules(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".codex", "rules", "a.rules")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("prefix_rule(pattern=[\"ls\"])\nprefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadCodex(Config{Settings: path, UserDir: "/home/user/.codex"}, []string{path})
	if err != nil {
		t.Fatal(err)
	}
	if m.Count(Left) != 1 || m.Count(Carried) != 1 {
		t.Errorf("got %+v", m.Entries)
	}
}

func FuzzCodex(f *testing.F) {
	f.Add("prefix_rule(pattern=[\"git\", [\"a\", \"b\"]], decision=\"prompt\")\n")
	f.Add("x = [1]\n\"doc\"\nhost_executable()\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := &Import{}
		if _, err := m.codexFile("x.rules", []byte(text)); err != nil {
			return
		}
		if _, err := m.File(); err != nil {
			t.Error(err)
		}
	})
}
