package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assent/hookclient"
)

// bin is the built program.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "assent-hook")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = filepath.Join(dir, "assent-hook")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

const (
	ask   = `{"session_id":"s1","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`
	form  = `{"session_id":"s1","hook_event_name":"Elicitation","mcp_server_name":"lab","mode":"form"}`
	plain = `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Bash"}`
	deny  = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"assent could not put this permission request to anybody, and was told to deny in that case. No person has seen and refused it. Do not try the same again, nor a way around it: go on with what needs no permission, or stop and say what you could not do."}}}`
	late  = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"Nobody answered this permission request in 1 second, and assent was told to deny in that case. No person has seen and refused it. Do not try the same again, nor a way around it: go on with what needs no permission, or stop and say what you could not do."}}}`
	allow = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	// accept is the answer to a form.
	accept = `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{}}}`
)

// call is one request as the broker saw it.
type call struct {
	header http.Header
	path   string
	body   string
}

// fakeBroker is a real net/http server with a handler of the test's.
type fakeBroker struct {
	socket string
	calls  chan call
	srv    *http.Server
}

// newBroker serves at socket until it is stopped or the test ends.
func newBroker(t *testing.T, socket string, answer http.HandlerFunc) *fakeBroker {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, socket, answer)
}

func serve(t *testing.T, l net.Listener, socket string, answer http.HandlerFunc) *fakeBroker {
	b := &fakeBroker{socket: socket, calls: make(chan call, 100)}
	b.srv = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		b.calls <- call{r.Header, r.URL.Path, string(body)}
		answer(w, r)
	})}
	var wg sync.WaitGroup
	wg.Go(func() { b.srv.Serve(l) })
	t.Cleanup(func() {
		b.srv.Close()
		wg.Wait()
	})
	return b
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// hold waits until the client hangs up, and says so.
func hold(gone chan<- struct{}) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		gone <- struct{}{}
	}
}

// proc is a running hook.
type proc struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	home           string
}

// command prepares a hook in a clean environment.
func command(t *testing.T, payload string, args ...string) *proc {
	t.Helper()
	home := t.TempDir()
	p := &proc{Cmd: exec.Command(bin, args...), home: home}
	p.Env = []string{"HOME=" + home, "ANTHROPIC_API_KEY=sk-secret", "CLAUDE_PROJECT_DIR=/pro ject", "CLAUDE_AGENT_ID=me", "CLAUDE_PID=42"}
	p.Dir = home
	p.Stdin = strings.NewReader(payload)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// finish waits for the end and checks what always holds: status 0, stdout as wanted.
func (p *proc) finish(t *testing.T, stdout string) {
	t.Helper()
	p.check(t, p.Wait(), stdout)
}

// check is finish for a hook that has ended, with err.
func (p *proc) check(t *testing.T, err error, stdout string) {
	t.Helper()
	if err != nil {
		t.Errorf("%v; stderr %q", err, p.stderr.String())
	}
	if got := p.stdout.String(); got != stdout {
		t.Errorf("stdout %q, want %q; stderr %q", got, stdout, p.stderr.String())
	}
	if strings.Contains(p.stderr.String(), "sk-secret") {
		t.Error("the agent's key is in stderr")
	}
}

func (p *proc) run(t *testing.T, stdout string) {
	t.Helper()
	p.start(t)
	p.finish(t, stdout)
}

func (p *proc) start(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

// spooled returns the events in the hook's spool for a target.
func (p *proc) spooled(t *testing.T, target string) []hookclient.SpoolRecord {
	t.Helper()
	var all []hookclient.SpoolRecord
	_, err := hookclient.Drain(filepath.Join(p.home, ".local/state/assent/spool"), target, func(r hookclient.SpoolRecord) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func socketPath(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }
