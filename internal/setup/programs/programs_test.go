package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// programs makes the three in dir and returns the path of assent.
func programs(t *testing.T, dir, text string) string {
	t.Helper()
	for _, name := range Names {
		put(t, filepath.Join(dir, name), text+name)
	}
	return filepath.Join(dir, "assent")
}

func TestOf(t *testing.T) {
	dir := t.TempDir()
	dpkg := filepath.Join(dir, "dpkg")
	deb := programs(t, filepath.Join(dir, "usr/bin"), "")
	put(t, filepath.Join(dpkg, "assent.list"), "/.\n"+deb+"\n")
	script := programs(t, filepath.Join(dir, "home/.local/bin"), "")
	put(t, filepath.Join(dir, "home/.local/share/assent/installed"), "bin/assent\n")
	npm := programs(t, filepath.Join(dir, ".npm/_npx/1f/node_modules/assent-linux-x64/bin"), "")
	link := filepath.Join(dir, "global-assent")
	if err := os.Symlink(npm, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Way{
		deb: ByDebian, script: ByScript, npm: ByNPM, link: ByNPM,
		programs(t, filepath.Join(dir, "opt/homebrew/Cellar/assent/1.0/bin"), ""):           ByBrew,
		programs(t, filepath.Join(dir, "home/.local/share/assent/programs/0.1.0"), ""):      ByNPM,
		programs(t, filepath.Join(dir, "somewhere/bin"), ""):                                ByHand,
		filepath.Join(dir, "not/there"):                                                     ByHand,
		programs(t, filepath.Join(dir, "home/projects/not_node_modules/share/bin"), "more"): ByHand,
	} {
		if got := Of(path, dpkg); got != want {
			t.Errorf("%s came by %s, want %s", path, got, want)
		}
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	at := func(name string) string { return filepath.Join(dir, name, "node_modules/assent-linux-x64/bin") }
	keep := func(self, version string, want bool) string {
		t.Helper()
		changed, err := Keep(self, data, version)
		if err != nil || changed != want {
			t.Errorf("keep %s: %v, %v", version, changed, err)
		}
		link := Lasting(self, data)
		b, err := os.ReadFile(filepath.Join(link, "hookd-emit")) // through both links
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	one := programs(t, at("a"), "one ")
	if got := keep(one, "0.1.0", true); got != "one assent-hook" {
		t.Errorf("kept %q", got)
	}
	keep(one, "0.1.0", false)
	os.RemoveAll(at("a")) // as npx does some day
	inUse := filepath.Join(data, "assent/programs/current")
	if got := Lasting(filepath.Join(inUse, "assent"), data); got != inUse {
		t.Errorf("kept programs are to be named in %s", got)
	}
	if _, err := os.Stat(filepath.Join(inUse, "assent-contain")); err != nil {
		t.Error(err)
	}
	if got := keep(programs(t, at("b"), "two "), "0.1.0", true); got != "two assent-hook" { // built twice under one name
		t.Errorf("kept %q", got)
	}
	if got := keep(programs(t, at("c"), "three "), "0.2.0", true); got != "three assent-hook" {
		t.Errorf("kept %q", got)
	}
	if got := keep(programs(t, at("d"), "four "), "0.3.0", true); got != "four assent-hook" {
		t.Errorf("kept %q", got)
	}
	entries, err := os.ReadDir(filepath.Dir(inUse))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "0.2.0 0.3.0 current" {
		t.Errorf("left are %q", got)
	}
	// One of the kept, called by its own path, is the one in use from then on.
	if got := keep(filepath.Join(filepath.Dir(inUse), "0.2.0", "assent"), "0.2.0", true); got != "three assent-hook" {
		t.Errorf("kept %q", got)
	}

	other := programs(t, filepath.Join(dir, "usr/bin"), "")
	if changed, err := Keep(other, data, "0.4.0"); changed || err != nil || Lasting(other, data) != "" {
		t.Errorf("what lasts by itself: %v, %v", changed, err)
	}
	for _, version := range []string{"", "..", "a/b", ".x", "current"} {
		if _, err := Keep(programs(t, at("e"), "five "), data, version); err == nil {
			t.Errorf("a version %q was kept", version)
		}
	}
	os.Remove(filepath.Join(at("e"), "assent-hook"))
	if _, err := Keep(filepath.Join(at("e"), "assent"), data, "0.5.0"); err == nil {
		t.Error("programs of which one is missing were kept")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(inUse), ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// What a package manager brought is updated there, and by nobody else.
func TestInstead(t *testing.T) {
	for way, want := range map[Way]string{ByHand: "", ByScript: "", ByNPM: "npx assent@latest up", ByDebian: "sudo apt install ./assent_", ByBrew: "brew upgrade assent"} {
		if got := way.Instead(); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", way, got)
		}
	}
}
