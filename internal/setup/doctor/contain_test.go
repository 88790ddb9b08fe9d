package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/host/contain"
)

// TestContain: the doctor says whether commands can be contained, and never that something is broken.
func TestContain(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) func() (string, error) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return func() (string, error) { return file, nil }
	}
	for _, c := range []struct {
		program func() (string, error)
		want    string
	}{
		{func() (string, error) { return "", errors.New("nowhere") }, "nowhere"},
		{script("good", `[ "$1" = --check ] && echo "ok abi 7"`), "can be contained (Landlock ABI 7). "},
		{script("bad", "echo 'assent-contain: it could write' >&2; exit 125"), "each is asked about: it could write"},
		{script("odd", "exit 1"), "exit status 1"},
	} {
		env := func(name string) string { return map[string]string{"HOME": dir}[name] }
		x := &examination{Config: Config{Contain: c.program, Env: env}}
		got := x.checkContain(t.Context())
		if len(got) != 1 || got[0].Status != OK || contain.Usable(contain.ABI()) == nil && !strings.Contains(got[0].Detail, c.want) {
			t.Errorf("%+v; want %s", got, c.want)
		}
	}
	if os.Geteuid() != 0 {
		if got := replaceable(filepath.Join(dir, "good")); got == "" {
			t.Error("what this user wrote cannot be replaced")
		}
		if got := replaceable("/bin/sh"); got != "" {
			t.Errorf("/bin/sh can be replaced by %s", got)
		}
	}
}
