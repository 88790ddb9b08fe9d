package installer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"assent/internal/agent/claude/install"
)

// scene is one user's home with what an install for an agent is about.
type scene struct {
	t    *testing.T
	o    install.Options
	path string
}

func newScene(t *testing.T, agent string, before []byte) scene {
	t.Helper()
	home := t.TempDir()
	o, err := Options(agent, env(map[string]string{"HOME": home}), t.TempDir(), []string{"/opt/it's here/assent-hook", "--socket", "/run/a.sock"}, Choices{})
	if err != nil {
		t.Fatal(err)
	}
	s := scene{t, o, o.Format.Path}
	if before != nil {
		s.write(before)
	}
	return s
}

func (s scene) write(b []byte) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(s.path), 0o700)
	if err == nil {
		err = os.WriteFile(s.path, b, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// read is the file; nil: there is none.
func (s scene) read() []byte {
	s.t.Helper()
	b, err := os.ReadFile(s.path)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return b
}

func (s scene) apply(plan install.Plan, err error) install.Plan {
	s.t.Helper()
	if err == nil {
		_, err = plan.Apply()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

// configurations are settings as people have them, by name: comments, tabs, CRLF, a BOM, no end of the last
// line, hooks of other tools.
func configurations(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../agent/claude/install/testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	all := map[string][]byte{
		"empty object": []byte("{}"), "none": nil,
		"comments":           []byte("// mine\n{\n  // a\n  \"a\": 1, /* one */\n  \"hooks\": {\n    // bell\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]}] // end\n  }\n} // bye\n"),
		"comments alone":     []byte("{ /* nothing yet */ }\n"),
		"comments and CRLF":  []byte("{\r\n\t// a\r\n\t\"a\": 1\r\n}\r\n"),
		"a comma at the end": []byte("{\"a\": 1,}\n"),
	}
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name != "before" {
				continue
			}
			b := f.Data
			for word, change := range map[string]func([]byte) []byte{
				"crlf":  func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) },
				"chomp": func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) },
			} {
				if bytes.Contains(a.Comment, []byte(word)) {
					b = change(b)
				}
			}
			if bytes.Contains(a.Comment, []byte("bom")) {
				b = append([]byte("\xef\xbb\xbf"), b...)
			}
			all[filepath.Base(p)] = b
		}
	}
	return all
}

// Of an agent whose settings are edited every foreign byte stays, a second install changes nothing, and an
// uninstall puts every byte back.
func TestSettingsRoundTrip(t *testing.T) {
	for _, agent := range []string{"codex", "qwen", "droid"} {
		tried := 0
		for name, before := range configurations(t) {
			t.Run(agent+"/"+name, func(t *testing.T) {
				s := newScene(t, agent, before)
				plan, err := install.Install(s.o)
				if reads := readsFile(agent, name, before); reads && err != nil || !reads && err == nil {
					t.Errorf("the agent reads it: %v, and install: %v", reads, err)
				}
				if err != nil {
					if !bytes.Equal(s.read(), before) {
						t.Error("refused, and changed")
					}
					return
				}
				tried++
				s.apply(plan, nil)
				if !bytes.Contains(s.read(), []byte("--agent "+agent)) && !bytes.Contains(s.read(), []byte("'--agent' '"+agent)) {
					t.Errorf("no hooks in\n%s", s.read())
				}
				if again, err := install.Install(s.o); err != nil || again.Changed() {
					t.Errorf("a second install changes it: %v", err)
				}
				s.apply(install.Uninstall(s.o))
				if got := s.read(); !bytes.Equal(got, before) {
					t.Errorf("uninstall left\n%s\nwant\n%s", got, before)
				}
			})
		}
		if tried < 20 {
			t.Errorf("%s: %d files were tried", agent, tried)
		}
	}
}

// readsFile is whether an agent reads such a file, as its real program was seen to: what it does not read it ignores as a
// whole, and no hooks are written into it.
func readsFile(agent, name string, b []byte) bool {
	switch {
	case strings.HasPrefix(name, "comments"):
		return agent != "codex"
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return agent == "qwen"
	}
	return name != "a comma at the end"
}

// A file that is assent's alone is written and removed where nobody else wrote it or changed it since. That it
// speaks of assent proves nothing.
func TestWholeFiles(t *testing.T) {
	for _, agent := range []string{"opencode", "kilo", "copilot"} {
		t.Run(agent, func(t *testing.T) {
			s := newScene(t, agent, nil)
			s.apply(install.Install(s.o))
			ours := s.read()
			if len(ours) == 0 || !bytes.Equal(ours, s.o.Format.Whole) {
				t.Fatalf("wrote %q", ours)
			}
			if again, err := install.Install(s.o); err != nil || again.Changed() {
				t.Errorf("a second install changes it: %v", err)
			}
			later := s.o // of another version, at another place
			format := *s.o.Format
			format.Whole = bytes.ReplaceAll(ours, []byte("/run/a.sock"), []byte("/run/b.sock"))
			later.Format = &format
			s.apply(install.Install(later))
			if !bytes.Equal(s.read(), format.Whole) {
				t.Error("a newer one was not written")
			}
			s.apply(install.Uninstall(s.o))
			if s.read() != nil {
				t.Error("uninstall left it")
			}
			for name, theirs := range map[string][]byte{
				"edited":         append(bytes.Clone(ours), "// mine\n"...),
				"foreign":        []byte("// asks the other assent, and is nobody else's business\n"),
				"empty":          {},
				"another's":      []byte("{}\r\n"),
				"of assent, cut": ours[:len(ours)/2],
			} {
				s := newScene(t, agent, theirs)
				if _, err := install.Install(s.o); err == nil || !strings.Contains(err.Error(), s.path) {
					t.Errorf("%s: written over: %v", name, err)
				}
				plan := s.apply(install.Uninstall(s.o))
				if !bytes.Equal(s.read(), theirs) || len(plan.Notes) == 0 {
					t.Errorf("%s: uninstall left %q, notes %v", name, s.read(), plan.Notes)
				}
			}
			// The same file from before its memory was lost is known by its bytes.
			s = newScene(t, agent, nil)
			s.write(s.o.Format.Whole)
			s.apply(install.Uninstall(s.o))
			if s.read() != nil {
				t.Error("uninstall without a memory left it")
			}
		})
	}
}
