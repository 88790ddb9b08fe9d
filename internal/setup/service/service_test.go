package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	lib "github.com/kardianos/service"
)

// fakeManager stands for systemd: it writes the unit's file, and runs the brokers that tests want.
type fakeManager struct {
	lib.System
	file  string
	calls []string
	runs  bool
	// fails is a call that fails, "" for none; noStart is a text whose broker ends at once.
	fails, noStart string
	current        string // the text that runs
}

func (f *fakeManager) New(_ lib.Interface, c *lib.Config) (lib.Service, error) {
	text, _ := c.Option["SystemdScript"].(string)
	return &fakeService{m: f, text: text}, nil
}

type fakeService struct {
	lib.Service
	m    *fakeManager
	text string
}

func (s *fakeService) call(name string) error {
	s.m.calls = append(s.m.calls, name)
	if s.m.fails == name {
		return errors.New(name + " failed")
	}
	return nil
}

func (s *fakeService) Install() error {
	if err := s.call("install"); err != nil {
		return err
	}
	return os.WriteFile(s.m.file, []byte(s.text), 0o600)
}

func (s *fakeService) Start() error {
	text, _ := os.ReadFile(s.m.file)
	s.m.current, s.m.runs = string(text), string(text) != s.m.noStart
	return s.call("start")
}

func (s *fakeService) Stop() error { s.m.runs = false; return s.call("stop") }

func (s *fakeService) Uninstall() error {
	if err := s.call("uninstall"); err != nil {
		return err
	}
	return os.Remove(s.m.file)
}

func (s *fakeService) Status() (lib.Status, error) {
	if s.m.runs {
		return lib.StatusRunning, nil
	}
	return lib.StatusStopped, nil
}

// newService returns a service whose broker answers whenever the manager runs it. Its process id
// changes with each start.
func newService(t *testing.T) (*Service, *fakeManager) {
	t.Helper()
	f := &fakeManager{file: filepath.Join(t.TempDir(), "assent.service")}
	m := systemd("/home/dev", OfBroker, f)
	m.file, m.probe = f.file, []string{"true"}
	s := &Service{Manager: m, StateDir: "/state"}
	s.Look = func(context.Context) (Process, bool) {
		if !f.runs {
			return Process{}, false
		}
		starts := 0
		for _, c := range f.calls {
			if c == "start" {
				starts++
			}
		}
		return Process{PID: 100 + starts, Version: "1.0.0"}, true
	}
	return s, f
}

func unitFor(m Manager, stateDir, flag string) string {
	return m.Text(Spec{Program: "/usr/bin/assent", Args: []string{"serve", "--state-dir", stateDir, flag}})
}

func TestInstall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := newService(t)
		var prepared []bool
		install := func(text, version string) (bool, error) {
			f.calls, prepared = nil, nil
			return s.Install(t.Context(), text, version, func(runs bool) error { prepared = append(prepared, runs); return nil })
		}
		first, second := unitFor(s.Manager, s.StateDir, "--a"), unitFor(s.Manager, s.StateDir, "--b")
		for _, step := range []struct {
			name, text, version string
			changed             bool
			prepared            []bool
			calls               string
		}{
			{"new", first, "1.0.0", true, []bool{false}, "install start"},
			{"the same again", first, "1.0.0", false, nil, ""},
			{"another version", first, "2.0.0", true, []bool{true}, "stop uninstall install start"},
			{"other flags", second, "1.0.0", true, []bool{true}, "stop uninstall install start"},
		} {
			changed, err := install(step.text, step.version)
			if calls := strings.Join(f.calls, " "); err != nil || changed != step.changed || calls != step.calls || !slices.Equal(prepared, step.prepared) {
				t.Errorf("%s: changed %v, prepared %v, calls %q, %v", step.name, changed, prepared, calls, err)
			}
			if f.current != step.text {
				t.Errorf("%s: runs\n%s", step.name, f.current)
			}
		}
	})
}

// After an error there is the service from before, or none.
func TestInstallThatFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace bool
		change  func(*Service, *fakeManager)
		want    string
	}{
		{"not installed", false, func(_ *Service, f *fakeManager) { f.fails = "install" }, "install the service: systemd: install failed"},
		{"not started", false, func(_ *Service, f *fakeManager) { f.fails = "start" }, "start failed"},
		{"ends at once", false, func(s *Service, f *fakeManager) { f.noStart = unitFor(s.Manager, s.StateDir, "--new") }, "the service does not come up (it ended at once); see: journalctl --user -u assent"},
		{"replacement ends at once", true, func(s *Service, f *fakeManager) { f.noStart = unitFor(s.Manager, s.StateDir, "--new") }, "it ended at once"},
		{"never ready", true, func(s *Service, f *fakeManager) {
			ask := s.Look
			s.Look = func(ctx context.Context) (Process, bool) {
				b, ok := ask(ctx)
				return b, ok && !strings.Contains(f.current, "--new")
			}
		}, "no answer within 20 seconds"},
		{"not prepared", true, func(*Service, *fakeManager) {}, "the port is taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := newService(t)
				before := unitFor(s.Manager, s.StateDir, "--old")
				if c.replace {
					if _, err := s.Install(t.Context(), before, "1.0.0", func(bool) error { return nil }); err != nil {
						t.Fatal(err)
					}
				}
				c.change(s, f)
				changed, err := s.Install(t.Context(), unitFor(s.Manager, s.StateDir, "--new"), "1.0.0", func(bool) error {
					if c.name == "not prepared" {
						return errors.New("the port is taken")
					}
					return nil
				})
				if changed || err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, %v, want %q", changed, err, c.want)
				}
				text, err := s.Installed()
				if want := map[bool]string{true: before}[c.replace]; err != nil || text != want || f.runs != c.replace {
					t.Errorf("runs %v, %v:\n%s", f.runs, err, text)
				}
			})
		})
	}
}

// A service or a broker that is not to be replaced is left alone.
func TestInstallRefuses(t *testing.T) {
	for _, c := range []struct {
		name, file string
		broker     bool // one runs in a terminal
		probe      string
		want       string
	}{
		{"another state directory", unitFor(systemd("/", OfBroker, nil), "/other", "--x"), false, "true", "for another state directory is installed"},
		{"a file of somebody else", "[Unit]\n", false, "true", "was not written by assent"},
		{"a broker in a terminal", "", true, "true", "a broker runs already (pid 7)"},
		{"no manager", "", false, "false", "systemd does not answer (exit status 1)\nWithout one, let whatever"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := newService(t)
			s.probe = []string{c.probe}
			if c.file != "" {
				if err := os.WriteFile(f.file, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.broker {
				s.Look = func(context.Context) (Process, bool) { return Process{PID: 7}, true }
			}
			_, err := s.Install(t.Context(), unitFor(s.Manager, s.StateDir, "--new"), "1.0.0", func(bool) error { t.Error("prepared"); return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) || len(f.calls) > 0 {
				t.Errorf("%v, %q", err, f.calls)
			}
		})
	}
}

func TestStatusAndRemove(t *testing.T) {
	s, f := newService(t)
	if st := s.Status(t.Context()); st.Installed || st.Running || st.Ready || st.Problem != "" || st.Unit != f.file || st.Down() {
		t.Errorf("none: %+v", st)
	}
	if was, err := s.Remove(t.Context()); was || err != nil {
		t.Errorf("remove none: %v, %v", was, err)
	}
	if _, err := s.Install(t.Context(), unitFor(s.Manager, s.StateDir, "--x"), "1.0.0", func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(t.Context()); !st.Installed || !st.Running || !st.Ready || st.Problem != "" || st.Linger == nil || st.Down() {
		t.Errorf("running: %+v", st)
	}
	f.runs = false
	if st := s.Status(t.Context()); !st.Installed || st.Running || st.Ready || !st.Down() {
		t.Errorf("stopped: %+v", st)
	}
	other := *s
	other.StateDir = "/other"
	if st := other.Status(t.Context()); st.Installed || !strings.Contains(st.Problem, "for another state directory than /other") {
		t.Errorf("another's: %+v", st)
	}
	s.probe = []string{"false"}
	if st := s.Status(t.Context()); !st.Installed || st.Running || !strings.Contains(st.Problem, "does not answer") {
		t.Errorf("no manager: %+v", st)
	}
	if was, err := s.Remove(t.Context()); !was || err == nil {
		t.Errorf("remove without a manager: %v, %v", was, err)
	}
	s.probe = []string{"true"}
	if was, err := s.Remove(t.Context()); !was || err != nil {
		t.Errorf("remove: %v, %v", was, err)
	}
	if text, err := s.Installed(); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFindNeedsAHome(t *testing.T) {
	if _, err := Find(func(string) string { return "" }, OfBroker); !errors.Is(err, errNoManager) {
		t.Error(err)
	}
}
