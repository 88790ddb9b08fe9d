package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/hook"
)

// A signal ends the wait: the broker sees the connection close, the agent sees status 0 and
// no output, not even the denial it was promised for failures.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{}, 1)
			b := newBroker(t, socketPath(t), hold(gone))
			p := command(t, ask, "--socket", b.socket, "--on-failure", "deny", "--on-timeout", "deny")
			p.start(t)
			<-b.calls
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			<-gone
			p.finish(t, "")
		})
	}
}

// A signal while nobody accepts must end the retries too.
func TestSignalBetweenAttempts(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	p := command(t, ask, "--socket", socket, "--on-timeout", "deny", "--on-failure", "deny")
	p.start(t)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Read(make([]byte, 10)) // it has begun to send
	l.Close()                       // removes the file
	c.Close()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.finish(t, "")
}

// An event that a hung broker does not take is spooled after its second.
func TestHungBrokerSpoolsPlainEvent(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 1)
	b := newBroker(t, socketPath(t), hold(gone))
	var p *proc
	for p == nil || len(b.calls) == 0 { // its second may be over before it gets there
		p = command(t, plain, "--socket", b.socket, "--on-timeout", "deny")
		p.run(t, "")
	}
	<-gone
	if n := len(p.spooled(t, b.socket)); n != 1 {
		t.Errorf("%d events spooled", n)
	}
}

// A form that a broker holds is waited for longer than a plain event, but never denied: when the
// time is up the agent shows its own.
func TestFormIsWaitedFor(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	b := newBroker(t, socketPath(t), func(w http.ResponseWriter, r *http.Request) {
		<-let
		status(200, accept)(w, r)
	})
	p := command(t, form, "--socket", b.socket)
	p.start(t)
	got := <-b.calls
	if ms, err := strconv.Atoi(got.header.Get(hook.HeaderRemaining)); err != nil || ms < 60_000 || ms > 120_000 {
		t.Errorf("the broker is told to take %q ms", got.header.Get(hook.HeaderRemaining))
	}
	time.AfterFunc(1500*time.Millisecond, func() { close(let) }) // longer than a plain event may take
	p.finish(t, accept)

	gone := make(chan struct{}, 1)
	hung := newBroker(t, socketPath(t), hold(gone))
	var q *proc
	for q == nil || len(hung.calls) == 0 { // its time may be up before it gets there
		q = command(t, form, "--socket", hung.socket, "--timeout", "300ms", "--on-timeout", "deny", "--on-failure", "deny")
		q.run(t, "")
	}
	<-gone
	if n := len(q.spooled(t, hung.socket)); n != 1 {
		t.Errorf("%d events spooled", n)
	}
}

// The agent was killed: its end of standard output is closed, nobody signals anything.
func TestHangup(t *testing.T) {
	kinds := map[string]func(t *testing.T) (ours, theirs *os.File){
		"pipe": func(t *testing.T) (*os.File, *os.File) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		},
		"socket": func(t *testing.T) (*os.File, *os.File) {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
		},
	}
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{}, 1)
			b := newBroker(t, socketPath(t), hold(gone))
			p := command(t, ask, "--socket", b.socket, "--on-timeout", "deny", "--on-failure", "deny")
			ours, theirs := open(t)
			p.Stdout = theirs
			p.start(t)
			theirs.Close()
			<-b.calls
			ours.Close()
			<-gone
			if err := p.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Neither a closed standard input nor a standard output of any other kind is a hang-up.
func TestNoHangup(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, out := range map[string]*os.File{"file": file, "null": null, "pipe": w} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t, socketPath(t), func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
					t.Error("the hook went away")
				case <-time.After(300 * time.Millisecond):
				}
				io.WriteString(w, allow)
			})
			p := command(t, ask, "--socket", b.socket)
			p.Stdout = out
			p.start(t)
			if err := p.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	if got, err := os.ReadFile(file.Name()); err != nil || string(got) != allow {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// An answer to an agent that went away at that very moment is nobody's, and no crash.
func TestAnswerIntoClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := newBroker(t, socketPath(t), func(rw http.ResponseWriter, _ *http.Request) {
		r.Close()
		io.WriteString(rw, allow)
	})
	p := command(t, ask, "--socket", b.socket)
	p.Stdout = w
	p.start(t)
	w.Close()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// An agent that reads nothing of a large answer can still kill its hook.
func TestSignalWhileWriting(t *testing.T) {
	t.Parallel()
	b := newBroker(t, socketPath(t), status(200, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := command(t, ask, "--socket", b.socket)
	p.Stdout = w
	p.start(t)
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // that it ends is the point
}

func TestDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		stdout string
	}{
		"abstain": {nil, ""},
		"deny":    {[]string{"--on-timeout", "deny"}, late},
		"failure": {[]string{"--on-failure", "deny"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{}, 1)
			b := newBroker(t, socketPath(t), hold(gone))
			for len(b.calls) == 0 { // its time may be up before it gets there
				command(t, ask, append([]string{"--socket", b.socket, "--timeout", "300ms"}, c.args...)...).run(t, c.stdout)
			}
			<-gone
		})
	}
}

// An agent that never ends its payload is not waited for longer than for an answer.
func TestEndlessPayload(t *testing.T) {
	t.Parallel()
	b := newBroker(t, socketPath(t), status(200, allow))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	io.WriteString(w, ask)
	p := command(t, "", "--socket", b.socket, "--timeout", "200ms", "--on-timeout", "deny")
	p.Stdin = r
	p.start(t)
	r.Close()
	p.finish(t, "")
}

// The broker is killed while the hook waits, its socket file goes, comes back with nobody
// behind it, and then there is a broker again: same id, same bytes, one more attempt, less
// time, and its answer is the agent's.
func TestReattach(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	gone := make(chan struct{}, 1)
	first := newBroker(t, socket, hold(gone))
	p := command(t, ask, "--socket", socket, "--on-failure", "deny", "--timeout", "60s")
	p.start(t)
	before := <-first.calls
	first.srv.Close() // closes the connections and removes the file
	<-gone
	if err := os.WriteFile(socket, nil, 0o600); err != nil { // not even a socket
		t.Fatal(err)
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	unavailable := 2
	second := newBroker(t, socket, func(w http.ResponseWriter, _ *http.Request) {
		if unavailable--; unavailable >= 0 {
			w.WriteHeader(503)
			return
		}
		io.WriteString(w, allow)
	})
	p.finish(t, allow)
	last, remaining := 1, before.header.Get("Assent-Remaining-Ms")
	for range 3 {
		c := <-second.calls
		n, err := strconv.Atoi(c.header.Get("Assent-Attempt"))
		if err != nil || n <= last || c.body != before.body || c.header.Get("Assent-Request-Id") != before.header.Get("Assent-Request-Id") ||
			len(c.header.Get("Assent-Reattach-Secret")) != 64 || c.header.Get("Assent-Reattach-Secret") != before.header.Get("Assent-Reattach-Secret") ||
			c.header.Get("Assent-Remaining-Ms") >= remaining {
			t.Errorf("before %v\nagain %v", before.header, c.header)
		}
		last, remaining = n, c.header.Get("Assent-Remaining-Ms")
	}
}

// Answers that break off are not answers.
func TestTruncatedAnswer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", socketPath(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := command(t, ask, "--socket", l.Addr().String())
	p.start(t)
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + allow,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5f\r\n" + allow,
		"HTTP/1.1 200",
		"",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	} {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		buf, got := make([]byte, 4096), []byte(nil)
		for !bytes.HasSuffix(got, []byte(ask)) {
			n, err := c.Read(buf)
			if got = append(got, buf[:n]...); err != nil {
				t.Fatal(err)
			}
		}
		io.WriteString(c, answer)
		c.Close()
	}
	p.finish(t, "{}")
}
