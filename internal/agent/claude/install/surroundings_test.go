package install

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	mute := Client{Path: "/c/claude", Err: errors.New("/c/claude --version: exit status 3")}
	for _, c := range []struct {
		name     string
		clients  []Client
		versions string
		notes    string // their keys
		err      string
	}{
		{"none", nil, "", "", "no claude was found on PATH"},
		{"one", []Client{{Path: "/a/claude", Version: Newest}}, Newest, "", ""},
		{"two", []Client{{Path: "/a/claude", Version: Newest}, {Path: "/b/claude", Version: Oldest}}, Newest + " " + Oldest, "several-versions", ""},
		{"one of two is mute", []Client{mute, {Path: "/a/claude", Version: Newest}}, Newest, "no-version", ""},
		{"mute", []Client{mute}, "", "", "no claude says its version: /c/claude --version: exit status 3; run it by hand"},
		{"too old", []Client{{Path: "/a/claude", Version: Newest}, {Path: "/b/claude", Version: "2.0.1"}}, "", "", "/b/claude: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			versions, notes, err := Versions(c.clients)
			var keys []string
			for _, n := range notes {
				keys = append(keys, n.Key)
			}
			if strings.Join(versions, " ") != c.versions || c.err == "" && strings.Join(keys, " ") != c.notes {
				t.Errorf("%q, %q", versions, notes)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestParseAsk(t *testing.T) {
	for list, want := range map[string]string{
		"WebFetch":                           "WebFetch",
		"Bash(git push:*), WebFetch":         "Bash(git push:*)|WebFetch",
		"Bash(a, b),,Read(x)":                "Bash(a, b)|Read(x)",
		"mcp__github__create_issue,Edit(/*)": "mcp__github__create_issue|Edit(/*)",
	} {
		if got, err := ParseAsk(list); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v", list, got, err)
		}
	}
	for list, want := range map[string]string{
		",": "want rules such as", "Bash(git": "want rules such as", "a b": "is no permission rule", "Bash(x)y": "is no permission rule", "(x)": "is no permission rule", "Bash)": "want rules such as",
	} {
		if got, err := ParseAsk(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", list, got, err)
		}
	}
}

func TestSurroundings(t *testing.T) {
	ours, other := Hook{Event: "Stop", Ours: true}, Hook{Event: "PermissionRequest"}
	plan := Plan{Path: "/srv/shop/.claude/settings.json"}
	o := func(scope Scope, command string) Options {
		return Options{Scope: scope, Dir: "/srv/shop", Command: []string{command}}
	}
	for _, c := range []struct {
		name     string
		o        Options
		cwd      string
		settings []Settings
		want     string // keys
	}{
		{"nothing to say", o(Project, "/usr/bin/assent-hook"), "/srv/shop", []Settings{{Path: plan.Path, Hooks: []Hook{ours, other}, DisableAllHooks: true}}, ""},
		{"below the project", o(Local, "/usr/bin/assent-hook"), "/srv/shop/sub", nil, "directory"},
		{"the user's", o(User, "/usr/bin/assent-hook"), "/srv/shop/sub", nil, ""},
		{"a temporary program", o(User, filepath.Join(os.TempDir(), "x/assent-hook")), "/srv/shop", nil, "temporary-path"},
		{"other settings", o(User, "/usr/bin/assent-hook"), "/srv/shop", []Settings{{Path: "/s", Hooks: []Hook{ours, other}, DisableAllHooks: true}}, "other-scope second-decider hooks-disabled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys []string
			for _, n := range Surroundings(c.o, plan, c.settings, c.cwd) {
				keys = append(keys, n.Key)
			}
			if got := strings.Join(keys, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	left := Left(plan, []Settings{{Path: plan.Path, Hooks: []Hook{ours}}, {Path: "/s", Scope: Local, Hooks: []Hook{ours}}, {Path: "/t", Hooks: []Hook{other}}})
	if want := []Note{{"other-scope", "/s still runs assent's hook: assent uninstall --scope local"}}; !slices.Equal(left, want) {
		t.Errorf("%q", left)
	}
}

func TestAuto(t *testing.T) {
	newest, oldest := []string{Newest}, []string{Oldest}
	for _, c := range []struct {
		name     string
		settings []Settings
		o        Options
		want     bool
	}{
		{"a newer client", nil, Options{Versions: newest}, true},
		{"an older client", nil, Options{Versions: oldest}, false},
		{"one of each", nil, Options{Versions: []string{Oldest, Newest}}, true},
		{"set so", []Settings{{DefaultMode: "auto"}}, Options{Versions: newest}, true},
		{"another mode", []Settings{{DefaultMode: "auto"}, {DefaultMode: "default"}}, Options{Versions: newest}, false},
		{"rules that ask", []Settings{{Ask: []string{"Bash"}}}, Options{Versions: newest}, false},
		{"rules to come", nil, Options{Versions: newest, AskRules: DefaultAsk}, false},
		{"a mode to come", nil, Options{Versions: newest, DefaultMode: "default"}, false},
	} {
		if got := Auto(c.settings, c.o); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if got := Plugin([]Settings{{}, {Plugin: "a"}, {Plugin: "b"}}); got != "a" {
		t.Error(got)
	}
	env := map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "relative"}
	if _, err := OptionsFrom(func(k string) string { return env[k] }, "/s"); err == nil {
		t.Error("a relative CLAUDE_CONFIG_DIR is taken")
	}
	env["CLAUDE_CONFIG_DIR"] = "/c"
	if o, err := OptionsFrom(func(k string) string { return env[k] }, "/s"); err != nil || o.Home != "/h" || o.ConfigDir != "/c" || o.StateDir != "/s" {
		t.Errorf("%+v, %v", o, err)
	}
}
