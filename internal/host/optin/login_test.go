package optin

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLogin: a program that says it is not logged in is warned of, with what to do; one that was never started is not
// asked, and one that says something else is believed nothing.
func TestLogin(t *testing.T) {
	cli := filepath.Join(t.TempDir(), "claude")
	for _, x := range []struct {
		name    string
		program string
		files   []string
		environ []string
		warns   bool
		want    string
	}{
		{"logged in", `echo '{"loggedIn":true,"authMethod":"api_key"}'`, []string{".claude.json"}, nil, false, "is logged in"},
		{"not", `echo '{"loggedIn":false}'; exit 1`, []string{".claude.json"}, nil, true, "is not logged in"},
		{"its environment", `[ "$KEY" = k ] && [ -z "$OTHER" ] && echo '{"loggedIn":true}'`, []string{".claude.json"}, []string{"KEY=k"}, false, "is logged in"},
		{"another form", `echo '{"loggedin":"no"}'`, []string{".claude.json"}, nil, false, "not known"},
		{"an older one", `echo "error: unknown command" >&2; exit 1`, []string{".claude.json"}, nil, false, "not known"},
		{"too much", `head -c 100000 /dev/zero`, []string{".claude.json"}, nil, false, "not known"},
		{"never started", `touch "$0.asked"`, nil, []string{"ANTHROPIC_API_KEY="}, true, "never started"},
		{"never started, with a key", `touch "$0.asked"`, nil, []string{"ANTHROPIC_API_KEY=k"}, false, "has a key"},
		{"never started, with settings", `touch "$0.asked"`, []string{".claude/settings.json"}, nil, false, "start claude once"},
	} {
		home := t.TempDir()
		for _, name := range x.files {
			if err := os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, name), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(cli, []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+x.program+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		f := Surroundings{Home: home}.Login(t.Context(), Agent{Name: "coder", CLI: cli}, x.environ)
		if f.Name != "login" || f.Refused || f.Warning != x.warns || !strings.Contains(f.Detail, x.want) || x.warns != (f.Fix != "") {
			t.Errorf("%s: %+v", x.name, f)
		}
		if _, err := os.Stat(cli + ".asked"); err == nil {
			t.Fatalf("%s: it was asked", x.name)
		}
	}
}

// A program that is called claude may say without end.
func TestLoginThatNeverStops(t *testing.T) {
	home, cli := t.TempDir(), filepath.Join(t.TempDir(), "claude")
	if err := errors.Join(os.WriteFile(filepath.Join(home, ".claude.json"), nil, 0o600), os.WriteFile(cli, []byte("#!/bin/sh\nPATH=/usr/bin:/bin\nexec yes\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := Surroundings{Home: home}.Login(t.Context(), Agent{Name: "coder", CLI: cli}, nil)
	runtime.ReadMemStats(&after)
	if !strings.Contains(f.Detail, "not known") {
		t.Errorf("%+v", f)
	}
	if read := after.TotalAlloc - before.TotalAlloc; read > 16<<20 {
		t.Errorf("%d bytes were kept of what it said", read)
	}
}
