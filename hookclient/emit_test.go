package hookclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"assent/schemas"
)

func TestReadEmit(t *testing.T) {
	here := "/run/user/" + strconv.Itoa(os.Getuid()) + "/hookd.sock"
	for _, c := range []struct {
		args string
		env  map[string]string
		want EmitConfig
	}{
		{"post_tool_use write", nil, EmitConfig{Type: "post_tool_use", Tool: "write", Socket: here}},
		{"post_tool_use", map[string]string{"XDG_RUNTIME_DIR": "/run/me"}, EmitConfig{Type: "post_tool_use", Socket: "/run/me/hookd.sock"}},
		{"a b", map[string]string{"XDG_RUNTIME_DIR": "me"}, EmitConfig{Type: "a", Tool: "b", Socket: here}},
		{"a b", map[string]string{"XDG_RUNTIME_DIR": "/run/me", "HOOKD_SOCKET": "/s"}, EmitConfig{Type: "a", Tool: "b", Socket: "/s"}},
	} {
		got, err := ReadEmit(strings.Fields(c.args), func(name string) string { return c.env[name] })
		got.Env = nil
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %v: got %+v, %v", c.args, c.env, got, err)
		}
	}
	none := func(string) string { return "" }
	for _, args := range [][]string{nil, {""}, {"a", "b", "c"}, {"--socket", "x"}, {"a", "-x"}} {
		if _, err := ReadEmit(args, none); err == nil || errors.Is(err, ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, args := range [][]string{{"--help"}, {"a", "-h"}} {
		if _, err := ReadEmit(args, none); !errors.Is(err, ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// emitted is what arrives of a payload.
func emitted(t *testing.T, cfg EmitConfig, payload string) (line []byte, said []string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg.Socket, cfg.limit = l.Addr().String(), time.Minute
	cfg.Debug = func(line string) { said = append(said, line) }
	file := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	done := make(chan struct{})
	go func() { Emit(cfg, stdin); close(done) }()
	go func() {
		<-done
		l.SetDeadline(time.Now()) // who has sent nothing by now will not
	}()
	l.SetDeadline(time.Now().Add(time.Minute))
	conn, err := l.Accept()
	<-done
	if err != nil {
		return nil, said
	}
	defer conn.Close()
	if line, err = io.ReadAll(conn); err != nil {
		t.Fatal(err)
	}
	return line, said
}

// TestEmitBigPayload: larger than any socket's buffer, so the receiver has to read along.
func TestEmitBigPayload(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	payload := `{"x":"` + strings.Repeat("y\\n", 3<<20) + `"}`
	go func() { io.WriteString(w, payload); w.Close() }()
	go Emit(EmitConfig{Type: "post_tool_use", Socket: l.Addr().String(), Debug: func(s string) { t.Error(s) }, limit: time.Minute}, r)
	if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil { // as long as it has
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	line, err := io.ReadAll(conn)
	if err != nil || !bytes.Contains(line, []byte(payload)) {
		t.Errorf("%d bytes arrived: %v", len(line), err)
	}
}

// TestEmitQueued: a queue that is full is waited for.
func TestEmitQueued(t *testing.T) {
	addr := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: addr}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	queued := 0
	for { // until the queue is full
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: addr, Net: "unix"})
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		queued++
	}
	sent := make(chan error, 1)
	go func() { sent <- send(addr, net.Buffers{[]byte("x\n")}, time.Minute) }()
	for range queued { // take one after the other out of the queue, and leave what is sent there: that is no hurry
		c, _, err := syscall.Accept(fd)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(c)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestEmitGivesUp: a socket whose queue stays full costs a second, no more.
func TestEmitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := sendBy(func() (net.Conn, error) { return nil, syscall.EAGAIN }, net.Buffers{[]byte("x")}, plainTimeout)
		if took := time.Since(begun); !errors.Is(err, syscall.EAGAIN) || took > time.Second || took < time.Second/2 {
			t.Errorf("%v after %v", err, took)
		}
		begun = time.Now()
		ours, theirs := net.Pipe() // nobody reads
		defer theirs.Close()
		err = sendBy(func() (net.Conn, error) { return ours, nil }, net.Buffers{[]byte("x")}, plainTimeout)
		if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestEmitNothing(t *testing.T) {
	for _, payload := range []string{"", " \n\t\r\n", strings.Repeat("x", MaxPayload+1)} {
		if line, said := emitted(t, EmitConfig{Type: "x"}, payload); line != nil || len(said) != 1 {
			t.Errorf("%d bytes: sent %d, said %q", len(payload), len(line), said)
		}
	}
}

// FuzzEmit: whatever comes in, one line goes out that every JSON reader reads the same, and in it
// the payload as it was, or as a text if it was no object.
func FuzzEmit(f *testing.F) {
	for _, s := range []string{`{}`, "{\n\t\"a\":\r\n[1, 2]}\n", `{"a":"\n\u0000\ud800"}`, "no\tJSON\n\"\x00\xff\u2028", `[1]`, `"x"`, `{"a":1}{`, "{\"\xff\":1}", `{"hook\u005fevent_name":1}`} {
		f.Add(s, "post_tool_use", "write", "me")
	}
	f.Add("{}", "\"\\\n", "\xff\x7f", "\x00é")
	f.Fuzz(func(t *testing.T, payload, kind, tool, agent string) {
		cfg := EmitConfig{Type: kind, Tool: tool, Env: func(name string) string {
			if name == "CLAUDE_AGENT_ID" {
				return agent
			}
			return ""
		}}
		line := bytes.Join(envelope(&cfg, []byte(payload), time.Now()), nil)
		if len(line) == 0 {
			if strings.Trim(payload, " \t\r\n") != "" {
				t.Fatal("nothing sent")
			}
			return
		}
		if i := bytes.IndexAny(line, "\n\r"); i != len(line)-1 || bytes.IndexByte(line, 0) >= 0 {
			t.Fatalf("not one line: %q", line)
		}
		var doc struct {
			Kind    string          `json:"event_type"`
			Tool    string          `json:"tool_name"`
			Agent   string          `json:"agent_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal(line, &doc); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		if utf8.ValidString(kind) && doc.Kind != kind || utf8.ValidString(tool) && doc.Tool != tool || utf8.ValidString(agent) && doc.Agent != agent {
			t.Errorf("got %+v", doc)
		}
		if utf8.Valid(line) && kind != "" {
			if err := schemas.Validate("Envelope", line); err != nil {
				t.Errorf("%v: %s", err, line)
			}
		}
		var was, is any
		if json.Unmarshal([]byte(payload), &was) == nil {
			if _, object := was.(map[string]any); object {
				if err := json.Unmarshal(doc.Payload, &is); err != nil || !reflect.DeepEqual(was, is) {
					t.Errorf("%q became %q", payload, doc.Payload)
				}
				return
			}
		}
		var text string
		if err := json.Unmarshal(doc.Payload, &text); err != nil || utf8.ValidString(payload) && text != strings.Trim(valid(payload), " \t\r\n") {
			t.Errorf("%q became %q: %v", payload, doc.Payload, err)
		}
	})
}
