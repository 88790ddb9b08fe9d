package executor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
)

// A process without work is ended after an hour, as a person would end it, and not before.
func TestIdleProcessEnds(t *testing.T) {
	s, cmd := workingBy(t, "")
	now := time.Now()
	s.end(now, s.find(one), hook.OutcomeCompleted, "", "", "")
	if s.limits(now.Add(idleTime - time.Second)); s.stopping != "" {
		t.Errorf("ended early: %s", s.stopWhy)
	}
	if s.limits(now.Add(idleTime + lookEvery)); s.stopping != "EXIT" || s.forced != 1 {
		t.Errorf("%q, %q", s.stopping, s.stopWhy)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

// That an agent waits for a person says a file that the agent can write: it does not wait for ever, whichever host counts.
func TestWaitingIsBounded(t *testing.T) {
	s := working(t, "")
	start, _, _ := strings.Cut(s.process.ID, ".")
	path := filepath.Join(s.h.cfg.Home, ".claude", "sessions", "1.json")
	text := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"procStart":%q,"kind":"sdk","status":"waiting"}`, s.process.PID, two, start)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.limits(now)
	hours := 0
	for ; s.stopping == "" && hours < 1000; hours++ {
		now = now.Add(time.Hour)
		s.limits(now)
	}
	if want := int((maxWaited + time.Hour).Hours()); s.stopping != "TIMEOUT" || hours < want || hours > want+1 {
		t.Errorf("%q after %d hours", s.stopping, hours)
	}
	again := book{fresh: true}
	j, err := openJournal(filepath.Join(s.dir, journalFile), again.apply)
	if err != nil {
		t.Fatal(err)
	}
	j.close()
	if left := s.active + s.waited - again.active - again.waited; left > 2*time.Hour {
		t.Errorf("the next host does not know of %v", left)
	}
	again.apply(entry{Order: &Order{ID: two, Kind: hook.MessagePrompt}})
	if again.apply(entry{Message: two, State: started, Waited: again.waited}); again.waited != 0 {
		t.Errorf("another turn has waited for %v", again.waited)
	}
}

// A host that cannot read agents.yaml holds what runs to the time that the file gave it when it was started.
func TestTimeWhereTheFileIsBroken(t *testing.T) {
	s := working(t, "")
	s.h.timeouts = map[string]time.Duration{}
	file, broken := optin.File{}, errors.New("line 3: no such key")
	s.h.cfg.File = func() (optin.File, error) { return file, broken }
	m := s.find(one)
	for _, started := range []time.Duration{0, time.Minute, 5 * time.Hour} {
		s.process.Timeout = started
		if got, want := s.timeout(m), cmp.Or(started, time.Hour); got != want {
			t.Errorf("started with %v: %v, want %v", started, got, want)
		}
	}
	broken = nil
	if got := s.timeout(m); got != time.Hour {
		t.Errorf("the file does not name the agent: %v", got)
	}
	file.Agents = []optin.Agent{{Name: "coder", Timeout: 2 * time.Hour}}
	if got := s.timeout(m); got != 2*time.Hour {
		t.Errorf("the file names the agent: %v", got)
	}
}

// A session is not begun a second time in a place that looks like the one it had.
func TestSessionWithoutItsPlace(t *testing.T) {
	project := t.TempDir()
	s := &session{meta: meta{Session: two, Project: project, Worktree: "assent-x"}}
	if why := s.gone(); why != "" {
		t.Errorf("it has not begun: %s", why)
	}
	if s.known = true; !strings.Contains(s.gone(), "work tree is gone") {
		t.Errorf("%q", s.gone())
	}
	if err := os.MkdirAll(filepath.Join(project, ".claude/worktrees/assent-x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if why := s.gone(); why != "" {
		t.Errorf("it is there: %s", why)
	}
	// Another place that it leads to is not shown as what the session changed, nor gone on with.
	tree := filepath.Join(project, ".claude/worktrees/assent-x")
	if err := errors.Join(os.Remove(tree), os.Symlink(t.TempDir(), tree)); err != nil {
		t.Fatal(err)
	}
	if s.workDir() != project || !strings.Contains(s.gone(), "work tree is gone") {
		t.Errorf("a link: %q, %q", s.workDir(), s.gone())
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(project, ".claude/worktrees")), os.Symlink(t.TempDir(), filepath.Join(project, ".claude/worktrees"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.workDir() != project {
		t.Errorf("a link on the way: %q", s.workDir())
	}
}

// While the journal cannot be written nothing is said twice, and once it can be the session goes on.
func TestJournalIsRepaired(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, journalFile)
	j, err := testJournal(path, func(entry) {})
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{cfg: Config{Dir: dir, Logf: t.Logf}, wake: make(chan struct{}, 1), sessions: map[string]*session{}}
	s := &session{h: h, dir: dir, meta: meta{Session: two}, journal: j, book: book{fresh: true}}
	h.sessions[two] = s
	if err := s.note(entry{Order: &Order{ID: one, Session: two, Kind: hook.MessagePrompt}}); err != nil {
		t.Fatal(err)
	}
	works := j.f
	if j.f, err = os.Open(path); err != nil { // for reading only
		t.Fatal(err)
	}
	if h.Acked(frameID(one, "taken"), true); s.broken == nil || s.find(one).state != claimed || len(s.frames()) != 0 {
		t.Errorf("%v, %s, %v", s.broken, s.find(one).state, s.frames())
	}
	now := time.Now()
	if s.tryJournal(now); s.broken == nil {
		t.Error("it counts as repaired without a look")
	}
	j.f.Close()
	j.f = works
	if s.tryJournal(now.Add(time.Second)); s.broken == nil {
		t.Error("it was tried again too soon")
	}
	if s.tryJournal(now.Add(lookEvery)); s.broken != nil {
		t.Error(s.broken)
	}
	if len(s.frames()) != 1 {
		t.Errorf("%v", s.frames())
	}
	if h.Acked(frameID(one, "taken"), true); s.find(one).state != confirmed {
		t.Errorf("acknowledged again it is %s", s.find(one).state)
	}
	j.close()
}
