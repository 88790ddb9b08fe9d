package executor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
	"assent/internal/host/process"
)

// An agent whose session's files are no longer those that its host works with is stopped: the next host would not know
// of it, or this one reads and writes where nobody is.
func TestAgentWhoseFilesAreReplacedIsStopped(t *testing.T) {
	for name, change := range map[string]func(s *session) error{
		"the directory is removed": func(s *session) error { return os.RemoveAll(s.dir) },
		"the directory is moved":   func(s *session) error { return os.Rename(s.dir, s.dir+"x") },
		"the journal is removed":   func(s *session) error { return os.Remove(filepath.Join(s.dir, journalFile)) },
		"the journal is emptied":   func(s *session) error { return os.Truncate(filepath.Join(s.dir, journalFile), 0) },
		"the journal is copied": func(s *session) error {
			path := filepath.Join(s.dir, journalFile)
			text, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, text, 0o600))
		},
		"the output is removed": func(s *session) error { return os.Remove(filepath.Join(s.dir, outFile)) },
		"the output is cut off": func(s *session) error { return os.Truncate(filepath.Join(s.dir, outFile), 1) },
		"the pipe is another": func(s *session) error {
			path := filepath.Join(s.dir, inFile)
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := working(t, "{}\n{}\n")
			s.read(time.Now())
			if s.limits(time.Now()); s.stopping != "" {
				t.Fatalf("before: %s", s.stopWhy)
			}
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if s.limits(time.Now().Add(2 * lookEvery)); s.forced != 3 || process.Look(s.process.PID, s.process.ID) == process.Runs {
				t.Errorf("%q, %d", s.stopping, s.forced)
			}
		})
	}
}

// Where that is noticed because there is something to note, it is the same, and the broker hears that it is not known what
// becomes of the message.
func TestNothingIsNotedInARemovedJournal(t *testing.T) {
	s := working(t, "")
	if err := os.Remove(filepath.Join(s.dir, journalFile)); err != nil {
		t.Fatal(err)
	}
	if err := s.note(entry{At: time.Now(), Message: one, State: ended, Outcome: hook.OutcomeCompleted}); !errors.Is(err, errDamaged) {
		t.Error(err)
	}
	if s.forced != 3 || process.Look(s.process.PID, s.process.ID) == process.Runs {
		t.Errorf("%q, %d", s.stopping, s.forced)
	}
	if len(s.h.extra) != 1 || s.h.extra[0].Type != api.HostLost || s.h.extra[0].Message != one {
		t.Errorf("%+v", s.h.extra)
	}
	s.poll(time.Now()) // its end is noticed, and nothing else happens
	if all, _, _ := s.h.live("coder"); all != 0 || s.in != nil {
		t.Errorf("it keeps %d places", all)
	}
}

// A process that cannot be told to end is killed also where the journal is only full.
func TestFullJournalStopsForCertain(t *testing.T) {
	s := working(t, "")
	_ = syscall.Kill(s.process.PID, syscall.SIGSTOP)
	s.journal.size = maxJournal
	now := time.Now()
	if err := s.note(entry{At: now, Message: one, State: started}); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if s.forced != 2 {
		t.Errorf("%q, %d", s.stopping, s.forced)
	}
	if s.poll(now.Add(graceTime + 2*time.Second)); process.Look(s.process.PID, s.process.ID) == process.Runs {
		t.Errorf("it runs: %q, %d", s.stopping, s.forced)
	}
}

// What a journal says that an agent wrote is held against the kernel: whatever else works for the session ends.
func TestNextHostFindsWhatWorks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *session) error
		goesOn bool
	}{
		"nothing":                  {func(*session) error { return nil }, true},
		"the directory is removed": {func(s *session) error { return os.RemoveAll(s.dir) }, false},
		"both files are removed": {func(s *session) error {
			return errors.Join(os.Remove(filepath.Join(s.dir, metaFile)), os.Remove(filepath.Join(s.dir, journalFile)))
		}, false},
		"the journal is removed":           {func(s *session) error { return os.Remove(filepath.Join(s.dir, journalFile)) }, false},
		"the journal says that it is over": {func(s *session) error { return s.note(entry{At: time.Now(), Exit: &exit{}}) }, false},
		"it names another process": {func(s *session) error {
			return s.note(entry{At: time.Now(), Process: &began{PID: os.Getpid(), ID: process.ID(os.Getpid())}})
		}, false},
		"the output is another": {func(s *session) error {
			path := filepath.Join(s.dir, outFile)
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, cmd := workingBy(t, "")
			if err := os.WriteFile(filepath.Join(s.dir, metaFile), []byte(`{"session":"`+two+`","agent":"coder"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			other := exec.Command("sleep", "601")
			other.Env = []string{mark + "=" + one, placeMark + "=/another/place"}
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
			pid, id := cmd.Process.Pid, process.ID(cmd.Process.Pid)
			if err := c.change(s); err != nil {
				t.Fatal(err)
			}
			h, err := Open(Config{
				Dir: s.h.cfg.Dir, Home: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) { return optin.File{}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if goesOn := process.Look(pid, id) == process.Runs; goesOn != c.goesOn {
				t.Errorf("it goes on: %t", goesOn)
			}
			if process.Look(other.Process.Pid, process.ID(other.Process.Pid)) != process.Runs {
				t.Error("what another host started was killed")
			}
			if s := h.sessions[two]; s != nil && s.runs != c.goesOn {
				t.Errorf("it is said to run: %t", s.runs)
			}
		})
	}
}

// However many sessions somebody makes, those that work are taken up.
func TestManyDirectoriesHideNoAgent(t *testing.T) {
	s, cmd := workingBy(t, "")
	if err := os.WriteFile(filepath.Join(s.dir, metaFile), []byte(`{"session":"`+two+`","agent":"coder"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		id := uuid.NewString()
		dir := filepath.Join(s.h.cfg.Dir, id)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, journalFile), nil, 0o600), os.Truncate(filepath.Join(dir, journalFile), maxJournals/10)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Open(Config{Dir: s.h.cfg.Dir, Home: t.TempDir(), Logf: func(string, ...any) {}, File: func() (optin.File, error) { return optin.File{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if s := h.sessions[two]; s == nil || !s.runs || process.Look(cmd.Process.Pid, process.ID(cmd.Process.Pid)) != process.Runs {
		t.Errorf("%+v", s)
	}
}
