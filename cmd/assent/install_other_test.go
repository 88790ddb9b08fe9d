package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallSaysOneThing: what install says in short of an agent is not the contrary of its notes, and uninstall does
// not say that a file which is not there is as it should be.
func TestInstallSaysOneThing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	if err := os.WriteFile(filepath.Join(dir, "assent-hook"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	said := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("assent %q: %d %s", args, code, errs.String())
		}
		_, short, found := strings.Cut(out.String(), "In short: ")
		if !found {
			short = out.String()
		}
		return strings.Join(strings.Fields(short), " ")
	}
	install := func(args ...string) string { return said(append(append([]string{"install"}, args...), "--yes")...) }
	const prompt, ten = "asks at its own prompt", "ten minutes"
	for _, c := range []struct {
		got          string
		prompts, ten bool
	}{
		{install("codex"), true, true},
		{install("qwen"), true, false},
		{install("droid"), false, true},
		{install("copilot", "--on-failure", "deny"), false, true},
	} {
		if strings.Contains(c.got, prompt) != c.prompts || strings.Contains(c.got, ten) != c.ten {
			t.Errorf("%q", c.got)
		}
	}
	said("uninstall", "codex", "--yes")
	if got := said("uninstall", "codex", "--yes"); !strings.Contains(got, "there is no ") || strings.Contains(got, "as it should be") {
		t.Errorf("uninstall of what is gone says %q", got)
	}
}
