package inbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assent/internal/host/process"
)

// startOf is when a process began, as a session's file says it.
func startOf(pid int) string {
	start, _, _ := strings.Cut(process.ID(pid), ".")
	return start
}

// session listens as a session of this process does, and returns its directory of files, its file and what
// it gets.
func session(t *testing.T, s Session) (dir string, file Session, got <-chan string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell which process listens")
	}
	root := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(root, "i.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text, _ := bufio.NewReader(c).ReadString('\n')
		lines <- text
	}()
	if s.PID == 0 {
		s.PID = os.Getpid()
	}
	if s.ProcStart == "" {
		s.ProcStart = startOf(s.PID)
	}
	if s.Socket == "" {
		s.Socket = l.Addr().String()
	}
	s.SessionID = "25e5a0e9"
	dir = filepath.Join(root, "sessions")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "1.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"2.json": "{", "3.json": `{"sessionId":"another"}`, "4.key": string(b)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, s, lines
}

// The session gets one line, as its client wants it.
func TestSend(t *testing.T) {
	dir, _, got := session(t, Session{})
	s, err := Find(dir, "25e5a0e9")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send("m1", "a\n\"b\""); err != nil {
		t.Fatal(err)
	}
	const want = `{"msgV":1,"msg_id":"m1","type":"user","message":{"role":"user","content":"a\n\"b\""},"priority":"next"}` + "\n"
	if line := <-got; line != want {
		t.Errorf("it got %s", line)
	}
	if _, err := Find(dir, "2"); !errors.Is(err, ErrNone) {
		t.Errorf("an unknown session: %v", err)
	}
	if _, err := Find(filepath.Join(dir, "none"), "25e5a0e9"); !errors.Is(err, ErrNone) {
		t.Errorf("no directory: %v", err)
	}
}

// Nothing is sent where the kernel does not confirm what the file says.
func TestOnlyTheSessionsOwnSocket(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Session
		edit func(t *testing.T, dir string, s *Session)
	}{
		{"the process began at another time", Session{ProcStart: "1"}, nil},
		{"another process listens", Session{PID: os.Getppid()}, nil},
		{"the file is a link", Session{}, func(t *testing.T, dir string, _ *Session) {
			old := filepath.Join(dir, "1.json")
			if err := os.Rename(old, filepath.Join(dir, "elsewhere")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("elsewhere", old); err != nil {
				t.Fatal(err)
			}
		}},
		{"the socket is a link", Session{}, func(t *testing.T, dir string, s *Session) {
			link := filepath.Join(dir, "link")
			if err := os.Symlink(s.Socket, link); err != nil {
				t.Fatal(err)
			}
			s.Socket = link
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "1.json"), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"the socket is a file", Session{Socket: "/etc/hostname"}, nil},
		{"nobody listens", Session{Socket: "/nonexistent"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, file, _ := session(t, c.s)
			if c.edit != nil {
				c.edit(t, dir, &file)
			}
			s, err := Find(dir, "25e5a0e9")
			if err == nil {
				var line *Conn
				if line, err = Dial(t.Context(), s); line != nil {
					line.Close()
				}
			}
			if !errors.Is(err, ErrNone) {
				t.Errorf("%v", err)
			}
		})
	}
}
