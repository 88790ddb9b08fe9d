package ci

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHooksBesideOurs: a file of hooks that answers requests too, or cannot be read, is reported. A pipe or a device of that
// name is not waited for.
func TestHooksBesideOurs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("COPILOT_HOME", home)
	dir := filepath.Join(home, "hooks")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"answers.json": `{"hooks":{"permissionRequest":[]}}`, "starts.json": `{"hooks":{"sessionStart":[]}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero.json")); err != nil {
		t.Fatal(err)
	}
	a, err := ParseAgent([]string{"copilot", "-p", "hi"})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Options: Options{Agent: a, Err: io.Discard}}
	copilotCLI{}.others(r)
	var found []string
	for _, p := range r.rep.Problems {
		name, _, _ := strings.Cut(strings.TrimPrefix(p.Text, "hooks in "+dir+"/"), " ")
		found = append(found, p.Key+" "+name)
	}
	if got, want := strings.Join(found, ", "), "second-decider answers.json, second-decider pipe.json, second-decider zero.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
