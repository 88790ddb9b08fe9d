package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.1.197", "2.1.329", true}, {"2.1.329", "2.1.329", false}, {"2.1.1000", "2.1.329", false}, {"2.0.999", "2.1.0", true}, {"10.0.0", "9.9.9", false},
	} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("older(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

// settingsIn writes a user's settings file and reads it back as doctor does.
func settingsIn(t *testing.T, text string) []settingsFile {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readSettings(home, t.TempDir())
}

func TestDoctorReadsHooks(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "assent-hook")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ours := `{"type":"command","command":"` + bin + `","args":["--socket","/s/hook.sock"],"timeout":86400}`
	for name, c := range map[string]struct {
		settings string
		want     string // part of a line, with its status in front
	}{
		"as it should be":     {`{"hooks":{"PermissionRequest":[{"hooks":[` + ours + `]}],"Stop":[{"hooks":[` + ours + `]}]}}`, "ok assent-hook runs for 2 events"},
		"none":                {`{}`, "warn no settings file runs assent-hook"},
		"broken file":         {`{"hooks":`, "fail "},
		"not for permissions": {`{"hooks":{"Stop":[{"hooks":[` + ours + `]}]}}`, "fail assent-hook runs, but not for PermissionRequest"},
		"two deciders":        {`{"hooks":{"PermissionRequest":[{"hooks":[` + ours + `,{"type":"command","command":"other"}]}]}}`, "warn another tool's"},
		"worktrees":           {`{"hooks":{"PermissionRequest":[{"hooks":[` + ours + `]}],"WorktreeCreate":[{"hooks":[` + ours + `]}]}}`, "fail a WorktreeCreate hook"},
		"other socket":        {strings.ReplaceAll(`{"hooks":{"PermissionRequest":[{"hooks":[`+ours+`]}]}}`, "/s/hook.sock", "/t/hook.sock"), "warn PermissionRequest asks /t/hook.sock"},
		"short timeout":       {strings.ReplaceAll(`{"hooks":{"PermissionRequest":[{"hooks":[`+ours+`]}]}}`, "86400", "30"), "warn Claude Code gives up on the hook after 30 s"},
		"missing program":     {strings.ReplaceAll(`{"hooks":{"PermissionRequest":[{"hooks":[`+ours+`]}]}}`, bin, "/nowhere/assent-hook"), "cannot be run"},
		"shell form":          {`{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"` + bin + ` --socket /s/hook.sock"}]}]}}`, "ok assent-hook runs for 1 events"},
		"switched off":        {`{"disableAllHooks":true}`, "sets disableAllHooks"},
	} {
		var lines []string
		for _, k := range checkHooks(settingsIn(t, c.settings), "/s/hook.sock") {
			lines = append(lines, k.Status+" "+k.Detail)
		}
		if all := strings.Join(lines, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s: want %q in\n%s", name, c.want, all)
		}
	}
}

func TestDoctorKnowsTheMode(t *testing.T) {
	for name, c := range map[string]struct{ settings, version, status, part string }{
		"default":       {`{"permissions":{"defaultMode":"default"}}`, "2.1.329", "ok", "default"},
		"auto unsaid":   {`{}`, "2.1.329", "warn", "auto"},
		"older, unsaid": {`{}`, "2.1.197", "ok", "not set"},
		"ask rules":     {`{"permissions":{"ask":["Bash"]}}`, "2.1.329", "warn", "1 permissions.ask"},
		"bypass":        {`{"permissions":{"defaultMode":"bypassPermissions"}}`, "2.1.329", "warn", "never asked"},
	} {
		if k := checkMode(settingsIn(t, c.settings), c.version); k.Status != c.status || !strings.Contains(k.Detail, c.part) {
			t.Errorf("%s: %s %s", name, k.Status, k.Detail)
		}
	}
}

func TestAnswered(t *testing.T) {
	got, err := answered([]byte(`{"questions":[{"question":"A?"},{"question":"B?"}]}`), []string{"x", "y"})
	if err != nil || string(got) != `{"answers":{"A?":"x","B?":"y"},"questions":[{"question":"A?"},{"question":"B?"}]}` {
		t.Errorf("got %s, %v", got, err)
	}
	for name, in := range map[string]string{"no question": `{"command":"ls"}`, "fewer": `{"questions":[{"question":"A?"}]}`} {
		if _, err := answered([]byte(in), []string{"x", "y"}); err == nil {
			t.Errorf("%s: no complaint", name)
		}
	}
}
