package e2e

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

// daemon is an `assent serve` under test and a client of its API.
type daemon struct {
	t      *testing.T
	dir    string // holds everything of this broker and its hooks
	state  string
	socket string
	args   []string
	out    output // of all runs
	client *http.Client
	files  int      // descriptors the broker may have; 0: as many as we
	more   []string // of the broker's environment

	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has been waited for

	mu    sync.Mutex
	url   string // guarded by mu
	token string // guarded by mu; the owner's
}

// serve starts a broker on a state directory of its own and waits until it is ready.
func serve(t *testing.T, args ...string) *daemon {
	t.Helper()
	d := newDaemon(t, args...)
	d.start()
	return d
}

// newDaemon prepares a broker, and ends it with the test.
func newDaemon(t *testing.T, args ...string) *daemon {
	t.Helper()
	dir := tempDir(t)
	d := &daemon{t: t, dir: dir, state: filepath.Join(dir, "state"), socket: filepath.Join(dir, "hook.sock"), args: args, client: http.DefaultClient}
	t.Cleanup(func() {
		if d.cmd != nil {
			d.kill()
		}
		if t.Failed() {
			t.Logf("the broker said:\n%s", d.out.tail(4000))
		}
	})
	return d
}

// start starts the program (again) and waits until it is ready.
func (d *daemon) start() {
	d.t.Helper()
	d.launch()
	d.await()
}

// launch starts the program (again).
func (d *daemon) launch() {
	d.t.Helper()
	args := append([]string{"serve", "--state-dir", d.state, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--socket", d.socket}, d.args...)
	d.cmd = exec.Command(program("assent"), args...)
	if d.files > 0 {
		limited := []string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, d.files), program("assent")}
		d.cmd = exec.Command("sh", append(limited, args...)...)
	}
	d.cmd.Env = append(d.env(), d.more...)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	cmd, ended := d.cmd, make(chan struct{})
	d.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed more often than not
	}()
}

// await waits until runtime.json is the running program's and it says that it is ready.
func (d *daemon) await() {
	d.t.Helper()
	eventually(d.t, soon, "broker ready", func() bool {
		select {
		case <-d.ended:
			d.t.Fatalf("the broker ended with code %d", d.cmd.ProcessState.ExitCode())
		default:
		}
		b, err := os.ReadFile(filepath.Join(d.state, "runtime.json"))
		if err != nil {
			return false
		}
		var info struct {
			PID int    `json:"pid"`
			URL string `json:"http_url"`
		}
		if json.Unmarshal(b, &info) != nil || info.PID != d.cmd.Process.Pid {
			return false
		}
		token, err := os.ReadFile(filepath.Join(d.state, "owner.token"))
		if err != nil {
			return false
		}
		d.mu.Lock()
		d.url, d.token = strings.TrimSuffix(info.URL, "/"), strings.TrimSpace(string(token))
		d.mu.Unlock()
		status, _, err := d.try("GET", "/readyz", nil)
		return err == nil && status == http.StatusNoContent
	})
}

// env is the whole environment of the broker and its hooks.
func (d *daemon) env() []string {
	return []string{"HOME=" + d.dir, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + d.dir + "/xdg", "XDG_RUNTIME_DIR=" + d.dir}
}

// kill ends the broker as a crash would, and waits for its end.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // it may have ended already
	<-d.ended
}

// stop ends the broker politely and returns its exit code.
func (d *daemon) stop() int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(soon):
		d.t.Fatal("the broker does not stop on SIGTERM")
	}
	return d.cmd.ProcessState.ExitCode()
}

// owner returns the API's base URL and the owner's token.
func (d *daemon) owner() (url, token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.url, d.token
}

// try calls the API as the owner.
func (d *daemon) try(method, path string, in any) (status int, body []byte, err error) {
	_, token := d.owner()
	return d.as(token, method, path, in)
}

// as calls the API with another token.
func (d *daemon) as(token, method, path string, in any) (status int, body []byte, err error) {
	var r io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, nil, err
		}
		r = bytes.NewReader(b)
	}
	url, _ := d.owner()
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
	res, err := d.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// get reads a JSON document of the API; anything but 200 fails the test.
func (d *daemon) get(path string, out any) {
	d.t.Helper()
	status, body, err := d.try("GET", path, nil)
	if err != nil || status != http.StatusOK {
		d.t.Fatalf("GET %s: %d %s %v", path, status, body, err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		d.t.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// command runs an assent command on this broker and returns what it printed; it must succeed.
func (d *daemon) command(args ...string) string {
	d.t.Helper()
	cmd := exec.Command(program("assent"), append(args, "--state-dir", d.state)...)
	cmd.Env = d.env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("assent %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// createToken returns a new token.
func (d *daemon) createToken(role, name string) string {
	d.t.Helper()
	return strings.TrimSpace(d.command("token", "create", "--role", role, "--name", name))
}

var pairingPattern = regexp.MustCompile(`https?://\S+#\S+`)

// pairingURL waits for the link that serve printed.
func (d *daemon) pairingURL() string {
	d.t.Helper()
	var url string
	eventually(d.t, soon, "a pairing URL on serve's output", func() bool {
		url = pairingPattern.FindString(d.out.tail(1 << 20))
		return url != ""
	})
	return url
}

// request is what the tests read of the API's PermissionRequest.
type request struct {
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
	DecidedBy   *approver       `json:"decidedBy"`
	CreatedAt   time.Time       `json:"createdAt"`
	Raw         string          `json:"raw"`
	Verdict     json.RawMessage `json:"verdict"`
}

type approver struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	File string `json:"file"`
}

// record is one step of `assent trace`.
type record struct {
	Step     string    `json:"step"`
	Time     time.Time `json:"time"`
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	By       *approver `json:"by"`
	Decision *decision `json:"decision"`
	Request  *request  `json:"request"`
}

type decision struct {
	Behavior           string          `json:"behavior"`
	InputSHA256        string          `json:"inputSha256"`
	Message            string          `json:"message,omitempty"`
	UpdatedInput       json.RawMessage `json:"updatedInput,omitempty"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
}

func (d *daemon) pending() []request {
	d.t.Helper()
	var docs []json.RawMessage
	d.get("/v1/requests?state=pending", &docs)
	rs := make([]request, len(docs))
	for i, doc := range docs {
		valid(d.t, "PermissionRequest", doc)
		if err := json.Unmarshal(doc, &rs[i]); err != nil {
			d.t.Fatal(err)
		}
	}
	return rs
}

// waitPending waits until exactly n requests wait, and returns them.
func (d *daemon) waitPending(n int) []request {
	d.t.Helper()
	var rs []request
	eventually(d.t, 2*soon, fmt.Sprintf("%d pending requests", n), func() bool {
		rs = d.pending()
		return len(rs) == n
	})
	return rs
}

func (d *daemon) request(id string) request {
	d.t.Helper()
	var doc json.RawMessage
	d.get("/v1/requests/"+id, &doc)
	valid(d.t, "PermissionRequest", doc)
	var r request
	if err := json.Unmarshal(doc, &r); err != nil {
		d.t.Fatal(err)
	}
	return r
}

// until waits until a request is as wanted, and returns it.
func (d *daemon) until(id, what string, ok func(request) bool) request {
	d.t.Helper()
	var r request
	eventually(d.t, 2*soon, fmt.Sprintf("request %s %s", id, what), func() bool {
		r = d.request(id)
		return ok(r)
	})
	return r
}

func (d *daemon) trace(id string) []record {
	d.t.Helper()
	var rs []record
	d.get("/v1/requests/"+id+"/trace", &rs)
	return rs
}

// steps names the steps of a trace, as in "asked decided delivered".
func steps(rs []record) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Step)
	}
	return strings.Join(s, " ")
}

// step returns the record of a step, which must be there.
func (d *daemon) step(id, step string) record {
	d.t.Helper()
	rs := d.trace(id)
	for _, r := range rs {
		if r.Step == step {
			return r
		}
	}
	d.t.Fatalf("request %s has no record %q: %s", id, step, steps(rs))
	return record{}
}

// decide answers a request as the owner; the broker must take it.
func (d *daemon) decide(r request, dec decision) {
	d.t.Helper()
	dec.InputSHA256 = r.InputSHA256
	eventually(d.t, soon, "the decision on "+r.ID+" is taken", func() bool {
		status, body, err := d.try("POST", "/v1/requests/"+r.ID+"/decision", dec)
		if err == nil && status == http.StatusServiceUnavailable { // a slow disk; it says so and waits on
			return false
		}
		if err != nil || status != http.StatusOK {
			d.t.Fatalf("decide %s: %d %s %v", r.ID, status, body, err)
		}
		return true
	})
	d.until(r.ID, "is over", func(r request) bool { return r.State != "pending" })
}

func (d *daemon) allow(r request) { d.t.Helper(); d.decide(r, decision{Behavior: "allow"}) }
func (d *daemon) deny(r request, words string) {
	d.t.Helper()
	d.decide(r, decision{Behavior: "deny", Message: words})
}

// output collects what a program prints; its methods may be called at any time.
type output struct {
	mu sync.Mutex
	b  []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, p...)
	return len(p), nil
}

// tail returns the last n bytes.
func (o *output) tail(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.b[max(0, len(o.b)-n):])
}

// hookRun is one run of assent-hook.
type hookRun struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// hook starts assent-hook with a payload on its standard input.
func (d *daemon) hook(payload []byte, args ...string) *hookRun {
	d.t.Helper()
	return d.run(d.hookCommand(payload, args...))
}

// simulate raises a sample request, as somebody does who tries assent.
func (d *daemon) simulate(kind string) *hookRun {
	d.t.Helper()
	cmd := exec.Command(program("assent"), "simulate", kind, "--state-dir", d.state)
	cmd.Env = d.env()
	cmd.Dir = d.dir
	return d.run(cmd)
}

func (d *daemon) run(cmd *exec.Cmd) *hookRun {
	d.t.Helper()
	h := &hookRun{t: d.t, cmd: cmd}
	h.cmd.Stdout, h.cmd.Stderr = &h.stdout, &h.stderr
	if err := h.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	return h
}

func (d *daemon) hookCommand(payload []byte, args ...string) *exec.Cmd {
	cmd := exec.Command(program("assent-hook"), append([]string{"--socket", d.socket}, args...)...)
	cmd.Env = d.env()
	cmd.Dir = d.dir
	cmd.Stdin = bytes.NewReader(payload)
	return cmd
}

// wait waits for the hook's end, which must be with code 0, and returns what it printed.
func (h *hookRun) wait() string {
	h.t.Helper()
	var exit *exec.ExitError
	if err := h.cmd.Wait(); errors.As(err, &exit) {
		h.t.Errorf("assent-hook ended with code %d: %s", exit.ExitCode(), h.stderr.Bytes())
	}
	if h.stdout.Len() > 0 {
		valid(h.t, "HookOutput", h.stdout.Bytes())
	}
	return h.stdout.String()
}

// valid holds a document against its schema.
func valid(t *testing.T, schema string, doc []byte) {
	t.Helper()
	if err := schemas.Validate(schema, doc); err != nil {
		t.Errorf("%v in %s", err, doc)
	}
}

// bash is the payload of a PermissionRequest for a shell command.
func bash(session, command string) []byte {
	return payload("PermissionRequest", session, map[string]any{"command": command, "description": "A test"})
}

// payload is the payload of an event about a Bash call.
func payload(event, session string, input map[string]any) []byte {
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
const allowed = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`

// denied is what a hook prints for a denial with plain words.
func denied(words string) string {
	return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"` + words + `"}}}`
}
