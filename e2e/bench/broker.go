package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running assent serve.
type server struct {
	cmd                *exec.Cmd
	dir, socket, token string
	url                string
	http               *http.Client
	readyIn            time.Duration
}

// serve starts a broker on a state directory ("" for a new one), with more arguments, and waits
// until it is ready.
func (b *bench) serve(dir string, more ...string) (*server, error) {
	b.brokers++
	if dir == "" {
		dir = filepath.Join(b.dir, fmt.Sprintf("state%d", b.brokers))
	}
	s := &server{dir: dir, socket: filepath.Join(b.dir, fmt.Sprintf("s%d.sock", b.brokers))}
	s.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	args := []string{"serve", "-q", "--state-dir", dir, "--listen", "127.0.0.1:0", "--socket", s.socket, "--nats-listen", "off"}
	s.cmd = exec.Command(filepath.Join(b.bin, "assent"), append(args, more...)...)
	s.cmd.Env = []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "xdg"), "PATH=" + os.Getenv("PATH")}
	s.cmd.Env = append(s.cmd.Env, b.env...)
	s.cmd.Stderr = os.Stderr
	runtime := filepath.Join(dir, "runtime.json")
	os.Remove(runtime) // a killed broker leaves it
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	for {
		raw, err := os.ReadFile(runtime)
		if err == nil {
			s.readyIn = time.Since(start)
			var info struct {
				HTTPURL string `json:"http_url"`
			}
			if err := json.Unmarshal(raw, &info); err != nil {
				return nil, err
			}
			s.url = info.HTTPURL
			break
		}
		if time.Since(start) > time.Minute {
			s.stop()
			return nil, fmt.Errorf("the broker was not ready within a minute")
		}
		time.Sleep(500 * time.Microsecond)
	}
	token, err := os.ReadFile(filepath.Join(dir, "owner.token"))
	if err != nil {
		return nil, err
	}
	s.token = strings.TrimSpace(string(token))
	return s, nil
}

func (s *server) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
}

// rss is the broker's resident memory in bytes.
func (s *server) rss() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc")
}

func (s *server) call(method, path string, in, out any) (int, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if out != nil && res.StatusCode < 300 {
		return res.StatusCode, json.Unmarshal(b, out)
	}
	return res.StatusCode, nil
}

type pending struct {
	ID          string `json:"id"`
	InputSHA256 string `json:"inputSha256"`
}

// waitPending returns the pending requests as soon as there are n.
func (s *server) waitPending(n int, limit time.Duration) ([]pending, error) {
	for start := time.Now(); time.Since(start) < limit; time.Sleep(2 * time.Millisecond) {
		var ps []pending
		if _, err := s.call("GET", fmt.Sprintf("/v1/requests?state=pending&limit=%d", n), nil, &ps); err != nil {
			return nil, err
		}
		if len(ps) >= n {
			return ps, nil
		}
	}
	return nil, fmt.Errorf("%d requests did not come up in %s", n, limit)
}

func (s *server) allow(p pending) error { return s.allowInTime(p, 0) }

// allowInTime decides again, for so long, where the broker says that it cannot record a decision now.
func (s *server) allowInTime(p pending, limit time.Duration) error {
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		code, err := s.call("POST", "/v1/requests/"+p.ID+"/decision", map[string]string{"behavior": "allow", "inputSha256": p.InputSHA256}, nil)
		switch {
		case err != nil:
			return err
		case code == http.StatusOK:
			return nil
		case code != http.StatusServiceUnavailable || time.Since(start) > limit:
			return fmt.Errorf("decision: status %d", code)
		}
	}
}

func payload(event, session string, n int) []byte {
	return fmt.Appendf(nil, `{"session_id":%q,"transcript_path":"/home/dev/.claude/projects/p/s.jsonl","cwd":"/home/dev/project","permission_mode":"default","hook_event_name":%q,"tool_name":"Bash","tool_input":{"command":"touch /home/dev/project/out-%d.txt","description":"Create a file"},"tool_use_id":"toolu_%024d"}`, session, event, n, n)
}
