package hookconf

import (
	"os"
	"path/filepath"
	"testing"

	"assent/hookclient"
)

func TestSetContain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "assent")
	file := Path(dir)
	step := func(what string, abi int, program, want string, changes bool) {
		t.Helper()
		changed, err := SetContain(file, abi, program)
		if err != nil || changed != changes {
			t.Errorf("%s: %v, %v", what, changed, err)
		}
		b, err := os.ReadFile(file)
		if string(b) != want || (want == "") != os.IsNotExist(err) {
			t.Errorf("%s: %q (%v), want %q", what, b, err, want)
		}
	}
	step("nothing to say", 0, "", "", false)
	step("new", 4, "/bin/assent-contain", "contain = 4 /bin/assent-contain\n", true)
	step("again", 4, "/bin/assent-contain", "contain = 4 /bin/assent-contain\n", false)
	step("gone", 0, "", "", true)
	own := "# mine\ntimeout=5s\n contain=3 /old\ntoken = x"
	if err := os.WriteFile(file, []byte(own), 0o640); err != nil {
		t.Fatal(err)
	}
	step("in the midst", 7, "/n", "# mine\ntimeout=5s\ncontain = 7 /n\ntoken = x", true)
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	step("out of the midst", 0, "", "# mine\ntimeout=5s\ntoken = x", true)
	step("at the end", 7, "/n", "# mine\ntimeout=5s\ntoken = x\ncontain = 7 /n\n", true)

	// The hook client reads what is written here.
	cfg, err := hookclient.ReadConfig(nil, func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": filepath.Dir(dir), "HOME": "/nonexistent", "ASSENT_CONTAIN": "9"}[name]
	})
	if err != nil || cfg.Fault != nil || cfg.Contain != 7 {
		t.Errorf("the client reads %d (%v, %v)", cfg.Contain, err, cfg.Fault)
	}
	if _, err := SetContain(file, 7, "/a\nsocket = /evil"); err == nil {
		t.Error("a line break was written")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", file); err != nil {
		t.Fatal(err)
	}
	if _, err := SetContain(file, 7, "/n"); err == nil {
		t.Error("a link was followed")
	}
}
