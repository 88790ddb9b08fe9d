package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assent/schemas"
)

// Daemon is an `assent serve` under test and a client of its API.
type Daemon struct {
	T      *testing.T
	Dir    string // holds everything of this broker and its hooks
	State  string
	Socket string
	Args   []string
	Out    Output // of all runs
	Client *http.Client
	Files  int      // descriptors the broker may have; 0: as many as we
	More   []string // of the broker's environment

	Cmd   *exec.Cmd
	Ended chan struct{} // closed when cmd has been waited for

	mu    sync.Mutex
	url   string // guarded by mu
	token string // guarded by mu; the owner's
}

// Serve starts a broker on a state directory of its own and waits until it is ready.
func Serve(t *testing.T, args ...string) *Daemon {
	t.Helper()
	d := NewDaemon(t, args...)
	d.Start()
	return d
}

// NewDaemon prepares a broker, and ends it with the test.
func NewDaemon(t *testing.T, args ...string) *Daemon {
	t.Helper()
	dir := TempDir(t)
	d := &Daemon{T: t, Dir: dir, State: filepath.Join(dir, "state"), Socket: filepath.Join(dir, "hook.sock"), Args: args, Client: http.DefaultClient}
	t.Cleanup(func() {
		if d.Cmd != nil {
			d.Kill()
		}
		if t.Failed() {
			t.Logf("the broker said:\n%s", d.Out.Tail(4000))
		}
	})
	return d
}

// Start starts the program (again) and waits until it is ready.
func (d *Daemon) Start() {
	d.T.Helper()
	d.Launch()
	d.Await()
}

// Launch starts the program (again).
func (d *Daemon) Launch() {
	d.T.Helper()
	args := append([]string{"serve", "--state-dir", d.State, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--socket", d.Socket}, d.Args...)
	d.Cmd = exec.Command(Program("assent"), args...)
	if d.Files > 0 {
		limited := []string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, d.Files), Program("assent")}
		d.Cmd = exec.Command("sh", append(limited, args...)...)
	}
	d.Cmd.Env = append(d.Env(), d.More...)
	d.Cmd.Stdout, d.Cmd.Stderr = &d.Out, &d.Out
	if err := d.Cmd.Start(); err != nil {
		d.T.Fatal(err)
	}
	cmd, ended := d.Cmd, make(chan struct{})
	d.Ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed more often than not
	}()
}

// Await waits until runtime.json is the running program's and it says that it is ready.
func (d *Daemon) Await() {
	d.T.Helper()
	Eventually(d.T, Soon, "broker ready", func() bool {
		select {
		case <-d.Ended:
			d.T.Fatalf("the broker ended with code %d", d.Cmd.ProcessState.ExitCode())
		default:
		}
		b, err := os.ReadFile(filepath.Join(d.State, "runtime.json"))
		if err != nil {
			return false
		}
		var info struct {
			PID int    `json:"pid"`
			URL string `json:"http_url"`
		}
		if json.Unmarshal(b, &info) != nil || info.PID != d.Cmd.Process.Pid {
			return false
		}
		token, err := os.ReadFile(filepath.Join(d.State, "owner.token"))
		if err != nil {
			return false
		}
		d.mu.Lock()
		d.url, d.token = strings.TrimSuffix(info.URL, "/"), strings.TrimSpace(string(token))
		d.mu.Unlock()
		status, _, err := d.Try("GET", "/readyz", nil)
		return err == nil && status == http.StatusNoContent
	})
}

// Env is the whole environment of the broker and its hooks.
func (d *Daemon) Env() []string {
	return []string{"HOME=" + d.Dir, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + d.Dir + "/xdg", "XDG_RUNTIME_DIR=" + d.Dir}
}

// Kill ends the broker as a crash would, and waits for its end.
func (d *Daemon) Kill() {
	_ = d.Cmd.Process.Kill() // it may have ended already
	<-d.Ended
}

// Stop ends the broker politely and returns its exit code.
func (d *Daemon) Stop() int {
	d.T.Helper()
	if err := d.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.T.Fatal(err)
	}
	select {
	case <-d.Ended:
	case <-time.After(Soon):
		d.T.Fatal("the broker does not stop on SIGTERM")
	}
	return d.Cmd.ProcessState.ExitCode()
}

// Owner returns the API's base URL and the owner's token.
func (d *Daemon) Owner() (url, token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.url, d.token
}

// Try calls the API as the owner.
func (d *Daemon) Try(method, path string, in any) (status int, body []byte, err error) {
	_, token := d.Owner()
	return d.As(token, method, path, in)
}

// As calls the API with another token.
func (d *Daemon) As(token, method, path string, in any) (status int, body []byte, err error) {
	var r io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, nil, err
		}
		r = bytes.NewReader(b)
	}
	url, _ := d.Owner()
	req, err := http.NewRequest(method, url+path, r)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := d.Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// Get reads a JSON document of the API; anything but 200 fails the test.
func (d *Daemon) Get(path string, out any) {
	d.T.Helper()
	status, body, err := d.Try("GET", path, nil)
	if err != nil || status != http.StatusOK {
		d.T.Fatalf("GET %s: %d %s %v", path, status, body, err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		d.T.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// Command runs an assent command on this broker and returns what it printed; it must succeed.
func (d *Daemon) Command(args ...string) string {
	d.T.Helper()
	cmd := exec.Command(Program("assent"), append(args, "--state-dir", d.State)...)
	cmd.Env = d.Env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		d.T.Fatalf("assent %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// CreateToken returns a new token.
func (d *Daemon) CreateToken(role, name string) string {
	d.T.Helper()
	return strings.TrimSpace(d.Command("token", "create", "--role", role, "--name", name))
}

var pairingPattern = regexp.MustCompile(`https?://\S+#\S+`)

// PairingURL waits for the link that serve printed.
func (d *Daemon) PairingURL() string {
	d.T.Helper()
	var url string
	Eventually(d.T, Soon, "a pairing URL on serve's output", func() bool {
		url = pairingPattern.FindString(d.Out.Tail(1 << 20))
		return url != ""
	})
	return url
}

// Request is what the tests read of the API's PermissionRequest.
type Request struct {
	ID          string          `json:"id"`
	SessionID   string          `json:"sessionId"`
	ToolName    string          `json:"toolName"`
	ToolInput   json.RawMessage `json:"toolInput"`
	InputSHA256 string          `json:"inputSha256"`
	AgentID     string          `json:"agentId"`
	AgentType   string          `json:"agentType"`
	Suggestions json.RawMessage `json:"permissionSuggestions"`
	State       string          `json:"state"`
	Detached    bool            `json:"detached"`
	Outcome     string          `json:"outcome"`
	Reason      string          `json:"reason"`
	Delivery    string          `json:"delivery"`
	DecidedBy   *Approver       `json:"decidedBy"`
	CreatedAt   time.Time       `json:"createdAt"`
	Raw         string          `json:"raw"`
	Verdict     json.RawMessage `json:"verdict"`
}

// Approver is who decided.
type Approver struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	File string `json:"file"`
}

// Record is one step of `assent trace`.
type Record struct {
	Step     string    `json:"step"`
	Time     time.Time `json:"time"`
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	By       *Approver `json:"by"`
	Decision *Decision `json:"decision"`
	Request  *Request  `json:"request"`
}

// Decision is what the owner sends.
type Decision struct {
	Behavior           string          `json:"behavior"`
	InputSHA256        string          `json:"inputSha256"`
	Message            string          `json:"message,omitempty"`
	UpdatedInput       json.RawMessage `json:"updatedInput,omitempty"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
}

// Pending returns the requests that wait, checked against their schema.
func (d *Daemon) Pending() []Request {
	d.T.Helper()
	var docs []json.RawMessage
	d.Get("/v1/requests?state=pending", &docs)
	rs := make([]Request, len(docs))
	for i, doc := range docs {
		Valid(d.T, "PermissionRequest", doc)
		if err := json.Unmarshal(doc, &rs[i]); err != nil {
			d.T.Fatal(err)
		}
	}
	return rs
}

// WaitPending waits until exactly n requests wait, and returns them.
func (d *Daemon) WaitPending(n int) []Request {
	d.T.Helper()
	var rs []Request
	Eventually(d.T, 2*Soon, fmt.Sprintf("%d pending requests", n), func() bool {
		rs = d.Pending()
		return len(rs) == n
	})
	return rs
}

// Request returns a request by its id, checked against its schema.
func (d *Daemon) Request(id string) Request {
	d.T.Helper()
	var doc json.RawMessage
	d.Get("/v1/requests/"+id, &doc)
	Valid(d.T, "PermissionRequest", doc)
	var r Request
	if err := json.Unmarshal(doc, &r); err != nil {
		d.T.Fatal(err)
	}
	return r
}

// Until waits until a request is as wanted, and returns it.
func (d *Daemon) Until(id, what string, ok func(Request) bool) Request {
	d.T.Helper()
	var r Request
	Eventually(d.T, 2*Soon, fmt.Sprintf("request %s %s", id, what), func() bool {
		r = d.Request(id)
		return ok(r)
	})
	return r
}

// Trace returns the records of a request, oldest first.
func (d *Daemon) Trace(id string) []Record {
	d.T.Helper()
	var rs []Record
	d.Get("/v1/requests/"+id+"/trace", &rs)
	return rs
}

// Steps names the steps of a trace, as in "asked decided delivered".
func Steps(rs []Record) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Step)
	}
	return strings.Join(s, " ")
}

// Step returns the record of a step, which must be there.
func (d *Daemon) Step(id, step string) Record {
	d.T.Helper()
	rs := d.Trace(id)
	for _, r := range rs {
		if r.Step == step {
			return r
		}
	}
	d.T.Fatalf("request %s has no record %q: %s", id, step, Steps(rs))
	return Record{}
}

// Decide answers a request as the owner; the broker must take it.
func (d *Daemon) Decide(r Request, dec Decision) {
	d.T.Helper()
	dec.InputSHA256 = r.InputSHA256
	Eventually(d.T, Soon, "the decision on "+r.ID+" is taken", func() bool {
		status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", dec)
		if err == nil && status == http.StatusServiceUnavailable { // a slow disk; it says so and waits on
			return false
		}
		if err != nil || status != http.StatusOK {
			d.T.Fatalf("decide %s: %d %s %v", r.ID, status, body, err)
		}
		return true
	})
	d.Until(r.ID, "is over", func(r Request) bool { return r.State != "pending" })
}

// Allow allows a request as the owner, as it is.
func (d *Daemon) Allow(r Request) { d.T.Helper(); d.Decide(r, Decision{Behavior: "allow"}) }

// Deny denies a request as the owner; words are for the model.
func (d *Daemon) Deny(r Request, words string) {
	d.T.Helper()
	d.Decide(r, Decision{Behavior: "deny", Message: words})
}

// Output collects what a program prints; its methods may be called at any time.
type Output struct {
	mu sync.Mutex
	b  []byte
}

// Write keeps what a program prints.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, p...)
	return len(p), nil
}

// Tail returns the last n bytes.
func (o *Output) Tail(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.b[max(0, len(o.b)-n):])
}

// HookRun is one run of assent-hook.
type HookRun struct {
	T      *testing.T
	Cmd    *exec.Cmd
	Stdout bytes.Buffer
	Stderr bytes.Buffer
}

// Hook starts assent-hook with a payload on its standard input.
func (d *Daemon) Hook(payload []byte, args ...string) *HookRun {
	d.T.Helper()
	return d.run(d.HookCommand(payload, args...))
}

// Simulate raises a sample request, as somebody does who tries assent.
func (d *Daemon) Simulate(kind string) *HookRun {
	d.T.Helper()
	cmd := exec.Command(Program("assent"), "simulate", kind, "--state-dir", d.State)
	cmd.Env = d.Env()
	cmd.Dir = d.Dir
	return d.run(cmd)
}

func (d *Daemon) run(cmd *exec.Cmd) *HookRun {
	d.T.Helper()
	h := &HookRun{T: d.T, Cmd: cmd}
	h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
	if err := h.Cmd.Start(); err != nil {
		d.T.Fatal(err)
	}
	d.T.Cleanup(func() { _ = h.Cmd.Process.Kill() })
	return h
}

// HookCommand is assent-hook with a payload on its standard input, not started yet.
func (d *Daemon) HookCommand(payload []byte, args ...string) *exec.Cmd {
	cmd := exec.Command(Program("assent-hook"), append([]string{"--socket", d.Socket}, args...)...)
	cmd.Env = append(d.Env(), "CLAUDE_CODE_ENTRYPOINT=cli") // as of a client in a terminal, whatever runs the test
	cmd.Dir = d.Dir
	cmd.Stdin = bytes.NewReader(payload)
	return cmd
}

// Wait waits for the hook's end, which must be with code 0, and returns what it printed.
func (h *HookRun) Wait() string {
	h.T.Helper()
	var exit *exec.ExitError
	if err := h.Cmd.Wait(); errors.As(err, &exit) {
		h.T.Errorf("assent-hook ended with code %d: %s", exit.ExitCode(), h.Stderr.Bytes())
	}
	if h.Stdout.Len() > 0 {
		Valid(h.T, "HookOutput", h.Stdout.Bytes())
	}
	return h.Stdout.String()
}

// Valid holds a document against its schema.
func Valid(t *testing.T, schema string, doc []byte) {
	t.Helper()
	if err := schemas.Validate(schema, doc); err != nil {
		t.Errorf("%v in %s", err, doc)
	}
}

// Bash is the payload of a PermissionRequest for a shell command.
func Bash(session, command string) []byte {
	return Payload("PermissionRequest", session, map[string]any{"command": command, "description": "A test"})
}

// Payload is the payload of an event about a Bash call.
func Payload(event, session string, input map[string]any) []byte {
	b, err := json.Marshal(map[string]any{
		"session_id": session, "transcript_path": "/tmp/t.jsonl", "cwd": "/tmp", "hook_event_name": event,
		"permission_mode": "default", "tool_name": "Bash", "tool_input": input,
	})
	if err != nil {
		panic(err) // a bug in the test
	}
	return b
}

// The exact outputs of a hook.
const Allowed = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`

// Denied is what a hook prints for a denial with plain words.
func Denied(words string) string {
	return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"` + words + `"}}}`
}
