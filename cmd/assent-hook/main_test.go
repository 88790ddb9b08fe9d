package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/hookclient"
)

// TestDependencies keeps the start-up path small: each of these costs more than all that the
// program does.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		switch dep {
		case "encoding/json", "net/http", "flag", "fmt", "crypto/tls", "reflect", "os/user", "os/exec", "net/url", "log", "regexp":
			t.Errorf("imports %s", dep)
		}
		if strings.Contains(dep, ".") && !strings.HasPrefix(dep, "vendor/") {
			t.Errorf("imports %s: not of the standard library", dep)
		}
	}
}

func TestSize(t *testing.T) {
	fi, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Size() > 2_500_000 {
		t.Errorf("%d bytes, at most 2.5 MB wanted", fi.Size())
	}
}

func TestAnswers(t *testing.T) {
	cases := []struct {
		name    string
		payload string
		answer  http.HandlerFunc
		args    []string
		stdout  string
	}{
		{"decision", ask, status(200, allow), nil, allow},
		{"decision with a line end", ask, status(200, allow+"\n"), nil, allow + "\n"},
		{"chunked decision", ask, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, allow[:10])
			w.(http.Flusher).Flush()
			io.WriteString(w, allow[10:])
		}, nil, allow},
		{"large decision", ask, status(200, `{"a":"`+strings.Repeat("x", 3<<20)+`"}`), nil, `{"a":"` + strings.Repeat("x", 3<<20) + `"}`},
		{"no decision", ask, status(204, ""), []string{"--on-failure", "deny"}, ""},
		{"cannot record", ask, status(503, "{}"), nil, ""},
		{"cannot record, deny", ask, status(503, "{}"), []string{"--on-failure", "deny"}, deny},
		{"cannot record, deny, unknown agent", ask, status(503, "{}"), []string{"--on-failure", "deny", "--agent", "x"}, ""},
		{"wrong token, deny", ask, status(401, allow), []string{"--on-failure", "deny"}, deny},
		{"id taken", ask, status(409, allow), []string{"--on-failure", "deny", "--on-timeout", "deny"}, ""},
		{"another server", ask, status(200, "<html>"), nil, ""},
		{"another server, deny", ask, status(200, "<html>"), []string{"--on-failure", "deny"}, deny},
		{"redirect", ask, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, nil, ""},
		{"internal error with a decision", ask, status(500, allow), nil, ""},
		{"plain event", plain, status(204, ""), nil, ""},
		{"plain event, refused", plain, status(503, allow), []string{"--on-failure", "deny", "--on-timeout", "deny"}, ""},
		{"plain event, answered", plain, status(200, "{}"), nil, "{}"},
		{"a form, answered", form, status(200, accept), nil, accept},
		{"a form, left to the agent", form, status(204, ""), []string{"--on-failure", "deny", "--on-timeout", "deny"}, ""},
		{"a form, refused", form, status(503, accept), []string{"--on-failure", "deny", "--on-timeout", "deny"}, ""},
		{"not JSON", "hello", status(204, ""), []string{"--on-failure", "deny"}, ""},
		{"not JSON, answered", "hello", status(200, allow), nil, ""},
		{"unreadable, failed", `{"hook_event_name":"PermissionRequest","hook_event_name":"PermissionRequest"}`, status(503, ""), []string{"--on-failure", "deny"}, ""},
		{"named by flag", "hello", status(503, ""), []string{"--event", "PermissionRequest", "--on-failure", "deny"}, deny},
		{"nothing at all", "", status(204, ""), nil, ""},
		{"9 MB", `{"hook_event_name":"Stop","x":"` + strings.Repeat("x", 9<<20) + `"}`, status(204, ""), nil, ""},
		{"10,000 levels", `{"hook_event_name":"Stop","x":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, status(204, ""), nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, socketPath(t), c.answer)
			end := time.Now().Add(time.Minute)
			for began := time.Now(); ; began = time.Now() {
				p := command(t, c.payload, append([]string{"--socket", b.socket}, c.args...)...)
				p.start(t)
				err := p.Wait()
				if took := time.Since(began); took >= time.Second && c.payload != ask && c.payload != form {
					if began.After(end) {
						t.Skip("for a minute this machine has been so busy that the hook gave up each time")
					}
					continue // the machine is so busy that it gave up
				}
				p.check(t, err, c.stdout)
				break
			}
			if got := <-b.calls; got.body != c.payload {
				t.Errorf("the broker got %d bytes, not the %d of the payload", len(got.body), len(c.payload))
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	b := newBroker(t, socketPath(t), status(204, ""))
	p := command(t, ask, "--socket", b.socket, "--timeout", "100s", "--on-timeout", "deny")
	repo := filepath.Join(p.home, "re po")
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/a/b\n", "config": "[remote \"origin\"]\nurl = https://u:secret@h/r\n"} {
		if err := os.MkdirAll(filepath.Join(repo, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repo, ".git", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(repo, ".git", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.Dir = repo
	p.run(t, "")
	got := <-b.calls
	for name, want := range map[string]string{"Assent-Agent": "claude", "Assent-Event": "PermissionRequest", "Assent-On-Timeout": "deny", "Assent-Attempt": "1",
		"Assent-Pid": "42", "Assent-Agent-Label": "me", "Assent-Project-Dir": "/pro%20ject", "Assent-Repo-Branch": "a/b", "Assent-Repo-Remote": "https://h/r",
		"Content-Type": "application/json", "Authorization": "", "Assent-Spooled": ""} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	if root := got.header.Get("Assent-Repo-Root"); !strings.HasSuffix(root, "/re%20po") {
		t.Errorf("root %q", root)
	}
	if ms := got.header.Get("Assent-Remaining-Ms"); len(ms) != 5 || ms[0] != '9' {
		t.Errorf("remaining %q of 100 s", ms)
	}
	for name, values := range got.header {
		if strings.Contains(name+strings.Join(values, ""), "secret") {
			t.Errorf("%s: %q", name, values)
		}
	}
}

func TestNoBroker(t *testing.T) {
	missing := socketPath(t)
	p := command(t, ask, "--socket", missing)
	p.run(t, "")
	if n := len(p.spooled(t, missing)); n > 0 {
		t.Errorf("%d permission requests spooled", n)
	}
	command(t, ask, "--socket", missing, "--on-failure", "deny").run(t, deny)

	p = command(t, plain, "--socket", missing, "--on-failure", "deny")
	p.run(t, "")
	got := p.spooled(t, missing)
	if len(got) != 1 || string(got[0].Event.Raw) != plain || got[0].Event.Type != "PostToolUse" || got[0].Event.ID == "" || got[0].Event.Origin.ProjectDir != "/pro ject" {
		t.Errorf("spooled %+v", got)
	}
}

// A socket file that nobody listens on is what a killed broker leaves behind.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	stale := socketPath(t)
	l, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	p := command(t, plain, "--socket", stale)
	p.run(t, "")
	if n := len(p.spooled(t, stale)); n != 1 {
		t.Errorf("%d events spooled", n)
	}
	command(t, ask, "--socket", stale, "--on-failure", "deny").run(t, deny)
}

// Behind events of its session that wait, an event waits too: while somebody drains the spool
// it stays there; where nobody does, because the broker is another user's, the hook posts what
// waits, in order.
func TestSpoolKeepsOrder(t *testing.T) {
	for _, draining := range []bool{true, false} {
		b := newBroker(t, socketPath(t), status(204, ""))
		p := command(t, plain, "--socket", b.socket)
		dir := filepath.Join(p.home, ".local/state/assent/spool")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "s1"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if draining {
			f, err := os.Create(filepath.Join(dir, ".drain"))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			p.run(t, "")
			f.Close()
			if n := len(p.spooled(t, b.socket)); n != 1 || len(b.calls) != 0 {
				t.Errorf("while somebody drains: %d spooled, %d posted", n, len(b.calls))
			}
			continue
		}
		p.run(t, "")
		if n := len(p.spooled(t, b.socket)); n != 0 || len(b.calls) != 1 {
			t.Fatalf("while nobody drains: %d spooled, %d posted", n, len(b.calls))
		}
		if c := <-b.calls; c.header.Get("Assent-Spooled") == "" {
			t.Error("the event that waited does not say so")
		}
	}
}

// An unwritable spool loses the event, says so, and breaks nothing.
func TestSpoolUnwritable(t *testing.T) {
	p := command(t, plain, "--socket", socketPath(t))
	if err := os.WriteFile(filepath.Join(p.home, ".local"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(t, "")
	if !strings.Contains(p.stderr.String(), "lost") {
		t.Errorf("stderr %q", p.stderr.String())
	}
}

// A payload beyond every limit is read to its end, so that the agent's write succeeds. A request
// of that size is denied where failures are.
func TestTooLarge(t *testing.T) {
	const asked = `{"session_id":"s","hook_event_name":"PermissionRequest","tool_input":{"content":"`
	for _, c := range []struct {
		name, start, want string
		args              []string
	}{
		{name: "no JSON", start: "x", args: []string{"--on-failure", "deny"}},
		{name: "abstain", start: asked},
		{name: "deny", start: asked, args: []string{"--on-failure", "deny"}, want: deny},
		{name: "deny by name", start: "x", args: []string{"--on-failure", "deny", "--event", "PermissionRequest"}, want: deny},
		{name: "another event", start: strings.Replace(asked, "PermissionRequest", "PreToolUse", 1), args: []string{"--on-failure", "deny"}},
		{name: "named deeper", start: `{"tool_input":` + asked, args: []string{"--on-failure", "deny"}},
	} {
		t.Run(c.name, func(t *testing.T) { tooLarge(t, c.start, c.want, c.args...) })
	}
}

func tooLarge(t *testing.T, start, want string, args ...string) {
	b := newBroker(t, socketPath(t), status(200, allow))
	p := command(t, "", append(args, "--socket", b.socket)...)
	r, w := io.Pipe()
	p.Stdin = r
	wrote := make(chan error, 1)
	go func() {
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		_, err := io.WriteString(w, start)
		for range hookclient.MaxPayload>>20 + 4 {
			if _, e := w.Write(chunk); e != nil && err == nil {
				err = e
			}
		}
		w.Close()
		wrote <- err
	}()
	p.run(t, want)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if len(b.calls) > 0 || !strings.Contains(p.stderr.String(), "larger") {
		t.Errorf("%d calls, stderr %q", len(b.calls), p.stderr.String())
	}
}

func TestCommandLine(t *testing.T) {
	p := command(t, "", "--help")
	p.start(t)
	if err := p.Wait(); err != nil || !strings.Contains(p.stdout.String(), "Example") {
		t.Errorf("%v %q", err, p.stdout.String())
	}
	for _, args := range [][]string{{"--nonsense"}, {"--on-failure", "allow"}, {"x"}, {"--url", "https://h.example"}, {"--url", "http://h.example"}, {"--socket", strings.Repeat("/x", 200)}} {
		p := command(t, ask, args...)
		p.run(t, "")
		if p.stderr.Len() == 0 {
			t.Errorf("%v: nothing said", args)
		}
	}
	// What is wrong in the file must not undo what a flag says about failures.
	p = command(t, ask, "--on-failure", "deny")
	p.Env = append(p.Env, "ASSENT_TIMEOUT=soon")
	p.run(t, deny)
}

func TestRemote(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, l, "", status(204, ""))
	url := "http://" + l.Addr().String() + "/pre/fix"
	p := command(t, plain, "--url", url+"/")
	p.Env = append(p.Env, "ASSENT_TOKEN=tok")
	dir := filepath.Join(p.home, ".config/assent")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "hook.conf"), []byte("token = from-file\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.run(t, "")
	got := <-b.calls
	if got.path != "/pre/fix/v1/hooks" || got.header.Get("Authorization") != "Bearer from-file" {
		t.Errorf("%s %q", got.path, got.header)
	}
}

// Events that a remote broker missed are posted by later runs, in order, with their own ids
// and times.
func TestRemoteDrain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	home := t.TempDir()
	hook := func(n string) {
		p := command(t, `{"session_id":"s1","hook_event_name":"Stop","n":`+n+`}`, "--url", "http://"+addr)
		p.Env = append(p.Env, "HOME="+home)
		p.run(t, "")
	}
	for _, n := range []string{"0", "1", "2"} {
		hook(n)
	}
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Skip("the port was taken meanwhile: ", err)
	}
	b := serve(t, l, "", status(204, ""))
	for n := 3; len(b.calls) < n && n < 20; n++ {
		hook(strconv.Itoa(n))
	}
	if len(b.calls) < 4 {
		t.Errorf("%d events posted", len(b.calls))
	}
	for i := range len(b.calls) {
		c := <-b.calls
		if !strings.HasSuffix(c.body, `"n":`+strconv.Itoa(i)+"}") || (i < 3) && c.header.Get("Assent-Spooled") != "1" || c.header.Get("Assent-Request-Id") == "" {
			t.Errorf("call %d: %s %v", i, c.body, c.header)
		}
	}
}
