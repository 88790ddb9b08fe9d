package optin

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// What the host runs by itself is nothing that an agent, or somebody else, can have put where it is found.
func TestTool(t *testing.T) {
	dir := home(t)
	project := filepath.Join(dir, "app")
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]fs.FileMode{"good/git": 0o755, "open/git": 0o777, "text/git": 0o644, "app/bin/git": 0o755} {
		write(t, at(name), "#!/bin/sh\n", 0o600)
		chmod(t, at(name), mode)
	}
	link(t, at("good/git"), at("linked/git"))
	link(t, at("app/bin/git"), at("toproject/git"))
	link(t, at("open/git"), at("toopen/git"))
	for path, want := range map[string]string{
		at("good"): "good/git", at("linked"): "linked/git",
		at("open") + ":" + at("text") + ":" + at("app/bin") + ":" + at("toproject") + ":" + at("toopen") + ":good::" + at("good"): "good/git",
		at("app/bin"): "", at("toproject"): "", at("toopen"): "", "": "", "good": "",
	} {
		if want != "" {
			want = at(want)
		}
		if got := Tool([]string{"X=y", "PATH=" + path}, "git", "", project); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := Tool(nil, "git"); got != "" {
		t.Errorf("without a search path: %q", got)
	}
}
