package policy

import (
	"os"
	"path/filepath"
	"testing"

	"assent/internal/hook"
)

// No rule allows a search of what holds assent's state, or shows a secret, through a link or
// through a path that goes up again after one.
func TestStateAndSecretsBehindLinks(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := top+"/u/home", top+"/u/project"
	for _, dir := range []string{home + "/.local/state/assent", home + "/.config/x", project + "/src/deep", top + "/elsewhere/a/b"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		top + "/var": top + "/elsewhere/a/b", project + "/state": home + "/.local/state", project + "/own": home + "/.local/state/assent", project + "/h": "../home", project + "/notes.txt": home + "/.netrc",
		project + "/src/here": "deep", project + "/conf": home + "/.config/x",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{home + "/.netrc", project + "/src/deep/a.go"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load([]Source{{Name: "f", Data: []byte("version: 1\nuse: [builtin/readonly@1]\nallow: [Read, Grep, Glob, 'Read(//**)', 'Bash(grep *)', 'Bash(rg *)', 'Bash(cat *)', 'Bash(find *)', 'Bash(tar *)', 'Bash(cp *)']\n")}}, LoadOptions{Protected: []string{home + "/.local/state/assent"}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	at := func(c Call) Call {
		c.Cwd, c.Project, c.Home = project, project, home
		return c
	}
	// elsewhere/a/b/../../.. is top: the kernel follows var first.
	for _, c := range []string{
		"grep -r . " + top + "/var/../../../u/home/.local/state", "grep -r . state", "grep -r . ./state/", "grep -r . own", "rg x own", "rg -uu . state", "rg . h", "grep -r . h", "cat notes.txt", "head -n 1 notes.txt",
		"grep x < notes.txt", "cat conf/a", "grep -r . conf", "find state -type f -exec cat {} +", "find h/.local -type f | xargs cat", "find own -exec grep x {} +", "cat src/here/../../notes.txt", "tar cf x.tar h",
		"cp -r h x", "cat h/.netrc", "cat /proc/self/cwd/notes.txt", "cat /proc/self/cwd/../home/.netrc", "cat /proc/1/root/etc/hosts", "cat /dev/fd/../cwd/x", "cat nothing/../src/deep/a.go", "cd h && rg x", "cd h && grep -r x .",
		"cd state && cat assent/x", "grep --dereference-recursive . h", "grep -r . " + project + "/../home", "grep -r . src/here/../../../home",
	} {
		if v := s.Eval(at(bashCall(c))); v.Action == hook.ActionAllow {
			t.Errorf("allowed by %s: %s", v.Rule, c)
		}
	}
	for _, p := range []string{"state", "own", "h", "notes.txt", "conf/a", "h/.netrc", top + "/var/../../../u/home/.local/state", "nothing/../x", "/proc/self/cwd/x"} {
		for tool, key := range map[string]string{"Read": "file_path", "Grep": "path", "Glob": "path"} {
			if v := s.Eval(at(toolCall(tool, map[string]any{key: p, "pattern": "x"}))); v.Action == hook.ActionAllow && (tool != "Read" || p != "state" && p != "h" && p != "own") {
				t.Errorf("%s %s: allowed by %s", tool, p, v.Rule)
			}
		}
	}
	for _, c := range []string{"cat src/here/a.go", "cat src/../src/deep/a.go", "grep -rn x src", "grep -r x .", "rg x", "cat src/here/../deep/a.go", "find . -name '*.go' -exec cat {} +"} {
		if v := s.Eval(at(bashCall(c))); v.Action != hook.ActionAllow {
			t.Errorf("%s: %s", c, v.Reason)
		}
	}
	elsewhere := at(bashCall("cat src/../x"))
	elsewhere.Elsewhere = true
	if v := s.Eval(elsewhere); v.Action == hook.ActionAllow {
		t.Error("elsewhere, where links cannot be followed, a path that goes up after a name is allowed")
	}
}
