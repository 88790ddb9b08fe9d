package install

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// fixture is a settings file of testdata. Its flags: absent (no file), crlf, bom, chomp (no line
// break at the end), lossy (without the memory, uninstall leaves it a little tidier).
type fixture struct {
	name  string
	ar    *txtar.Archive
	flags []string
}

func fixtures(t *testing.T) []fixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	var all []fixture
	for _, p := range paths {
		ar, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{name: strings.TrimSuffix(filepath.Base(p), ".txtar"), ar: ar}
		if m := regexp.MustCompile(`(?m)^flags: (.*)$`).FindSubmatch(ar.Comment); m != nil {
			f.flags = strings.Fields(string(m[1]))
		}
		all = append(all, f)
	}
	return all
}

// before is the file's text, nil for no file.
func (f fixture) before() []byte {
	if slices.Contains(f.flags, "absent") {
		return nil
	}
	b := f.file("before")
	if slices.Contains(f.flags, "chomp") {
		b = bytes.TrimSuffix(b, []byte("\n"))
	}
	if slices.Contains(f.flags, "crlf") {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	if slices.Contains(f.flags, "bom") {
		b = append(slices.Clone(bom), b...)
	}
	if b == nil {
		b = []byte{}
	}
	return b
}

func (f fixture) file(name string) []byte {
	for _, x := range f.ar.Files {
		if x.Name == name {
			return slices.Clone(x.Data)
		}
	}
	return nil
}

// home prepares a home directory with this settings file in it.
func home(t *testing.T, text []byte) Options {
	t.Helper()
	o := Options{
		Scope: User, Home: t.TempDir(), Versions: []string{Newest}, StateDir: filepath.Join(t.TempDir(), "state"),
		Command: []string{"/opt/assent/assent-hook", "--socket", "/run/assent/hook.sock"},
	}
	if text != nil {
		put(t, o, text)
	}
	return o
}

func settingsPath(o Options) string { return filepath.Join(o.Home, ".claude", "settings.json") }

func put(t *testing.T, o Options, text []byte) {
	t.Helper()
	path := settingsPath(o)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o640); err != nil {
		t.Fatal(err)
	}
}

// get is the settings file's text, nil for no file.
func get(t *testing.T, o Options) []byte {
	t.Helper()
	b, err := os.ReadFile(settingsPath(o))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err == nil && b == nil {
		b = []byte{}
	}
	return b
}

// apply plans and does it.
func apply(t *testing.T, plan func(Options) (Plan, error), o Options) Plan {
	t.Helper()
	p, err := plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	return p
}

func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func wantSame(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !same(got, want) {
		t.Errorf("%s: nil %v, want nil %v\n%s", what, got == nil, want == nil, diff.Diff("want", want, "got", got))
	}
}

// The ways to install that every fixture is tried with.
var ways = map[string]func(*Options){
	"plain": func(*Options) {},
	"ci":    func(o *Options) { o.CI = true },
	"older": func(o *Options) { o.Versions = []string{Newest, Oldest} },
	"asked": func(o *Options) { o.AskRules, o.DefaultMode = DefaultAsk, "manual" },
}

func TestUninstallGivesBackEveryByte(t *testing.T) {
	for _, f := range fixtures(t) {
		for way, set := range ways {
			t.Run(f.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				o := home(t, f.before())
				set(&o)
				p := apply(t, Install, o)
				if !p.Changed() || p.Diff() == "" {
					t.Error("nothing was installed")
				}
				wantSame(t, "written", get(t, o), p.After)
				if again, err := Install(o); err != nil || again.Changed() {
					t.Errorf("a second install changes %s %v", again.Diff(), err)
				}
				checkHooks(t, o, p)
				apply(t, Uninstall, o)
				wantSame(t, "install, uninstall", get(t, o), f.before())
				if again, err := Uninstall(o); err != nil || again.Changed() {
					t.Errorf("a second uninstall changes %s %v", again.Diff(), err)
				}
				if files, _ := filepath.Glob(filepath.Join(o.StateDir, "install", "*.json")); len(files) != 0 {
					t.Errorf("the memory stays: %v", files)
				}
			})
		}
	}
}

// checkHooks holds what is in the file against what Claude Code needs to find there.
func checkHooks(t *testing.T, o Options, p Plan) {
	t.Helper()
	s, ok := Read(settingsPath(o))
	if !ok || s.Err != nil {
		t.Fatalf("reading it: %v", s.Err)
	}
	text := bytes.TrimPrefix(p.After, bom)
	if !json.Valid(text) {
		t.Fatalf("no JSON:\n%s", text)
	}
	events := map[string]bool{}
	for _, h := range s.Hooks {
		if !h.Ours {
			continue
		}
		if events[h.Event] {
			t.Errorf("%s has two hooks of assent", h.Event)
		}
		events[h.Event] = true
		want := o.handler(h.Event)
		if h.Matcher != "" || h.Timeout != float64(want.Timeout) || !slices.Equal(h.Words, append([]string{want.Command}, want.Args...)) {
			t.Errorf("%s: %+v", h.Event, h)
		}
	}
	want, err := Events(o.Versions)
	if err != nil || len(events) != len(want) || !slices.Equal(p.Events, want) {
		t.Errorf("%d events, want %d, %v", len(events), len(want), err)
	}
	if events["WorktreeCreate"] || len(o.Versions) > 1 && events["DirectoryAdded"] {
		t.Error("an event that breaks something")
	}
}

// What it looks like, for fixtures that have an after.
func TestGolden(t *testing.T) {
	for _, f := range fixtures(t) {
		if f.file("after") == nil {
			continue
		}
		o := home(t, f.before())
		ways["asked"](&o)
		p := apply(t, Install, o)
		got := p.After
		if slices.Contains(f.flags, "crlf") {
			if bytes.Contains(bytes.ReplaceAll(got, []byte("\r\n"), nil), []byte("\n")) {
				t.Errorf("%s: line breaks of two kinds", f.name)
			}
			got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n"))
		}
		got = bytes.TrimPrefix(got, bom)
		if !bytes.HasSuffix(got, []byte("\n")) {
			got = append(slices.Clone(got), '\n')
		}
		i := slices.IndexFunc(f.ar.Files, func(x txtar.File) bool { return x.Name == "after" })
		if *update {
			f.ar.Files[i].Data = got
			if err := os.WriteFile("testdata/"+f.name+".txtar", txtar.Format(f.ar), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		wantSame(t, f.name, got, f.file("after"))
	}
}

// Without the memory uninstall knows its own by sight.
func TestUninstallWithoutMemory(t *testing.T) {
	for _, f := range fixtures(t) {
		o := home(t, f.before())
		apply(t, Install, o)
		o.StateDir = t.TempDir()
		apply(t, Uninstall, o)
		got := get(t, o)
		switch {
		case f.before() == nil:
			wantSame(t, f.name, got, []byte("{}\n"))
		case !slices.Contains(f.flags, "lossy"):
			wantSame(t, f.name, got, f.before())
		default:
			if s, _ := Read(settingsPath(o)); s.Err != nil || slices.ContainsFunc(s.Hooks, func(h Hook) bool { return h.Ours }) {
				t.Errorf("%s: %v, or hooks are left:\n%s", f.name, s.Err, got)
			}
		}
	}
}

// Claude Code rewrites the file in a style of its own, and adds to it.
func TestUninstallAfterTheClientRewroteTheFile(t *testing.T) {
	for _, f := range fixtures(t) {
		o := home(t, f.before())
		ways["asked"](&o)
		p := apply(t, Install, o)
		put(t, o, rewritten(t, p.After))
		if again, err := Install(o); err != nil || again.Changed() {
			t.Errorf("%s: install after that changes\n%s%v", f.name, again.Diff(), err)
		}
		apply(t, Uninstall, o)
		if slices.Contains(f.flags, "lossy") || f.before() == nil {
			continue
		}
		wantSame(t, f.name, get(t, o), rewritten(t, f.before()))
	}
}

// rewritten is the text as Claude Code would write it, with an env of its own.
func rewritten(t *testing.T, b []byte) []byte {
	t.Helper()
	b = bytes.TrimSpace(bytes.TrimPrefix(b, bom))
	if len(b) == 0 {
		b = []byte("{}")
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	comma := ","
	if string(whole) == "{}" {
		comma = ""
	}
	whole = append(whole[:len(whole)-1:len(whole)-1], comma+`"z":{"DISABLE_AUTOUPDATER":"1"}}`...)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, whole, "", "  "); err != nil {
		t.Fatal(err)
	}
	return pretty.Bytes()
}

// An older install: another path, another socket, other events, other timeouts.
func TestUpgrade(t *testing.T) {
	for _, f := range fixtures(t) {
		o := home(t, f.before())
		old := o
		old.Command, old.Versions, old.CI = []string{"/old/bin/assent", "hook", "--url", "https://x.example"}, []string{Oldest}, true
		apply(t, Install, old)
		p := apply(t, Install, o)
		checkHooks(t, o, p)
		direct := home(t, f.before())
		apply(t, Install, direct)
		if x, y := decoded(t, get(t, o)), decoded(t, get(t, direct)); !reflect.DeepEqual(x, y) {
			t.Errorf("%s: an upgrade differs from an install", f.name)
		}
		apply(t, Uninstall, o)
		wantSame(t, f.name, get(t, o), f.before())
	}
}

func decoded(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, bom)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
