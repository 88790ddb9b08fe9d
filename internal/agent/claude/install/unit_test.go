package install

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/text/digest"

	"assent/internal/agent/claude/events"
)

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		versions []string
		n        int
		without  []string
	}{
		{[]string{Newest}, 30, []string{"WorktreeCreate", "MessageDisplay", "FileChanged"}},
		{[]string{"2.2.0"}, 30, nil},
		{[]string{"3.0.1-beta.2"}, 30, nil},
		{[]string{Oldest}, 27, []string{"DirectoryAdded", "PreModelSwitch", "PostModelSwitch", "WorktreeCreate"}},
		{[]string{"2.1.328"}, 27, nil},
		{[]string{Newest, Oldest}, 27, nil},
	} {
		names, err := Events(c.versions)
		if err != nil || len(names) != c.n || !slices.Contains(names, "PermissionRequest") || !slices.Contains(names, "WorktreeRemove") {
			t.Errorf("%v: %d events, %v", c.versions, len(names), err)
		}
		for _, n := range c.without {
			if slices.Contains(names, n) {
				t.Errorf("%v: %s", c.versions, n)
			}
		}
	}
	for _, v := range []string{"2.1.196", "1.0.0", "", "claude", "2.1"} {
		if _, err := Events([]string{Newest, v}); err == nil || v == "2.1.196" && !strings.Contains(err.Error(), "--claude-version") {
			t.Errorf("version %q: %v", v, err)
		}
	}
	// As the schemas name them.
	if schemas, err := filepath.Glob("../../../../schemas/hooks/*.json"); err != nil || len(schemas) < len(events.All) {
		t.Errorf("%d events, %d schemas, %v", len(events.All), len(schemas), err)
	}
	for _, e := range events.All {
		if files, _ := filepath.Glob("../../../../schemas/hooks/" + e.Name + ".json"); len(files) != 1 {
			t.Errorf("no schema is named %s", e.Name)
		}
	}
}

func TestUnknown(t *testing.T) {
	got := Unknown([]string{"Stop", "DirectoryAdded", "Foo"}, []string{Oldest})
	if !slices.Equal(got, []string{"DirectoryAdded", "Foo"}) {
		t.Error(got)
	}
	if got := Unknown([]string{"DirectoryAdded", "WorktreeCreate"}, []string{Newest}); got != nil {
		t.Error(got)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.1.197", "2.1.329", true}, {"2.1.329", "2.1.329", false}, {"2.1.1000", "2.1.329", false}, {"2.0.999", "2.1.0", true}, {"10.0.0", "9.9.9", false},
	} {
		if got := Older(c.a, c.b); got != c.want {
			t.Errorf("Older(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestOursAsTheShellReadsIt(t *testing.T) {
	for command, want := range map[string]bool{
		"assent-hook": true,
		"/usr/bin/assent-hook-strict --socket /s": true,
		"/opt/bin/assent-hook --socket /s":        true,
		"'/with space/assent-hook' --socket /s":   true,
		`"/with space/assent-hook" --socket "/s"`: true,
		`/with\ space/assent-hook`:                true,
		"exec /opt/assent-hook":                   true,
		"HTTP_PROXY= A=b /opt/assent-hook":        true,
		"assent hook --url x":                     true,
		"/opt/assent\thook":                       true,
		"assent":                                  false,
		"assent serve":                            false,
		"/opt/my-assent-hook":                     false,
		"assent-hook2":                            false,
		"echo assent-hook":                        false,
		"'/opt/assent-hook --socket /s'":          false,
		"/opt/assent-hook/other":                  false,
		"":                                        false,
		"'":                                       false,
		`\`:                                       false,
		"bash -c 'assent-hook'":                   false,
		"/a=b/assent-hook":                        true,
		"x-y=1 assent-hook":                       false,
	} {
		if got := Ours(shellWords(command)); got != want {
			t.Errorf("%s: %v, words %q", command, got, shellWords(command))
		}
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no version":      func(o *Options) { o.Versions = nil },
		"an old version":  func(o *Options) { o.Versions = []string{"2.1.0"} },
		"no command":      func(o *Options) { o.Command = nil },
		"a relative path": func(o *Options) { o.Command = []string{"assent-hook"} },
		"another program": func(o *Options) { o.Command = []string{"/bin/true"} },
		"a scope":         func(o *Options) { o.Scope = "everywhere" },
		"a mode":          func(o *Options) { o.DefaultMode = "bypassPermissions" },
		"no home":         func(o *Options) { o.Home = "" },
	} {
		o := home(t, nil)
		change(&o)
		if p, err := Install(o); err == nil {
			t.Errorf("%s: planned %+v", name, p.Path)
		}
	}
}

func TestScopes(t *testing.T) {
	o := Options{Home: "/h", Dir: "/p"}
	for scope, want := range map[Scope]string{User: "/h/.claude/settings.json", Project: "/p/.claude/settings.json", Local: "/p/.claude/settings.local.json"} {
		o.Scope = scope
		if got, err := o.Path(); err != nil || got != want {
			t.Errorf("%s: %s, %v", scope, got, err)
		}
	}
	o.Scope, o.ConfigDir = User, "/c"
	if got, err := o.Path(); err != nil || got != "/c/settings.json" {
		t.Errorf("with a directory of the agent's: %s, %v", got, err)
	}
}

// A hook that a person put on an event that install does not write stays, and is brought up to
// date; one that breaks something, or that a version does not know, goes.
func TestOtherEvents(t *testing.T) {
	hook := func(event, matcher string) string {
		return fmt.Sprintf(`"%s": [{"matcher": "%s", "hooks": [{"type": "command", "command": "/old/assent-hook"}]}]`, event, matcher)
	}
	text := "{\"hooks\": {" + strings.Join([]string{
		hook("FileChanged", "go.mod"), hook("MessageDisplay", ""), hook("WorktreeCreate", ""), hook("DirectoryAdded", ""), hook("Foo", ""), hook("PostToolUse", "Bash"),
	}, ", ") + "}}"
	o := home(t, []byte(text))
	o.Versions = []string{Oldest}
	p := apply(t, Install, o)
	s, _ := Read(settingsPath(o))
	got := map[string]string{}
	for _, h := range s.Hooks {
		got[h.Event] += h.Matcher + "|" + h.Words[0] + ";"
	}
	for event, want := range map[string]string{
		"FileChanged": "go.mod|/opt/assent/assent-hook;", "MessageDisplay": "|/opt/assent/assent-hook;",
		"WorktreeCreate": "", "DirectoryAdded": "", "Foo": "", "PostToolUse": "|/opt/assent/assent-hook;",
	} {
		if got[event] != want {
			t.Errorf("%s: %q, want %q", event, got[event], want)
		}
	}
	removed := 0
	for _, n := range p.Notes {
		if n.Key == "event-removed" {
			removed++
		}
	}
	if removed != 3 {
		t.Errorf("notes %+v", p.Notes)
	}
	if len(p.Events) != 29 {
		t.Errorf("%d events", len(p.Events))
	}
}

func TestAskRulesGoWithTheInstall(t *testing.T) {
	o := home(t, []byte("{\n  \"permissions\": {\n    \"ask\": [\n      \"Bash(rm:*)\"\n    ]\n  }\n}\n"))
	o.AskRules = []string{"Bash(rm:*)", "WebFetch"}
	apply(t, Install, o)
	o.AskRules = []string{"Edit"} // a later install adds to them
	apply(t, Install, o)
	o.AskRules = nil
	apply(t, Install, o)
	s, _ := Read(settingsPath(o))
	if !slices.Equal(s.Ask, []string{"Bash(rm:*)", "WebFetch", "Edit"}) {
		t.Errorf("ask %q", s.Ask)
	}
	// Somebody adds a rule, and takes one of ours away.
	put(t, o, []byte(strings.Replace(string(get(t, o)), `"WebFetch"`, `"Bash(npm:*)"`, 1)))
	apply(t, Uninstall, o)
	if s, _ := Read(settingsPath(o)); !slices.Equal(s.Ask, []string{"Bash(rm:*)", "Bash(npm:*)"}) || len(s.Hooks) > 0 {
		t.Errorf("after uninstall: ask %q, %d hooks", s.Ask, len(s.Hooks))
	}
}

func TestModeGoesBack(t *testing.T) {
	read := func(o Options) string {
		s, _ := Read(settingsPath(o))
		return s.DefaultMode
	}
	for _, c := range []struct{ before, set, meanwhile, after string }{
		{`{"permissions": {"defaultMode": "auto"}}`, "default", "", "auto"},
		{`{"permissions": {"defaultMode": "auto"}}`, "manual", "", "auto"},
		{`{}`, "plan", "", ""},
		{`{}`, "default", "auto", "auto"}, // changed by the client: that stays
		{`{"permissions": {"defaultMode": "auto"}}`, "default", "plan", "plan"},
		{`{"permissions": {"defaultMode": "default"}}`, "default", "", "default"},
	} {
		o := home(t, []byte(c.before))
		o.DefaultMode = c.set
		apply(t, Install, o)
		if got := read(o); got != modeName(c.set) {
			t.Errorf("%+v: set %q", c, got)
		}
		o.DefaultMode = "acceptEdits"
		apply(t, Install, o)
		o.DefaultMode = c.set
		apply(t, Install, o)
		// Any edit, so that the memory of the bytes does not fit.
		text := strings.TrimSpace(string(get(t, o)))
		if c.meanwhile != "" {
			text = strings.Replace(text, `"defaultMode": "`+modeName(c.set)+`"`, `"defaultMode": "`+c.meanwhile+`"`, 1)
		}
		put(t, o, []byte(text+"\n\n"))
		apply(t, Uninstall, o)
		if got := read(o); got != c.after {
			t.Errorf("%+v: after uninstall %q", c, got)
		}
	}
}

func TestMemoryOfAnotherFileIsNotTaken(t *testing.T) {
	o := home(t, []byte("{}\n"))
	apply(t, Install, o)
	path := filepath.Join(o.StateDir, "install", key(settingsPath(o))+".json")
	for _, text := range []string{"", "{", `{"path":"/other","after":"` + digest.Of(get(t, o)) + `","before":"YmFk"}`} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		p, err := Uninstall(o)
		if err != nil || string(p.After) != "{}\n" {
			t.Errorf("memory %q: %q, %v", text, p.After, err)
		}
	}
}

func TestNotes(t *testing.T) {
	o := home(t, []byte(`{"disableAllHooks": true, "hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "/opt/bell"}]}]}}`))
	o.Versions = []string{Newest, Oldest, "2.2.0"}
	must(t, os.Link(settingsPath(o), filepath.Join(o.Home, "other name")))
	p, err := Install(o)
	must(t, err)
	var keys []string
	for _, n := range p.Notes {
		keys = append(keys, n.Key)
		if strings.HasSuffix(n.Text, ".") {
			t.Errorf("%q: whoever prints it adds the full stop", n.Text)
		}
	}
	if !slices.Equal(keys, []string{"hard-links", "second-decider", "hooks-disabled", "older", "newer"}) {
		t.Errorf("%+v", p.Notes)
	}
	o.Scope, o.Dir = Project, t.TempDir()
	if p, err := Install(o); err != nil || !slices.ContainsFunc(p.Notes, func(n Note) bool { return n.Key == "shared-file" }) {
		t.Errorf("%+v, %v", p.Notes, err)
	}
}

// What somebody told the hook by hand does not go without a word.
func TestFlagsThatGo(t *testing.T) {
	for args, want := range map[string]string{
		`"--socket", "/s", "--timeout", "5s"`:            "",
		`"--socket=/s", "--on-failure", "deny"`:          "--on-failure deny",
		`"--socket=/s", "-on-timeout=deny", "--agent=x"`: "--on-timeout deny, --agent x",
	} {
		o := home(t, []byte(`{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "/o/assent-hook", "args": [`+args+`]}]}]}}`))
		p, err := Install(o)
		must(t, err)
		i := slices.IndexFunc(p.Notes, func(n Note) bool { return n.Key == "flags-removed" })
		if (want != "") != (i >= 0) || i >= 0 && !strings.Contains(p.Notes[i].Text, want) {
			t.Errorf("%s: %+v", args, p.Notes)
		}
		o.CI = true
		if p, err := Install(o); err != nil || strings.Contains(fmt.Sprint(p.Notes), "on-timeout deny") {
			t.Errorf("%s: %+v %v", args, p.Notes, err)
		}
	}
}

// A rule that somebody took away and added again is theirs.
func TestMemoryForgetsWhatWasUndone(t *testing.T) {
	o := home(t, []byte("{}"))
	o.AskRules, o.DefaultMode = []string{"WebFetch"}, "plan"
	apply(t, Install, o)
	put(t, o, []byte(`{"theme": "dark"}`))
	o.AskRules, o.DefaultMode = nil, ""
	apply(t, Install, o)
	put(t, o, []byte(strings.Replace(string(get(t, o)), `"theme"`, `"permissions": {"ask": ["WebFetch"], "defaultMode": "plan"}, "theme"`, 1)))
	apply(t, Uninstall, o)
	if s, _ := Read(settingsPath(o)); !slices.Equal(s.Ask, []string{"WebFetch"}) || s.DefaultMode != "plan" || len(s.Hooks) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestSurvey(t *testing.T) {
	o := home(t, []byte(`{"permissions": {"defaultMode": "plan", "ask": ["Bash"]}}`))
	root := t.TempDir()
	cwd := filepath.Join(root, "a", "b")
	for path, text := range map[string]string{
		root + "/.claude/settings.json":       `{"a": "the root's shared settings do not count below it"}`,
		root + "/.claude/settings.local.json": `{"disableAllHooks": true}`,
		cwd + "/.claude/settings.json":        `{"hooks": [`,
	} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	got := Survey(o, cwd, root)
	if len(got) != 3 || got[0].DefaultMode != "plan" || !reflect.DeepEqual(got[0].Ask, []string{"Bash"}) || got[1].Err == nil || !got[2].DisableAllHooks {
		t.Errorf("%+v", got)
	}
	if got := Survey(o, root, root); len(got) != 3 || got[1].Scope != Project || got[2].Scope != Local {
		t.Errorf("%+v", got)
	}
}

func TestSameHook(t *testing.T) {
	o := home(t, []byte(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a", "timeout": 1}]}, {"hooks": [{"timeout": 1.0, "command": "a", "type": "command"}, {"type": "command", "command": "a"}]}]}}`))
	s, _ := Read(settingsPath(o))
	if len(s.Hooks) != 3 || !s.Hooks[0].Same(s.Hooks[1]) || s.Hooks[0].Same(s.Hooks[2]) {
		t.Errorf("%+v", s.Hooks)
	}
}

func TestClients(t *testing.T) {
	o := home(t, nil)
	script := func(dir, text string) string {
		path := filepath.Join(o.Home, dir, "claude")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
		return path
	}
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv("NODE_OPTIONS", "--inspect")
	one := script("one", `[ -z "$ANTHROPIC_API_KEY$NODE_OPTIONS" ] && [ "$1" = --version ] && echo '2.1.329 (Claude Code)'`)
	two := script("two", "echo 'oh dear' >&2; exit 3")
	three := script(".local/bin", "echo '2.1.197 (Claude Code)'")
	four := script(".claude/local", "echo hello 2.1.3")
	must(t, os.MkdirAll(filepath.Join(o.Home, "links"), 0o700), os.Symlink(one, filepath.Join(o.Home, "links", "claude")))
	must(t, os.MkdirAll(filepath.Join(o.Home, "dir", "claude"), 0o700))
	search := strings.Join([]string{"relative", filepath.Dir(one), filepath.Join(o.Home, "links"), filepath.Join(o.Home, "dir"), filepath.Dir(two), "/usr/bin", "/bin"}, ":")
	var got []string
	for _, c := range Clients(t.Context(), search, o.Home) {
		if !strings.HasPrefix(c.Path, o.Home) {
			continue // the machine's own
		}
		got = append(got, c.Path+" "+c.Version)
		if (c.Version == "") != (c.Err != nil) {
			t.Errorf("%+v", c)
		}
	}
	if want := []string{one + " 2.1.329", two + " ", three + " 2.1.197", four + " "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What install once did to a mode and to rules that a person has changed since is not undone: it
// is theirs now.
func TestWhatAPersonChangedIsTheirs(t *testing.T) {
	o := home(t, []byte(`{"permissions": {"defaultMode": "auto"}}`))
	o.DefaultMode, o.AskRules = "default", []string{"Bash(rm:*)"}
	apply(t, Install, o)
	put(t, o, []byte(`{"permissions": {"defaultMode": "plan"}}`))
	o.DefaultMode, o.AskRules = "", nil
	apply(t, Install, o)
	b := bytes.Replace(get(t, o), []byte(`"defaultMode": "plan"`), []byte(`"defaultMode": "default", "ask": ["Bash(rm:*)"]`), 1)
	put(t, o, b)
	apply(t, Uninstall, o)
	wantSame(t, "the settings", get(t, o), []byte(`{"permissions": {"defaultMode": "default", "ask": ["Bash(rm:*)"]}}`))
}

// Of two members of one name the last one counts, and is the one that uninstall tidies up.
func TestUninstallTidiesTheMemberThatCounts(t *testing.T) {
	for _, rest := range []string{
		`{"permissions": {"deny": ["Bash(sudo:*)"]}`,
		`{"permissions": {"deny": ["Bash(sudo:*)"], "ask": ["Read"]}`,
	} {
		o := home(t, nil)
		o.AskRules = []string{"Bash(rm:*)"}
		apply(t, Install, o)
		put(t, o, []byte(rest+`, "permissions": {"ask": ["Bash(rm:*)"]}}`))
		apply(t, Uninstall, o)
		wantSame(t, rest, get(t, o), []byte(rest+"}"))
	}
	o := home(t, nil)
	o.AskRules = []string{"Bash(rm:*)"}
	apply(t, Install, o)
	put(t, o, []byte(`{"permissions": {"ask": ["Read"], "ask": ["Bash(rm:*)"]}}`))
	apply(t, Uninstall, o)
	wantSame(t, "ask", get(t, o), []byte(`{"permissions": {"ask": ["Read"]}}`))
}

// Uninstall writes what a memory says, so a memory that others could have written is none.
func TestMemoryOfOthersIsNotTaken(t *testing.T) {
	text := []byte("{}\n")
	for name, open := range map[string]func(string) error{
		"writable": func(path string) error { return os.Chmod(path, 0o622) },
		"foreign": func(path string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(path, 0o622)
			}
			return os.Chown(path, 12345, 12345)
		},
	} {
		o := home(t, text)
		p := apply(t, Install, o)
		planted := memory{Path: p.Target, After: digest.Of(get(t, o)), Before: []byte(`{"hooks": {"Stop": [{"hooks": [{"command": "evil"}]}]}}`)}
		must(t, keep(p.memoryDir, p.Target, &planted))
		must(t, open(filepath.Join(p.memoryDir, key(p.Target)+".json")))
		apply(t, Uninstall, o)
		if got := get(t, o); bytes.Contains(got, []byte("evil")) || bytes.Contains(got, []byte("assent")) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A program that is called claude may say more than its version.
func TestClientThatNeverStops(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\necho 2.1.329\nexec yes\n"), 0o700))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := Clients(t.Context(), dir+":/usr/bin:/bin", "")
	runtime.ReadMemStats(&after)
	if len(found) != 1 || found[0].Err == nil {
		t.Errorf("%+v", found)
	}
	if read := after.TotalAlloc - before.TotalAlloc; read > 16<<20 {
		t.Errorf("%d bytes were kept of what it said", read)
	}
}

func TestApart(t *testing.T) {
	o := Options{Versions: []string{Newest}, Command: []string{"/opt/assent-hook", "--socket", "/run/s"}, CI: true, Wait: 90 * time.Second}
	const hookText = `{"hooks": [{"type": "command", "command": "/opt/assent-hook", "args": ["--socket", "/run/s", "--on-failure", "deny", "--timeout", "90s", "--on-timeout", "deny"], "timeout": 100, "onFailure": "block"}]}`
	b, err := Apart(o, "--settings", nil)
	if err != nil || !strings.Contains(string(b), `"PermissionRequest": [`+hookText) || !strings.Contains(string(b), `"defaultMode": "default"`) || strings.Count(string(b), "onFailure") != 1 {
		t.Errorf("%s, %v", b, err)
	}
	base := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "permissions": {"defaultMode": "acceptEdits"}}`
	if b, err = Apart(o, "f.json", []byte(base)); err != nil || !strings.Contains(string(b), `"mine"`) || !strings.Contains(string(b), `"acceptEdits"`) || strings.Contains(string(b), `"default"`) {
		t.Errorf("%s, %v", b, err)
	}
	o.Versions, o.Wait = []string{Oldest}, 1500*time.Millisecond
	if b, err = Apart(o, "f.json", nil); err != nil || strings.Contains(string(b), "onFailure") || !strings.Contains(string(b), `"--timeout", "1.5s", "--on-timeout", "deny"], "timeout": 12}`) {
		t.Errorf("%s, %v", b, err)
	}
	for bad, why := range map[string]string{
		`{"permissions": {"defaultMode": "bypassPermissions"}}`: "asks no hook",
		`{"permissions": {"defaultMode": "auto"}}`:              "asks no hook",
		`{"disableAllHooks": true}`:                             "disableAllHooks",
		`{"hooks": 1}`:                                          "f.json",
		`{"a": 1, // x`:                                         "f.json",
	} {
		if b, err := Apart(o, "f.json", []byte(bad)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %s, %v", bad, b, err)
		}
	}
	o.Command = []string{"/bin/other"}
	if _, err := Apart(o, "f.json", nil); err == nil {
		t.Error("a program that is not assent's hook was taken")
	}
}

func TestCIHandlerOfSeveralVersions(t *testing.T) {
	o := Options{Command: []string{"/a/assent-hook"}, CI: true}
	for _, tt := range []struct {
		versions []string
		want     string
	}{{[]string{Oldest}, ""}, {[]string{Oldest, Newest}, "block"}, {[]string{"2.1.200"}, "block"}} {
		o.Versions = tt.versions
		h := o.handler("PermissionRequest")
		if h.OnFailure != tt.want || h.Timeout != 310 || strings.Join(h.Args, " ") != "--on-failure deny --timeout 300s --on-timeout deny" {
			t.Errorf("%v: %+v", tt.versions, h)
		}
		if h := o.handler("Stop"); h.OnFailure != "" || len(h.Args) != 0 {
			t.Errorf("another event: %+v", h)
		}
	}
}
