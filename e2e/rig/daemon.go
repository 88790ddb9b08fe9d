package rig

import (
	"bytes"
	"encoding/json"
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
