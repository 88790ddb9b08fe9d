package policy

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHoldsSecret(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(top, "u/home"), filepath.Join(top, "u/project")
	for _, dir := range []string{home + "/.ssh", project + "/src"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{project + "/notes.txt": home + "/.netrc", project + "/keys": home + "/.ssh", project + "/loop": "loop", project + "/main.go": "src/main.go"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file   string
		secret bool
	}{
		{"src/main.go", false},
		{project + "/README.md", false},
		{"main.go", false},
		{"new.txt", false},
		{".env", true},
		{"src/../.env", true},
		{"deploy.pem", true},
		{"notes.txt", true},   // a link to one
		{"keys/id_rsa", true}, // in a directory that a link leads to
		{"keys/other", true},
		{"loop", true}, // nobody can tell
		{home + "/.ssh/config", true},
		{home + "/.aws/credentials", true},
		{home + "/.local/state/assent/owner.token", true},
		{home + "/.config/assent/hook.conf", true},
		{"/etc/shadow", true},
		{"/proc/self/environ", true},
		{"", true},
		{"a\x00b", true},
	} {
		if got := HoldsSecret(c.file, project, project, home); got != c.secret {
			t.Errorf("%q: %v", c.file, got)
		}
	}
	if !HoldsSecret("a", "", "", home) {
		t.Error("a path that is relative to nothing is no secret")
	}
}
