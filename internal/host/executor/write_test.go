package executor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/host/process"
)

// full fills the pipe of a session, as its agent can, and returns it for reading.
func full(t *testing.T, s *session) *os.File {
	t.Helper()
	fd, err := syscall.Open(filepath.Join(s.dir, inFile), syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, atOnce))
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), inFile)
	t.Cleanup(func() { f.Close() })
	return f
}

// An agent that does not read what it is told is stopped by the first line that it does not read, whatever that is.
func TestAgentThatDoesNotReadIsStopped(t *testing.T) {
	for what, say := range map[string]func(*session){
		"a request for what was spent": func(s *session) { s.event(time.Now(), streamjson.Event{Kind: streamjson.Says, Call: "msg_1"}) },
		"an interrupt":                 func(s *session) { s.write(time.Now(), streamjson.Interrupt("x")) },
	} {
		t.Run(what, func(t *testing.T) {
			s := working(t, "")
			full(t, s)
			say(s)
			if s.stopping != "EXIT" || s.forced != 3 || process.Look(s.process.PID, s.process.ID) == process.Runs {
				t.Errorf("%q, %d", s.stopping, s.forced)
			}
		})
	}
}

// While a prompt waits for an agent that reads late, everything can be stopped.
func TestFullPipeDelaysNoStop(t *testing.T) {
	s := working(t, "")
	pipe := full(t, s)
	read := make(chan []byte, 1)
	go func() {
		s.h.Halt(true) // comes to its end although the prompt waits
		var all []byte
		for buf := make([]byte, 64<<10); !bytes.HasSuffix(all, []byte("\n")); {
			n, err := pipe.Read(buf)
			if err != nil {
				break
			}
			all = append(all, buf[:n]...)
		}
		read <- all
	}()
	if line := bytes.Repeat([]byte("x"), 2*atOnce); !s.write(time.Now(), append(line, '\n')) {
		t.Error("it was not written")
	}
	if all := <-read; !bytes.HasSuffix(all, []byte("x\n")) || s.stopping != "CANCELLED" {
		t.Errorf("%d bytes, %q", len(all), s.stopping)
	}
}

// What became of a turn is not said twice.
func TestBesides(t *testing.T) {
	for why, want := range map[string]string{"": "", "cancelled": "", "the machine was stopped": ": the machine was stopped"} {
		if got := besides("cancelled", why); got != want {
			t.Errorf("beside %q: %q, want %q", why, got, want)
		}
	}
}
