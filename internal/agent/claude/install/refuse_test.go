package install

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Every refusal names the file and what to do, and leaves everything as it was.
func TestRefusedSettings(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a line comment":           {"{\n  // mine\n  \"a\": 1\n}", "line 2, column 3: a comment"},
		"a block comment":          {"{\"a\": /* x */ 1}", "line 1, column 7: a comment"},
		"a comment at the end":     {"{\"a\": 1}\n// bye\n", "line 2, column 1: a comment"},
		"a trailing comma":         {"{\n\"a\": [1,\n2,]}", "line 3, column 2: a comma"},
		"an open bracket":          {"{\n  \"a\": {", "is not valid JSON: line 2, column"},
		"a missing comma":          {"{\"a\":1\n \"b\":2}", "line 2, column 2"},
		"words":                    {"theme = dark", "is not valid JSON: line 1, column 1"},
		"two documents":            {"{}{}", "is not valid JSON"},
		"UTF-16":                   {"\xff\xfe{\x00}\x00", "is not valid JSON"},
		"a NUL":                    {"{\"a\": 1}\x00", "is not valid JSON"},
		"a list":                   {"[]", "holds no JSON object"},
		"a word":                   {"null", "holds no JSON object"},
		"hooks as a list":          {`{"hooks": []}`, "line 1, column 11: hooks must be an object"},
		"hooks as nothing":         {`{"hooks": null}`, "hooks must be an object"},
		"hooks as a text":          {`{"hooks": "x"}`, "hooks must be an object"},
		"an event as an object":    {`{"hooks": {"Stop": {}}}`, "hooks.Stop must be a list"},
		"an event as a text":       {`{"hooks": {"NoSuchEvent": "x"}}`, "hooks.NoSuchEvent must be a list"},
		"a group as a text":        {`{"hooks": {"Stop": ["x"]}}`, "hooks.Stop must list objects"},
		"a group's hooks":          {`{"hooks": {"Stop": [{"hooks": {}}]}}`, "the hooks in hooks.Stop must be a list"},
		"permissions as a list":    {`{"permissions": []}`, "permissions must be an object"},
		"ask as a text":            {`{"permissions": {"ask": "Bash"}}`, "permissions.ask must be a list"},
		"hooks twice":              {"{\"hooks\": {},\n\"hooks\": {}}", `line 2, column 1: "hooks" stands twice at the top`},
		"hooks twice, in disguise": {`{"hooks": {}, "\u0068ooks": {}}`, `"hooks" stands twice`},
		"another name twice":       {`{"a": 1, "a": 2}`, `"a" stands twice`},
		"an event twice":           {`{"hooks": {"Stop": [], "Stop": []}}`, `"Stop" stands twice in hooks`},
		"a hook's name twice":      {`{"hooks": {"Stop": [{"hooks": [{"command": "a", "command": "b"}]}]}}`, `"command" stands twice in hooks`},
		"ask twice":                {`{"permissions": {"ask": [], "ask": []}}`, `"ask" stands twice in permissions`},
		"10 MiB":                   {`{"a": "` + strings.Repeat("x", 10<<20) + `"}`, "has 10 MiB"},
		"nested behind a comment":  {"// \"\n/* \" */" + strings.Repeat("[", 1<<20), "nested more than 1000 deep"},
		"a huge word":              {`{"a": ` + strings.Repeat("x", 1<<20), "is not valid JSON: line 1, column 7"},
		"nested without end":       {strings.Repeat(`{"a":[`, 100000), "nested more than 1000 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			o := home(t, []byte(c.text))
			refused(t, Install, o, c.want)
			wantSame(t, "the file", get(t, o), []byte(c.text))
		})
	}
}

// refused wants an error that names the settings file and says this.
func refused(t *testing.T, plan func(Options) (Plan, error), o Options, want string) {
	t.Helper()
	path, err := o.Path()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(o)
	if err == nil {
		_, err = p.Apply()
	}
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want %q and %s", err, want, path)
	}
	leftovers(t, filepath.Dir(path))
}

// leftovers looks for temporary files.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if strings.Contains(f.Name(), ".assent-") {
			t.Errorf("%s is left in %s", f.Name(), dir)
		}
	}
}

// Uninstall reads what Claude Code does not, and keeps it.
func TestUninstallKeepsComments(t *testing.T) {
	hook := func(command string) string {
		return `[{"hooks": [{"type": "command", "command": "` + command + `", "args": []}]}]`
	}
	ours, theirs := hook("/opt/assent-hook"), hook("/opt/bell")
	for name, c := range map[string]struct{ text, want string }{
		"around": {
			"// top\n{\n  \"a\": 1, // one\n  // before\n  \"hooks\": {\"Stop\": " + ours + "}, // after\n  \"b\": 2 /* two */\n} // end\n",
			"// top\n{\n  \"a\": 1, // one\n  // before\n   // after\n  \"b\": 2 /* two */\n} // end\n",
		},
		"at the end": {
			"{\"a\": 1,\n  // mine\n  \"hooks\": {\"Stop\": " + ours + "} // yours\n}",
			"{\"a\": 1\n  // mine\n   // yours\n}",
		},
		"within": {
			"{\"hooks\": {\n  // bell\n  \"Stop\": " + theirs + ",\n  // assent\n  \"Setup\": " + ours + ",\n}}",
			"{\"hooks\": {\n  // bell\n  \"Stop\": " + theirs + ",\n  // assent\n  \n}}",
		},
		"trailing commas": {
			`{"hooks": {"Stop": ` + ours + `,}, "a": [1,],}`,
			`{"a": [1,],}`,
		},
		"twice": {
			`{"hooks": {"Stop": ` + ours + `}, "hooks": {"Stop": ` + ours + `, "Setup": ` + theirs + `}}`,
			`{"hooks": {"Setup": ` + theirs + `}}`,
		},
		"of another shape": {
			`{"hooks": {"Stop": {"hooks": 7}, "Setup": "x", "SessionEnd": ["x", {"hooks": "y"}]}, "hooks": []}`,
			`{"hooks": {"Stop": {"hooks": 7}, "Setup": "x", "SessionEnd": ["x", {"hooks": "y"}]}, "hooks": []}`,
		},
		"shared groups": {
			`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"command": "assent hook --url x"}, {"command": "b"}]}]}}`,
			`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"command": "b"}]}]}}`,
		},
	} {
		o := home(t, []byte(c.text))
		apply(t, Uninstall, o)
		got := string(get(t, o))
		if loose(got) != loose(c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		if _, err := parse("x", []byte(got)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := home(t, []byte(`{"hooks":`))
	refused(t, Uninstall, o, "is not valid JSON")
}

// loose leaves out white space, in which the cases above need not be exact.
func loose(s string) string { return strings.Join(strings.Fields(s), "") }

func TestRefusedFiles(t *testing.T) {
	text := []byte(`{"theme": "dark"}`)
	for name, c := range map[string]struct {
		make func(t *testing.T, o *Options, path string)
		want string
	}{
		"a directory": {func(t *testing.T, o *Options, path string) {
			must(t, os.Remove(path), os.Mkdir(path, 0o700))
		}, "is a directory"},
		"a pipe": {func(t *testing.T, o *Options, path string) {
			must(t, os.Remove(path), syscall.Mkfifo(path, 0o600))
		}, "is no regular file"},
		"a dangling link": {func(t *testing.T, o *Options, path string) {
			must(t, os.Remove(path), os.Symlink("/nowhere/settings.json", path))
		}, "is a symlink to /nowhere/settings.json, and nothing is there"},
		"a link to itself": {func(t *testing.T, o *Options, path string) {
			must(t, os.Remove(path), os.Symlink("settings.json", path))
		}, "too many links"},
		"a dangling directory": {func(t *testing.T, o *Options, path string) {
			must(t, os.RemoveAll(filepath.Dir(path)), os.Symlink("/nowhere", filepath.Dir(path)))
		}, "is a symlink to /nowhere, and nothing is there"},
		"a read-only file": {func(t *testing.T, o *Options, path string) {
			must(t, os.Chmod(path, 0o444))
		}, "is read-only (mode 0444)"},
		"a read-only directory": {func(t *testing.T, o *Options, path string) {
			must(t, os.Chmod(filepath.Dir(path), 0o500))
			t.Cleanup(func() { must(t, os.Chmod(filepath.Dir(path), 0o700)) })
		}, "is read-only (mode 0500)"},
		"a package store": {func(t *testing.T, o *Options, path string) {
			store := filepath.Join(o.Home, "nix", "store", "abc-settings")
			must(t, os.MkdirAll(store, 0o700), os.Rename(path, filepath.Join(store, "s.json")), os.Symlink(filepath.Join(store, "s.json"), path))
		}, "where nothing can be changed"},
		"a file where the directory should be": {func(t *testing.T, o *Options, path string) {
			must(t, os.RemoveAll(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			o := home(t, text)
			apply(t, Install, o)
			before := get(t, o)
			o.Command = []string{"/other/assent-hook"}
			c.make(t, &o, settingsPath(o))
			for _, plan := range []func(Options) (Plan, error){Install, Uninstall} {
				p, err := plan(o)
				if err == nil {
					_, err = p.Apply()
					if now := get(t, o); !bytes.Equal(now, before) {
						t.Errorf("the file has changed:\n%s", now)
					}
				}
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), o.Home) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			}
			leftovers(t, filepath.Dir(settingsPath(o)))
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLinksStay(t *testing.T) {
	o := home(t, []byte("{}\n"))
	path := settingsPath(o)
	real := filepath.Join(o.Home, "dotfiles", "claude settings.json")
	must(t, os.Mkdir(filepath.Dir(real), 0o700), os.Rename(path, real), os.Symlink("../dotfiles/claude settings.json", path))
	p := apply(t, Install, o)
	if to, err := os.Readlink(path); err != nil || to != "../dotfiles/claude settings.json" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if p.Target == path || !slices.ContainsFunc(p.Notes, func(n Note) bool { return n.Key == "symlink" }) {
		t.Errorf("%+v", p)
	}
	apply(t, Uninstall, o)
	b, err := os.ReadFile(real)
	if err != nil || string(b) != "{}\n" {
		t.Errorf("%q %v", b, err)
	}
}

// What is in a project may come from strangers: no link leads out of it.
func TestProjectLinksStayInside(t *testing.T) {
	for _, scope := range []Scope{Project, Local} {
		o := home(t, []byte("{}"))
		o.Scope, o.Dir = scope, t.TempDir()
		path, err := o.Path()
		must(t, err, os.Mkdir(filepath.Dir(path), 0o700), os.Symlink(settingsPath(o), path))
		refused(t, Install, o, "outside of the project")
		must(t, os.RemoveAll(filepath.Dir(path)), os.Symlink(filepath.Dir(settingsPath(o)), filepath.Dir(path)))
		must(t, os.Remove(settingsPath(o)))
		refused(t, Install, o, "outside of the project")
	}
}

func TestModeAndOwnerStay(t *testing.T) {
	o := home(t, []byte("{}"))
	must(t, os.Chmod(settingsPath(o), 0o664))
	want := 0
	if os.Geteuid() == 0 {
		want = 12345
		must(t, os.Chown(settingsPath(o), want, want))
	} else {
		want = os.Geteuid()
	}
	apply(t, Install, o)
	fi, err := os.Stat(settingsPath(o))
	must(t, err)
	if fi.Mode().Perm() != 0o664 || int(fi.Sys().(*syscall.Stat_t).Uid) != want {
		t.Errorf("%v, owner %d", fi.Mode(), fi.Sys().(*syscall.Stat_t).Uid)
	}
}

func TestNewFilesAreOnesOwn(t *testing.T) {
	o := home(t, nil)
	apply(t, Install, o)
	for path, want := range map[string]os.FileMode{
		settingsPath(o): 0o600, filepath.Dir(settingsPath(o)): 0o700, filepath.Join(o.StateDir, "install"): 0o700,
		filepath.Join(o.StateDir, "install", key(settingsPath(o))+".json"): 0o600,
	} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, fi.Mode(), err, want)
		}
	}
	apply(t, Uninstall, o)
	if _, err := os.Lstat(filepath.Dir(settingsPath(o))); !os.IsNotExist(err) {
		t.Errorf("the directory that install made stays: %v", err)
	}
}

func TestPathsOfEveryKind(t *testing.T) {
	for _, dir := range []string{"with space", `qu"ote's`, "ünï✓", "$HOME", "back\\slash", "star*[a]", "-dash", "new\nline"} {
		o := home(t, nil)
		o.Home = filepath.Join(o.Home, dir)
		o.StateDir = filepath.Join(o.Home, "state "+dir)
		o.Command = []string{filepath.Join(o.Home, "assent-hook"), "--socket", filepath.Join(o.Home, "s", dir)}
		must(t, os.Mkdir(o.Home, 0o700))
		put(t, o, []byte("{}\n"))
		p := apply(t, Install, o)
		checkHooks(t, o, p)
		apply(t, Uninstall, o)
		wantSame(t, dir, get(t, o), []byte("{}\n"))
	}
}

func TestChangedMeanwhile(t *testing.T) {
	o := home(t, []byte("{}"))
	p, err := Install(o)
	must(t, err)
	put(t, o, []byte(`{"theme": "dark"}`))
	if _, err := p.Apply(); err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Errorf("got %v", err)
	}
	wantSame(t, "the file", get(t, o), []byte(`{"theme": "dark"}`))
	must(t, os.Remove(settingsPath(o)))
	if _, err := p.Apply(); err == nil {
		t.Error("a file that has gone is made again")
	}
}

func TestManyAtOnce(t *testing.T) {
	o := home(t, []byte("{\n  \"theme\": \"dark\"\n}\n"))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			o := o
			if i%2 == 1 {
				o.Command = []string{"/other/assent-hook", "--socket", "/s"}
			}
			p, err := Install(o)
			if err == nil {
				_, err = p.Apply()
			}
			if err != nil && !strings.Contains(err.Error(), "meanwhile") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, ok := Read(settingsPath(o))
	if !ok || s.Err != nil || len(s.Hooks) != 30 {
		t.Errorf("%d hooks, %v", len(s.Hooks), s.Err)
	}
	leftovers(t, filepath.Dir(settingsPath(o)))
	apply(t, Uninstall, o)
	wantSame(t, "in the end", get(t, o), []byte("{\n  \"theme\": \"dark\"\n}\n"))
}

func TestBackupsAreKeptAndBounded(t *testing.T) {
	o := home(t, []byte("{\"n\": 0}"))
	for i := range keepBackups + 5 {
		before := get(t, o)
		plan := Install
		if i%2 == 1 {
			plan = Uninstall
		}
		p, err := plan(o)
		must(t, err)
		backup, err := p.Apply()
		must(t, err)
		b, err := os.ReadFile(backup)
		if err != nil || !bytes.Equal(b, before) {
			t.Errorf("backup %q, %v", b, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(o.StateDir, "install", "*.backup"))
	if err != nil || len(files) != keepBackups {
		t.Errorf("%d backups, %v", len(files), err)
	}
}

func TestStateThatCannotBeWritten(t *testing.T) {
	o := home(t, []byte("{}"))
	must(t, os.WriteFile(o.StateDir, nil, 0o600))
	p, err := Install(o)
	must(t, err)
	if _, err := p.Apply(); err == nil {
		t.Error("no complaint")
	}
	wantSame(t, "the file", get(t, o), []byte("{}"))
}
