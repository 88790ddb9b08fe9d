package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/hook"
)

// What an agent wrote is cut off and written anew while its host is stopped, so that more stands there than was read: the two
// halves of a line are none, nothing that follows is believed, and the agent is stopped.
func TestOutputThatWasCutOffIsNotBelieved(t *testing.T) {
	const half = `{"type":"result","subtype":"success","result":"`
	for name, x := range map[string]struct{ before, after string }{
		"half a line goes on":       {half, strings.Repeat(" ", len(half)) + `nobody said this"}` + "\n"},
		"a line begins right there": {"{}\n", "xx" + "\n" + half + `nobody said this"}` + "\n"},
		"all of it is shorter":      {half, "{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := working(t, x.before)
			if s.poll(time.Now()); s.stopping != "" {
				t.Fatalf("before: %s", s.stopWhy)
			}
			path := filepath.Join(s.dir, outFile)
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(x.after); err != nil {
				t.Fatal(err)
			}
			s.poll(time.Now().Add(2 * lookEvery))
			s.poll(time.Now().Add(4 * lookEvery))
			if m := s.find(one); m.outcome == hook.OutcomeCompleted || m.result != "" {
				t.Errorf("it is said to have %s: %q", m.outcome, m.result)
			}
			if m := s.find(one); s.stopping != "REFUSED" && m.code != "REFUSED" {
				t.Errorf("it is not stopped: %q, %q", s.stopping, m.code)
			}
		})
	}
}

// The next host takes it for cut off as well: its journal says up to where it was read, which is the end of a line.
func TestTheNextHostSeesThatOutputWasCutOff(t *testing.T) {
	s := working(t, "{}\n{}\n")
	s.read(time.Now())
	if err := s.note(entry{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	s.closeFiles()
	text := `{"x":` + `{"type":"result","subtype":"success","result":"nobody said this"}` + "\n}\n"
	if err := os.Truncate(filepath.Join(s.dir, outFile), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, outFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.attach(time.Now())
	s.poll(time.Now().Add(2 * lookEvery))
	if m := s.find(one); m.outcome == hook.OutcomeCompleted || s.stopping != "REFUSED" && m.code != "REFUSED" {
		t.Errorf("%q, %q, %q", m.outcome, m.code, s.stopping)
	}
}

// A host that was stopped for long has much to read when it goes on. Until it has, time says nothing: what the agent wrote in
// time counts as that.
func TestAHostThatWasStoppedReadsFirst(t *testing.T) {
	answer := `{"type":"result","subtype":"success","result":"done"}` + "\n"
	s := working(t, strings.Repeat("\n", 2*maxLines)+answer)
	late := time.Now().Add(2 * time.Hour) // than its session may work
	for s.turn() != nil {
		if s.poll(late); s.stopping != "" {
			t.Fatalf("%s: %s", s.stopping, s.stopWhy)
		}
	}
	if m := s.find(one); m.outcome != hook.OutcomeCompleted || m.result != "done" {
		t.Errorf("it is %s, %s, %q", m.outcome, m.code, m.result)
	}
	// One that is given a prompt may have said that it has it.
	s = working(t, strings.Repeat("\n", 2*maxLines)+`{"type":"command_lifecycle","command_uuid":"`+one+`","state":"started"}`+"\n")
	s.find(one).state, s.find(one).at = written, time.Now()
	late = time.Now().Add(2 * receiptTime)
	for s.find(one).state == written {
		s.poll(late)
	}
	if m := s.find(one); m.state != started {
		t.Errorf("it is %s: %s", m.state, m.why)
	}
	// It does not wait for ever for one that writes without end.
	s = working(t, strings.Repeat("\n", 10*maxLines))
	s.poll(late)
	if s.poll(late.Add(2*catchUpTime + time.Hour)); s.stopping != "TIMEOUT" {
		t.Errorf("it is not stopped: %q", s.stopping)
	}
}

// While a line is taken apart, which may be as long as the agent likes, whoever wants to list or to cancel need not wait.
func TestLinesAreTakenApartWithoutTheLock(t *testing.T) {
	s := working(t, `{"type":"result","subtype":"success","result":"done"}`+"\n")
	free := false
	parse = func(text []byte) (streamjson.Event, error) {
		if free = s.h.mu.TryLock(); free {
			s.h.mu.Unlock()
		}
		return streamjson.Parse(text)
	}
	defer func() { parse = streamjson.Parse }()
	s.read(time.Now())
	if m := s.find(one); !free || m.outcome != hook.OutcomeCompleted {
		t.Errorf("free: %t; %s", free, m.outcome)
	}
}
