package hookclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assent/internal/agent/agents"
	"assent/internal/hook"
)

// hung is a broker that takes requests and never answers. It reports what it got when the
// client closes.
func hung(t *testing.T) (socket string, took <-chan struct{}, closed <-chan string) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	first, all := make(chan struct{}), make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 1)
		_, _ = c.Read(b) // the rest tells
		close(first)
		rest, _ := io.ReadAll(c)
		all <- string(b) + string(rest)
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), first, all
}

// An agent that kills its hooks leaves them half a second: an event that a hung broker has not
// taken goes to the spool at once.
func TestSignalSpools(t *testing.T) {
	socket, took, closed := hung(t)
	cfg := Config{Socket: socket, Spool: filepath.Join(t.TempDir(), "spool")}
	cfg.fill()
	c := &client{cfg: cfg, session: "s", event: event("1", "Stop", "{}")}
	var err error
	if err = c.aim(); err != nil {
		t.Fatal(err)
	}
	w := watchAgent(os.Stdout)
	defer w.stop()
	w.signals()
	done := make(chan []byte)
	start := time.Now()
	go func() { done <- c.deliver(w) }()
	<-took
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if out := <-done; out != nil {
		t.Errorf("printed %q", out)
	}
	<-closed
	if took := time.Since(start); took >= plainTimeout {
		t.Skipf("the machine is so busy (%s) that the timeout came before the signal", took)
	}
	equal(t, drainIDs(t, cfg.Spool, socket), "1")
}

// A bug of ours is an abstention, whatever was asked for.
func TestPanicAbstains(t *testing.T) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var said string
	Run(Config{Event: hook.EventPermissionRequest, Socket: "/nowhere", OnFailure: hook.Deny, OnTimeout: hook.Deny,
		Env:  func(string) string { panic("a bug") },
		Warn: func(s string) { said = s }}, in, out)
	if fi, err := out.Stat(); err != nil || fi.Size() > 0 {
		t.Errorf("printed %d bytes, %v", fi.Size(), err)
	}
	if said != "internal error; nothing answered" {
		t.Errorf("said %q", said)
	}
}

// Whatever watchAgent started is over after stop, and stop may come at any time.
func TestWatchStops(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for range 20 {
		a := watchAgent(w)
		a.signals()
		a.signals()
		a.hangup()
		if a.ctx.Err() != nil {
			t.Error("gone at once")
		}
		a.stop()
		a.signals()
		a.hangup()
		if len(a.stops) > 0 {
			t.Error("started again after the end")
		}
	}
	goleak.VerifyNone(t, goleak.IgnoreAnyFunction("os/signal.loop"))
}

// The one denial that is phrased here is what the broker would have sent for the same words.
func TestDenialIsTheCodecs(t *testing.T) {
	for _, agent := range append(agents.Names(), "", "nobody") {
		for _, words := range []string{hook.FailureWords(""), hook.TimeoutWords(300 * time.Second)} {
			got := denial(agent, words)
			if got == nil {
				if asks[agent] != "" {
					t.Errorf("no denial for %s", agent)
				}
				continue
			}
			want, err := agents.Deny(agent, words)
			if err != nil || string(got) != string(want) {
				t.Errorf("%s: got %s, codec %s, %v", agent, got, want, err)
			}
		}
	}
}

// Over https the caller's Dial is used, and nothing else.
func TestDialTLS(t *testing.T) {
	const answer = `{"hookSpecificOutput":{}}`
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, err := io.ReadAll(r.Body); err != nil || r.URL.Path != "/v1/hooks" || string(b) != "payload" || r.Header.Get("Authorization") != "Bearer tok" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	for name, c := range map[string]struct {
		roots *x509.CertPool
		want  string
	}{"trusted": {roots, answer}, "not trusted": {x509.NewCertPool(), string(denial("claude", hook.FailureWords("")))}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "in"), []byte("payload"), 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(filepath.Join(dir, "in"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := os.Create(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			d := tls.Dialer{Config: &tls.Config{RootCAs: c.roots, ServerName: "example.com"}}
			Run(Config{URL: "https://example.com", Token: "tok", Event: hook.EventPermissionRequest, OnFailure: hook.Deny,
				Env: func(string) string { return "" },
				Dial: func(ctx context.Context, _ URL) (net.Conn, error) {
					return d.DialContext(ctx, "tcp", srv.Listener.Addr().String())
				}}, in, out)
			if got, err := os.ReadFile(out.Name()); err != nil || string(got) != c.want {
				t.Errorf("printed %q, %v", got, err)
			}
		})
	}
}

// Copilot runs hooks that were registered for Claude Code, and takes an answer of another shape.
func TestCopilotRunsAHookOfClaudeCode(t *testing.T) {
	const asked = `{"hookName":"permissionRequest","sessionId":"s","cwd":"/p","toolName":"bash","toolInput":{"command":"ls"}}`
	for _, c := range []struct {
		name, payload, agent, event, want string
	}{
		{"found out", asked, "", "", `{"behavior":"deny",`},
		{"told", asked, "copilot", "permissionRequest", `{"behavior":"deny",`},
		{"another event", `{"hookName":"preToolUse","sessionId":"s"}`, "", "", ""},
		{"Claude Code's own", `{"hook_event_name":"PermissionRequest","session_id":"s","hookName":"permissionRequest","sessionId":"s"}`, "", "", `{"hookSpecificOutput":`},
		{"of another agent", asked, "codex", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "in"), []byte(c.payload), 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(filepath.Join(dir, "in"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := os.Create(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			Run(Config{Agent: c.agent, Event: c.event, Socket: filepath.Join(dir, "none"), OnFailure: hook.Deny, Env: func(string) string { return "" }}, in, out)
			got, err := os.ReadFile(out.Name())
			if err != nil || c.want == "" && len(got) > 0 || !strings.HasPrefix(string(got), c.want) {
				t.Errorf("printed %q, %v", got, err)
			}
		})
	}
}
