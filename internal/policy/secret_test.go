package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
)

const (
	testHome    = "/home/user"
	testProject = "/home/user/project"
)

// wide allows everything that can be allowed: all packs, every program, every file.
func wide(t *testing.T) *Set {
	t.Helper()
	programs := map[string]bool{}
	for _, c := range commands(t, "secret-commands.txt") {
		for _, w := range strings.Fields(c) {
			if w == strings.ToLower(w) && !strings.ContainsAny(w, "./*~-'\"{}()=<>$@:;|+\\&,^[]") && w != "eval" {
				programs["Bash("+w+" *)"] = true
			}
		}
	}
	rules := []string{"Read", "Edit", "Write", "Grep", "Glob", "NotebookRead", "Read(//**)", "Read(~/**)", "Read(./**)", "Read(~/.config/foo/**)", "Edit(//**)", "Edit(./**)"}
	for p := range programs {
		rules = append(rules, p)
	}
	text, err := json.Marshal(map[string]any{"version": 1, "use": Packs(), "allow": rules})
	if err != nil {
		t.Fatal(err)
	}
	set, err := Load([]Source{{Name: "wide.yaml", Data: text}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func toolCall(tool string, input map[string]any) Call {
	raw, _ := json.Marshal(input) // of texts: cannot fail
	c := bashCall("x")
	c.Tool, c.Input = tool, raw
	return c
}

func fullPath(p string) string {
	switch {
	case strings.HasPrefix(p, "~/"):
		return testHome + p[1:]
	case !strings.HasPrefix(p, "/"):
		return testProject + "/" + p
	}
	return p
}

func TestSecretPaths(t *testing.T) {
	set := wide(t)
	for _, p := range commands(t, "secret-paths.txt") {
		full := fullPath(p)
		for _, c := range []Call{
			toolCall("Read", map[string]any{"file_path": full}),
			toolCall("Read", map[string]any{"file_path": strings.ToUpper(full[:len(full)-1]) + full[len(full)-1:]}),
			toolCall("Grep", map[string]any{"pattern": "x", "path": full}),
			toolCall("Edit", map[string]any{"file_path": full, "old_string": "a", "new_string": "b"}),
			bashCall("cat '" + full + "'"), bashCall("grep x '" + full + "'"), bashCall("sort < '" + full + "'"),
			bashCall("head -n 5 '" + full + "' | wc"),
		} {
			if v := set.Eval(c); v.Action == hook.ActionAllow {
				t.Errorf("%s %s: allowed by %s", c.Tool, c.Input, v.Rule)
			}
		}
	}
}

func TestSecretsAreAFewFilesOnly(t *testing.T) {
	set := wide(t)
	for _, p := range commands(t, "secret-open.txt") {
		full := fullPath(p)
		for _, c := range []Call{toolCall("Read", map[string]any{"file_path": full}), bashCall("cat '" + full + "'"), bashCall("grep -n token '" + full + "'")} {
			if v := set.Eval(c); v.Action != hook.ActionAllow {
				t.Errorf("%s %s: %s", c.Tool, c.Input, v.Reason)
			}
		}
	}
}

func TestSecretCommands(t *testing.T) {
	set := wide(t)
	for _, c := range commands(t, "secret-commands.txt") {
		if v := set.Eval(bashCall(c)); v.Action == hook.ActionAllow {
			t.Errorf("allowed by %s: %s", v.Rule, c)
		}
	}
}

// A rule that names the file in full opens it, and it only.
func TestSecretsThatARuleNames(t *testing.T) {
	for _, row := range []struct {
		rule string
		call Call
		want hook.Action
	}{
		{"Read(.env)", toolCall("Read", map[string]any{"file_path": testProject + "/.env"}), hook.ActionAllow},
		{"Read(.env)", toolCall("Read", map[string]any{"file_path": testProject + "/.env.local"}), hook.ActionAsk},
		{"Read(./**)", toolCall("Read", map[string]any{"file_path": testProject + "/.env"}), hook.ActionAsk},
		{"Read(~/.config/foo/config)", toolCall("Read", map[string]any{"file_path": testHome + "/.config/foo/config"}), hook.ActionAllow},
		{"Read(~/.config/foo/**)", toolCall("Read", map[string]any{"file_path": testHome + "/.config/foo/config"}), hook.ActionAsk},
		{"Read(//etc/shadow)", toolCall("Read", map[string]any{"file_path": "/etc/shadow"}), hook.ActionAllow},
		{"Bash(cat .env)", bashCall("cat .env"), hook.ActionAllow},
		{"Bash(cat .env)", bashCall("cat .env .env.local"), hook.ActionAsk},
		{"Bash(cat .env *)", bashCall("cat .env README.md"), hook.ActionAllow},
		{"Bash(cat .env *)", bashCall("cat .env .env.local"), hook.ActionAsk},
		{"Bash(cat *)", bashCall("cat .env"), hook.ActionAsk},
		{"Bash(cat .env | wc -l)", bashCall("cat .env | wc -l"), hook.ActionAllow},
		{"Edit(.env)", toolCall("Write", map[string]any{"file_path": testProject + "/.env", "content": "x"}), hook.ActionAllow},
		{"Read", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject}), hook.ActionAsk},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject}), hook.ActionAllow},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject, "glob": "*.go"}), hook.ActionAllow},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject, "glob": "*.{js,ts}"}), hook.ActionAllow},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject, "glob": ".env*"}), hook.ActionAsk},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject, "glob": "**/*.pem"}), hook.ActionAsk},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testProject, "glob": "*.{go,pem}"}), hook.ActionAsk},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testHome}), hook.ActionAsk},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": "/"}), hook.ActionAsk},
		{"Grep", toolCall("Grep", map[string]any{"pattern": "x", "path": testHome + "/.config"}), hook.ActionAsk},
		{"Glob", toolCall("Glob", map[string]any{"pattern": "**/*.go", "path": testProject}), hook.ActionAllow},
		{"Glob", toolCall("Glob", map[string]any{"pattern": "**/.env", "path": testProject}), hook.ActionAsk},
		{"Glob", toolCall("Glob", map[string]any{"pattern": "**", "path": testHome}), hook.ActionAsk},
	} {
		t.Run(row.rule, func(t *testing.T) {
			set := load(t, "version: 1\nallow: [\""+row.rule+"\"]\n")
			if v := set.Eval(row.call); v.Action != row.want {
				t.Errorf("%s: %s %s: %s, want %s (%s)", row.rule, row.call.Tool, row.call.Input, v.Action, row.want, v.Reason)
			}
		})
	}
}
