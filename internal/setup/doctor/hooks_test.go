package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/agent/claude/install"
)

// settingsIn writes a user's settings file and reads it back as doctor does.
func settingsIn(t *testing.T, text string) []install.Settings {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return install.Survey(install.Options{Home: home}, t.TempDir(), "")
}

func TestDoctorReadsHooks(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "assent-hook")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ours := `{"type":"command","command":"` + bin + `","args":["--socket","/s/hook.sock"],"timeout":86400}`
	all := `{"hooks":{`
	events, err := install.Events([]string{install.Newest})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if i > 0 {
			all += ","
		}
		all += `"` + e + `":[{"hooks":[` + ours + `]}]`
	}
	all += "}}"
	newest, oldest := []string{install.Newest}, []string{install.Oldest}
	for name, c := range map[string]struct {
		settings string
		versions []string
		want     string // part of a line, with its status in front
	}{
		"as it should be":        {all, newest, "ok assent-hook runs for 30 events\n"},
		"no claude":              {all, nil, "ok assent-hook runs for 30 events\n"},
		"an older claude":        {all, oldest, "fail the settings were written for another version: DirectoryAdded, PostModelSwitch, PreModelSwitch is not known"},
		"a newer claude":         {strings.Replace(all, `"DirectoryAdded"`, `"FileChanged"`, 1), newest, "ok assent-hook runs for 30 events; the settings leave out or were written before DirectoryAdded\n"},
		"two versions":           {all, []string{install.Newest, install.Oldest}, "fail the settings were written for another version"},
		"a few events":           {`{"hooks":{"PermissionRequest":[{"hooks":[` + ours + `]}],"Stop":[{"hooks":[` + ours + `]}]}}`, newest, "warn assent-hook runs for 2 events; without PostToolUse,"},
		"none":                   {`{}`, newest, "warn no settings file runs assent-hook"},
		"broken file":            {`{"hooks":`, newest, "fail "},
		"comments":               {"{\n// x\n}", newest, "line 2, column 1: a comment, for which Claude Code ignores the whole file"},
		"not for permissions":    {`{"hooks":{"Stop":[{"hooks":[` + ours + `]}]}}`, newest, "fail assent-hook runs, but not for PermissionRequest"},
		"two deciders":           {`{"hooks":{"PermissionRequest":[{"hooks":[` + ours + `,{"type":"command","command":"other"}]}]}}`, newest, "warn another tool's"},
		"worktrees":              {`{"hooks":{"PermissionRequest":[{"hooks":[` + ours + `]}],"WorktreeCreate":[{"hooks":[` + ours + `]}]}}`, newest, "fail a WorktreeCreate hook"},
		"other socket":           {strings.ReplaceAll(all, "/s/hook.sock", "/t/hook.sock"), newest, "warn SETTINGS: the hook asks /t/hook.sock"},
		"other socket, one word": {strings.ReplaceAll(all, `"--socket","/s/hook.sock"`, `"--socket=/t/hook.sock"`), newest, "warn SETTINGS: the hook asks /t/hook.sock"},
		"another broker":         {strings.ReplaceAll(all, `"--socket","/s/hook.sock"`, `"--url","https://elsewhere.example"`), newest, "warn SETTINGS: the hook asks https://elsewhere.example, the broker listens on /s/hook.sock"},
		"URLs without TLS":       {strings.ReplaceAll(all, `"/s/hook.sock"`, `"/s/hook.sock","--url","https://b2.example"`), newest, "warn SETTINGS: assent-hook speaks no TLS, so it asks none of https://b2.example"},
		"flags of no hook":       {strings.ReplaceAll(all, `"--socket","/s/hook.sock"`, `"--no-such-flag"`), newest, "warn SETTINGS: whom the hook asks cannot be read: unknown flag --no-such-flag"},
		"short timeout":          {strings.ReplaceAll(all, "86400", "30"), newest, "warn SETTINGS: Claude Code gives up on the hook after 30 s"},
		"forms, older":           {strings.Replace(all, `"Elicitation":[{"hooks":[`+ours, `"Elicitation":[{"hooks":[`+strings.Replace(ours, "86400", "10", 1), 1), newest, "warn SETTINGS: Claude Code gives up on the hook for forms of MCP servers (Elicitation) after 10 s"},
		"missing program":        {strings.ReplaceAll(all, bin, "/nowhere/assent-hook"), newest, "fail SETTINGS: /nowhere/assent-hook cannot be run"},
		"relative program":       {strings.ReplaceAll(all, bin, "assent-hook"), newest, "warn SETTINGS: assent-hook is no absolute path"},
		"shell form":             {`{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"` + bin + ` --socket /s/hook.sock"}]}]}}`, newest, "warn assent-hook runs for 1 event;"},
		"a matcher":              {strings.Replace(all, `"PermissionRequest":[{`, `"PermissionRequest":[{"matcher":"Bash",`, 1), newest, "warn SETTINGS: the PermissionRequest hook is only for tools that match Bash"},
		"twice":                  {strings.Replace(all, `"Stop":[`, `"Stop":[{"hooks":[{"type":"command","command":"`+bin+`"}]},`, 1), newest, "warn assent's hook stands twice for Stop"},
		"twice the same":         {strings.Replace(all, `"Stop":[`, `"Stop":[{"hooks":[`+ours+`]},`, 1), newest, "ok assent-hook runs for 30 events\n"},
		"plugin":                 {`{"enabledPlugins":{"other@x":true,"assent@assent":true}}`, newest, "ok no settings file runs assent-hook; the plugin assent@assent is switched on"},
		"plugin, off":            {`{"enabledPlugins":{"assent@assent":false}}`, newest, "warn no settings file runs assent-hook\n"},
		"plugin, off at last":    {`{"enabledPlugins":{"assent@assent":true,"assent@assent":false}}`, newest, "warn no settings file runs assent-hook\n"},
		"plugin beside":          {strings.Replace(all, `{"hooks"`, `{"enabledPlugins":{"assent@assent":true},"hooks"`, 1), newest, "warn the plugin assent@assent brings the same hooks as the settings"},
		"switched off":           {`{"disableAllHooks":true}`, newest, "sets disableAllHooks"},
	} {
		settings := settingsIn(t, c.settings)
		var lines []string
		for _, k := range hooks(settings, c.versions, "/s/hook.sock", os.Getenv) {
			lines = append(lines, string(k.Status)+" "+k.Detail)
		}
		if all := strings.Join(lines, "\n") + "\n"; !strings.Contains(all, strings.ReplaceAll(c.want, "SETTINGS", settings[0].Path)) {
			t.Errorf("%s: want %q in\n%s", name, c.want, all)
		} else if len(lines) > 4 {
			t.Errorf("%s: a fault is said of every event:\n%s", name, all)
		}
	}
	for _, ci := range []bool{true, false} { // what this install writes is as it should be
		o := install.Options{Scope: install.User, Home: t.TempDir(), StateDir: t.TempDir(), Versions: newest, Command: []string{bin, "--socket", "/s/hook.sock"}, CI: ci}
		plan, err := install.Install(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range hooks(settingsIn(t, string(plan.After)), newest, "/s/hook.sock", os.Getenv) {
			if k.Status != OK {
				t.Errorf("ci %v: %+v", ci, k)
			}
		}
	}
	settings := settingsIn(t, all)
	settings[0].ReadOnly = errors.New("F is read-only")
	for _, k := range hooks(settings, newest, "/s/hook.sock", os.Getenv) {
		if k.Status != OK {
			t.Errorf("a read-only file with all it needs: %+v", k)
		}
	}
}

func TestDoctorKnowsTheMode(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		versions []string
		status   Status
		part     string
	}{
		"default":       {`{"permissions":{"defaultMode":"default"}}`, []string{"2.1.329"}, "ok", "default"},
		"auto unsaid":   {`{}`, []string{"2.1.329"}, "warn", "auto, Claude Code's own default"},
		"auto":          {`{"permissions":{"defaultMode":"auto"}}`, []string{"2.1.197"}, "warn", "most calls reach no hook"},
		"older, unsaid": {`{}`, []string{"2.1.197"}, "ok", "not set"},
		"both, unsaid":  {`{}`, []string{"2.1.197", "2.1.329"}, "warn", "auto"},
		"unknown":       {`{}`, nil, "warn", "auto"},
		"ask rules":     {`{"permissions":{"ask":["Bash"]}}`, []string{"2.1.329"}, "ok", "1 permissions.ask"},
		"bypass":        {`{"permissions":{"defaultMode":"bypassPermissions"}}`, []string{"2.1.329"}, "warn", "never asked"},
	} {
		if k := mode(settingsIn(t, c.settings), c.versions); k.Status != c.status || !strings.Contains(k.Detail, c.part) {
			t.Errorf("%s: %s %s", name, k.Status, k.Detail)
		}
	}
}

func TestDoctorKnowsTheClients(t *testing.T) {
	for name, c := range map[string]struct {
		clients  []install.Client
		want     string
		versions int
	}{
		"none":      {nil, "warn no claude on PATH", 0},
		"newest":    {[]install.Client{{Path: "/a/claude", Version: "2.1.329"}}, "ok 2.1.329 at /a/claude", 1},
		"newer":     {[]install.Client{{Path: "/a/claude", Version: "2.1.9999"}}, "ok 2.1.9999 at /a/claude; newer than " + install.Newest, 1},
		"between":   {[]install.Client{{Path: "/a/claude", Version: "2.1.200"}}, "ok 2.1.200 at /a/claude; assent was tried with", 1},
		"oldest":    {[]install.Client{{Path: "/a/claude", Version: "2.1.197"}}, "warn 2.1.197 at /a/claude; in this version claude -p asks no hook", 1},
		"too old":   {[]install.Client{{Path: "/a/claude", Version: "2.0.1"}}, "fail 2.0.1 at /a/claude; assent needs 2.1.197", 1},
		"several":   {[]install.Client{{Path: "/a/claude", Version: "2.1.329"}, {Path: "/b/claude", Version: "2.1.197"}}, "warn several versions (2.1.197, 2.1.329)", 2},
		"one twice": {[]install.Client{{Path: "/a/claude", Version: "2.1.329"}, {Path: "/b/claude", Version: "2.1.329"}}, "ok 2.1.329 at /b/claude\n", 2},
		"mute":      {[]install.Client{{Path: "/a/claude", Err: errors.New("/a/claude --version: exit status 3")}}, "warn /a/claude --version: exit status 3", 0},
	} {
		var lines strings.Builder
		checks, versions := clients(c.clients)
		for _, k := range checks {
			fmt.Fprintln(&lines, k.Status, k.Detail)
		}
		if !strings.Contains(lines.String(), c.want) || len(versions) != c.versions {
			t.Errorf("%s: %v\n%s", name, versions, lines.String())
		}
	}
}

// A hook that comes with a project may be called like assent's and be anything.
func TestDoctorTellsANamesake(t *testing.T) {
	project := t.TempDir()
	bin := filepath.Join(project, "assent-hook")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := []install.Settings{{Path: "F", Scope: install.Project, Hooks: []install.Hook{{Event: "PermissionRequest", Words: []string{bin}, Ours: true}}}}
	text := fmt.Sprint(hooks(settings, []string{install.Newest}, "/s/hook.sock", os.Getenv))
	if !strings.Contains(text, "F: "+bin+" is another program than the assent-hook of this assent") {
		t.Error(text)
	}
}
