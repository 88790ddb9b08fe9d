package executor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/hook"
	"assent/internal/host/process"
)

// working is a session whose process runs, with a prompt in its context and this output.
func working(t *testing.T, output string) *session {
	t.Helper()
	s, _ := workingBy(t, output)
	return s
}

// workingBy is working, with the process.
func workingBy(t *testing.T, output string) (*session, *exec.Cmd) {
	t.Helper()
	if process.ID(os.Getpid()) == "" {
		t.Skip("this system does not name processes")
	}
	dir := filepath.Join(t.TempDir(), two)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, inFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{outFile: output, journalFile: ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{mark + "=" + two, placeMark + "=" + filepath.Dir(dir)}
	for name, f := range map[string]func(*os.File){inFile: func(f *os.File) { cmd.Stdin = f }, outFile: func(f *os.File) { cmd.Stdout = f }} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		f(file)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	h := &Host{
		cfg: Config{Dir: filepath.Dir(dir), Home: t.TempDir(), Logf: t.Logf}, wake: make(chan struct{}, 1), sessions: map[string]*session{}, said: map[string]time.Time{},
		timeouts: map[string]time.Duration{}, children: map[int]bool{},
	}
	s := &session{h: h, dir: dir, meta: meta{Session: two, Agent: "coder"}, book: book{fresh: true}}
	h.timeouts["coder"] = time.Hour
	h.sessions[two] = s
	var err error
	if s.journal, err = testJournal(filepath.Join(dir, journalFile), func(entry) {}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, e := range []entry{
		{At: now, Order: &Order{ID: one, Session: two, Kind: hook.MessagePrompt, Prompt: "x"}},
		{At: now, Message: one, State: confirmed},
		{At: now, Process: &began{PID: cmd.Process.Pid, ID: process.ID(cmd.Process.Pid)}},
		{At: now, Message: one, State: started},
	} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	s.tickedAt, s.idleSince = now, now
	if err := s.openFiles(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.closeFiles(); _ = s.journal.close() })
	h.mu.Lock()
	t.Cleanup(h.mu.Unlock)
	return s, cmd
}

// However large an agent makes its output, little of it is read before others have their turn, and the agent is stopped.
func TestOutputWithoutEnd(t *testing.T) {
	s := working(t, "")
	if err := os.Truncate(filepath.Join(s.dir, outFile), 1<<40); err != nil { // of which nothing is on the disk
		t.Skip(err)
	}
	for more := true; more; {
		before := s.lines.End()
		if more = s.read(time.Now()); s.lines.End()-before > maxRead+streamjson.MaxFill {
			t.Fatalf("%d bytes were read at once", s.lines.End()-before)
		}
	}
	if s.lines.End() > maxOutput+streamjson.MaxFill {
		t.Errorf("%d bytes were read", s.lines.End())
	}
	if s.limits(time.Now()); s.stopping != "EXIT" {
		t.Errorf("the agent is not stopped: %q", s.stopping)
	}
}

// What a process wrote before its end counts, also where that is more than is read at once.
func TestAllOfAnEndedProcessIsRead(t *testing.T) {
	s := working(t, strings.Repeat("\n", 2*maxLines)+`{"type":"result","subtype":"success","result":"done"}`+"\n")
	_ = syscall.Kill(s.process.PID, syscall.SIGKILL)
	for s.runs {
		s.poll(time.Now())
	}
	if m := s.find(one); m.outcome != hook.OutcomeCompleted || m.result != "done" {
		t.Errorf("it is %s, %s, %q", m.outcome, m.code, m.result)
	}
}

// One line has few calls noted, each of which waits for the disk.
func TestCallsOfOneLineAreBounded(t *testing.T) {
	s := working(t, "")
	var calls, answers []string
	for i := range 10 * maxOpening {
		calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"gh pr create"}}`, i))
		answers = append(answers, `{"type":"tool_result","tool_use_id":"t1","content":"https://example.net/a/b/pull/1"}`)
	}
	line := func(kind string, blocks []string) {
		t.Helper()
		e, err := streamjson.Parse([]byte(`{"type":"` + kind + `","message":{"content":[` + strings.Join(blocks, ",") + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		before := s.journal.size
		if s.event(time.Now(), e); s.journal.size-before > maxOpening*400 || s.journal.size == before {
			t.Errorf("%s: %d bytes of journal", kind, s.journal.size-before)
		}
	}
	line("assistant", calls)
	s.opening = []opening{{id: "t1"}}
	line("user", answers)
}
