package hookclient

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// Of a transcript nothing is read but the end of a regular file of our own, below the place where this
// agent keeps them, without a link on the way.
func TestTailOf(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home")
	root := filepath.Join(home, ".claude/projects")
	outside := filepath.Join(top, "outside")
	for _, dir := range []string{root + "/p/s/subagents", outside, root + "/p/dir.jsonl"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	link := func(name, to string) string {
		t.Helper()
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	line := strings.Repeat("x", 999) + "\n"
	session := write(root+"/p/s.jsonl", "{\"a\":1}\n{\"b\":2}\n")
	write(root+"/p/s/subagents/agent-a1.jsonl", "sub\n")
	secret := write(outside+"/id_rsa", "secret\n")
	fifo := root + "/p/fifo.jsonl"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", root+"/p/socket.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	sparse := root + "/p/sparse.jsonl"
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<30); err != nil {
		t.Fatal(err)
	}
	link(root+"/linked", "p")
	link(root+"/away", outside)
	theirs := write(root+"/p/theirs.jsonl", "theirs\n")
	if os.Geteuid() == 0 {
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	} else {
		theirs = secret
	}
	cases := []struct{ name, path, text, why string }{
		{"all of a short one", session, "{\"a\":1}\n{\"b\":2}\n", ""},
		{"whole lines of a long one", write(root+"/p/long.jsonl", strings.Repeat(line, 100)), strings.Repeat(line, 65), ""},
		{"one line that is too long", write(root+"/p/line.jsonl", strings.Repeat("x", hook.MaxTranscript+1)), "", hook.SaidBeyond},
		{"a line that ends where the last part begins", write(root+"/p/edge.jsonl", "a\n"+strings.Repeat("x", hook.MaxTranscript-1)+"\n"), "", hook.SaidBeyond},
		{"a gigabyte of nothing", sparse, "", hook.SaidBeyond},
		{"empty", write(root+"/p/empty.jsonl", ""), "", hook.SaidBeyond},
		{"none", root + "/p/none.jsonl", "", hook.SaidRefused},
		{"outside", secret, "", hook.SaidRefused},
		{"a path that leaves", root + "/p/../../../../outside/id_rsa", "", hook.SaidRefused},
		{"a path that is not clean", root + "/p//s.jsonl", "", hook.SaidRefused},
		{"the place itself", root, "", hook.SaidRefused},
		{"a place of another name", root + "-evil/s.jsonl", "", hook.SaidRefused},
		{"a link to a transcript", link(root+"/p/link.jsonl", "s.jsonl"), "", hook.SaidRefused},
		{"a link to another file", link(root+"/p/secret.jsonl", secret), "", hook.SaidRefused},
		{"through a link", root + "/linked/s.jsonl", "", hook.SaidRefused},
		{"through a link that leaves", root + "/away/id_rsa", "", hook.SaidRefused},
		{"a FIFO", fifo, "", hook.SaidRefused},
		{"a socket", root + "/p/socket.jsonl", "", hook.SaidRefused},
		{"a device", link(root+"/p/null.jsonl", "/dev/zero"), "", hook.SaidRefused},
		{"a directory", root + "/p/dir.jsonl", "", hook.SaidRefused},
		{"another user's", theirs, "", hook.SaidRefused},
		{"relative", "p/s.jsonl", "", hook.SaidRefused},
		{"deep", root + strings.Repeat("/d", maxTranscriptDepth+2), "", hook.SaidRefused},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := tailOf(root, c.path); string(got.Text) != c.text || got.Why != c.why {
				t.Errorf("%d bytes, %q", len(got.Text), got.Why)
			}
		})
	}
	t.Run("a place that a link leads to", func(t *testing.T) {
		if got := tailOf(link(top+"/dotfiles", root), top+"/dotfiles/p/s.jsonl"); len(got.Text) == 0 {
			t.Error(got.Why)
		}
	})
	t.Run("a device that is there", func(t *testing.T) {
		if err := syscall.Mknod(root+"/p/dev.jsonl", syscall.S_IFCHR|0o600, 1<<8|5); err != nil { // /dev/zero
			t.Skip(err)
		}
		if got := tailOf(root, root+"/p/dev.jsonl"); got.Why != hook.SaidRefused {
			t.Errorf("%d bytes, %q", len(got.Text), got.Why)
		}
	})
}

func TestTranscriptOf(t *testing.T) {
	for _, c := range []struct {
		name       string
		agent      string
		p          payload
		env        map[string]string
		root, file string
	}{
		{"the session's", "claude", payload{transcript: "/h/.claude/projects/p/s.jsonl"}, map[string]string{"HOME": "/h"}, "/h/.claude/projects", "/h/.claude/projects/p/s.jsonl"},
		{"a subagent's", "claude", payload{transcript: "/h/.claude/projects/p/s.jsonl", agentID: "a1"}, map[string]string{"HOME": "/h"}, "/h/.claude/projects", "/h/.claude/projects/p/s/subagents/agent-a1.jsonl"},
		{"another place", "claude", payload{transcript: "/c/projects/s.jsonl"}, map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c/"}, "/c/projects", "/c/projects/s.jsonl"},
		{"a subagent with a path for a name", "claude", payload{transcript: "/h/.claude/projects/p/s.jsonl", agentID: "../x"}, map[string]string{"HOME": "/h"}, "", ""},
		{"another agent", "codex", payload{transcript: "/h/.claude/projects/p/s.jsonl"}, map[string]string{"HOME": "/h"}, "", ""},
		{"no home", "claude", payload{transcript: "/h/.claude/projects/p/s.jsonl"}, nil, "", ""},
		{"no transcript", "claude", payload{}, map[string]string{"HOME": "/h"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, file := transcriptOf(c.agent, c.p, func(name string) string { return c.env[name] })
			if root != c.root || file != c.file {
				t.Errorf("%q, %q", root, file)
			}
		})
	}
}

func TestScanPayloadReadsTheTranscript(t *testing.T) {
	for _, c := range []struct{ name, in, transcript, agentID string }{
		{"both", `{"transcript_path":"/a/b.jsonl","agent_id":"a1"}`, "/a/b.jsonl", "a1"},
		{"twice", `{"transcript_path":"/a","transcript_path":"/b"}`, "", ""},
		{"escaped", `{"transcript_path":"\/a"}`, "", ""},
		{"deeper", `{"x":{"transcript_path":"/a","agent_id":"b"}}`, "", ""},
		{"no text", `{"transcript_path":1}`, "", ""},
		{"long", `{"transcript_path":"/` + strings.Repeat("x", maxPath) + `"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := scanPayload([]byte(c.in)); p.transcript != c.transcript || p.agentID != c.agentID {
				t.Errorf("%+v", p)
			}
		})
	}
}

// got is a request as a broker got it.
type got struct {
	path, body, length, why, attempt string
}

// A broker of any age is asked, and one that does not know the route gets the payload as ever.
func TestTranscriptGoesToBrokersThatTakeIt(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude/projects/p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	transcript := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(transcript, []byte("{\"said\":\"words\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	raw := `{"hook_event_name":"PermissionRequest","session_id":"s","transcript_path":"` + transcript + `"}`
	with := got{"/v1/hooks/context", raw + "{\"said\":\"words\"}\n", "17", "", "1"}
	plain := got{"/v1/hooks", raw, "", "", "1"}
	for _, c := range []struct {
		name    string
		raw     string
		setting string
		refuses int // what the broker says to the route with the transcript
		remote  bool
		want    []got
	}{
		{name: "a broker that knows the route", raw: raw, want: []got{with}},
		{name: "an older one", raw: raw, refuses: 404, want: []got{with, plain}},
		{name: "a proxy that allows certain routes", raw: raw, refuses: 403, want: []got{with, plain}},
		{name: "a broker without room", raw: raw, refuses: 503, want: []got{with}},
		{name: "a broker that has enough", raw: raw, refuses: 429, want: []got{with}},
		{name: "a proxy that has no place to send the route", raw: raw, remote: true, setting: "on", refuses: 503, want: []got{with, plain}},
		{name: "an id that is taken", raw: raw, refuses: 409, want: []got{with}},
		{name: "switched off", raw: raw, setting: "off", want: []got{{plain.path, raw, "", "off", "1"}}},
		{name: "another host", raw: raw, remote: true, want: []got{{plain.path, raw, "", "off", "1"}}},
		{name: "another host, switched on", raw: raw, remote: true, setting: "on", want: []got{with}},
		{name: "no transcript there", raw: strings.Replace(raw, "s.jsonl", "t.jsonl", 1), want: []got{{plain.path, strings.Replace(raw, "s.jsonl", "t.jsonl", 1), "", "refused", "1"}}},
		{name: "a plain event", raw: strings.Replace(raw, "PermissionRequest", "PreToolUse", 1), want: []got{{plain.path, strings.Replace(raw, "PermissionRequest", "PreToolUse", 1), "", "", "1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var came []got
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				came = append(came, got{r.URL.Path, string(body), r.Header.Get(hook.HeaderContextLength), r.Header.Get(hook.HeaderContextWhy), r.Header.Get(hook.HeaderAttempt)})
				mu.Unlock()
				if strings.HasSuffix(r.URL.Path, hook.ContextRoute) && c.refuses != 0 {
					w.WriteHeader(c.refuses)
					return
				}
				_, _ = io.WriteString(w, "{}")
			})
			srv := httptest.NewUnstartedServer(h)
			cfg := Config{Transcript: c.setting, tailTime: time.Minute, Env: func(name string) string { return map[string]string{"HOME": home}[name] }}
			if !c.remote {
				l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
				if err != nil {
					t.Fatal(err)
				}
				srv.Listener.Close()
				srv.Listener, cfg.Socket = l, l.Addr().String()
			}
			srv.Start()
			defer srv.Close()
			if c.remote {
				cfg.URL = srv.URL
			}
			stdin, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			_, _ = in.WriteString(c.raw)
			in.Close()
			out, stdout, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			Run(cfg, stdin, stdout)
			stdout.Close()
			if b, _ := io.ReadAll(out); (string(b) == "{}") != (c.want[len(c.want)-1] == plain || c.refuses == 0) {
				t.Errorf("printed %q", b)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(came) != len(c.want) {
				t.Fatalf("%d requests: %+v", len(came), came)
			}
			for i := range came {
				if came[i] != c.want[i] {
					t.Errorf("request %d: %+v, want %+v", i, came[i], c.want[i])
				}
			}
		})
	}
}

// A file system that does not answer keeps nothing back for long.
func TestTranscriptThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		began := time.Now()
		got := within(maxTailTime, func() Transcript { <-release; return Transcript{} })()
		if took := time.Since(began); got.Why != hook.SaidLate || took != maxTailTime {
			t.Errorf("%+v after %v", got, took)
		}
		close(release)
	})
}

// What is said of the second part is what is sent.
func TestRequestWithTranscript(t *testing.T) {
	q := &request{to: &target{path: "/v1/hooks", host: "assent"}, event: &hook.Event{Raw: []byte("{}")}, tail: Transcript{Text: []byte("a\n")}}
	here, there := net.Pipe()
	defer there.Close()
	sent := make(chan []byte, 1)
	go func() { b, _ := io.ReadAll(there); sent <- b }()
	if err := newConn(here).send(q); err != nil {
		t.Fatal(err)
	}
	here.Close()
	head, body, _ := bytes.Cut(<-sent, []byte("\r\n\r\n"))
	if string(body) != "{}a\n" || !bytes.Contains(head, []byte("Content-Length: "+strconv.Itoa(4)+"\r\n")) || !bytes.Contains(head, []byte(hook.HeaderContextLength+": 2")) {
		t.Errorf("%s\n%s", head, body)
	}
}
