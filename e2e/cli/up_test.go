package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/auth/authtest"
)

// screen is a terminal with a person's home: a private tmux server with one shell in it.
type screen struct {
	t    *testing.T
	tmux string
	dir  string // holds everything; the home is home/ in it
	env  []string
}

// newScreen opens a terminal in which assent and, as given, the real claude are on the path.
func newScreen(t *testing.T, path string, env ...string) *screen {
	t.Helper()
	s := &screen{t: t, tmux: rig.Need(t, "tmux"), dir: rig.TempDir(t)}
	for _, d := range []string{"home/project", "run"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{
		"HOME=" + s.home(), "PATH=" + path, "XDG_RUNTIME_DIR=" + filepath.Join(s.dir, "run"),
		"TERM=xterm-256color", "LANG=C.UTF-8", "PS1=$ ", "TMUX_TMPDIR=" + s.dir,
	}
	s.env = append(s.env, env...)
	s.do("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "200", "-c", filepath.Join(s.home(), "project"), "/bin/sh")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the terminal shows:\n%s", strings.TrimSpace(s.shows()))
		}
		_, _ = s.try("kill-server")
	})
	s.see(`(?m)^[$#]`)
	return s
}

func (s *screen) home() string { return filepath.Join(s.dir, "home") }

func (s *screen) try(args ...string) (string, error) {
	cmd := exec.Command(s.tmux, append([]string{"-L", "up"}, args...)...)
	cmd.Env = s.env
	out, err := cmd.Output()
	return string(out), err
}

func (s *screen) do(args ...string) {
	s.t.Helper()
	if _, err := s.try(args...); err != nil {
		s.t.Fatalf("tmux %s: %v", strings.Join(args, " "), err)
	}
}

// line types a line.
func (s *screen) line(text string) {
	s.t.Helper()
	if text != "" {
		s.do("send-keys", "-l", "--", text)
	}
	s.do("send-keys", "Enter")
}

// afresh types a line on an empty screen: what is seen from now on is of its doing.
func (s *screen) afresh(text string) {
	s.t.Helper()
	s.line("clear")
	s.see(`^[$#]\s*$`)
	s.line(text)
}

// shows returns the screen, with wrapped lines in one.
func (s *screen) shows() string {
	out, _ := s.try("capture-pane", "-p", "-J") // empty once it is gone
	return out
}

// see waits until the screen matches and returns the first group, or the whole match.
func (s *screen) see(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	var m []string
	rig.Eventually(s.t, rig.Soon, "the terminal shows "+pattern, func() bool {
		m = re.FindStringSubmatch(s.shows())
		return m != nil
	})
	return m[len(m)-1]
}

// TestUpAsksAndRuns goes through the first run as a person at a terminal does, with the real
// client installed: choose, agree, pair, stop.
func TestUpAsksAndRuns(t *testing.T) {
	t.Parallel()
	bin := rig.TempDir(t)
	if err := os.Symlink(rig.Need(t, "claude"), filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	// A stand-in for the system's own: it notes what it is given, and what stands in that.
	open := "#!/bin/sh\nexec > \"$HOME/../opened.new\"\necho \"$* $(stat -c %a \"$1\")\"; cat \"$1\"; mv \"$HOME/../opened.new\" \"$HOME/../opened\"\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(open), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, os.Getenv(rig.BinEnv)+":"+bin+":/usr/bin:/bin", "DISPLAY=:99")
	settings := filepath.Join(s.home(), ".claude", "settings.json")

	// Ctrl-C at the first question leaves everything as it was.
	s.line("assent up --listen 127.0.0.1:0; echo code $?")
	s.see(`1, 2 or 3 \[3\]:`)
	s.do("send-keys", "C-c")
	s.see(`stopped; nothing was changed\s+code 1`)
	if _, err := os.Stat(settings); err == nil {
		t.Error("something was written before the answer")
	}

	// No to the hooks is an answer; the rest goes on without them.
	s.afresh("assent up --listen 127.0.0.1:0; echo code $?")
	s.see(`1, 2 or 3 \[3\]:`)
	s.line("4")
	s.see(`Please answer 1, 2 or 3\.\s+1, 2 or 3 \[3\]:`)
	s.line("1")
	s.see(`In short: the hook runs for \d+ events[^$#]*Write this to .*\[Y/n/d\]`)
	if screen := s.shows(); strings.Contains(screen, "PermissionRequest") {
		t.Errorf("the lines are shown before they are asked for:\n%s", screen)
	}
	s.line("d")
	s.see(`PermissionRequest[^$]*Write this to .*\[Y/n/d\]`)
	s.line("n")
	s.see(`Nothing was written`)
	s.see(`Waiting for it`)
	s.do("send-keys", "C-c")
	s.see(`The broker has stopped[^$#]*code 0`)
	if _, err := os.Stat(settings); err == nil {
		t.Error("the settings were written after a no")
	}

	s.afresh("assent up --listen 127.0.0.1:0; echo code $?")
	s.see(`1, 2 or 3 \[3\]:`)
	s.line("")
	s.see(`Write this to .*\[Y/n/d\]`)
	s.line("")
	s.see(`Claude Code asks assent from now on`)
	url := s.see(`(http://127.0.0.1:\d+/#pair=\S+)`)
	s.see(`Your browser opens it`)
	var opened []byte
	rig.Eventually(t, rig.Soon, "the browser is given the link, in a file of this user's", func() bool {
		opened, _ = os.ReadFile(filepath.Join(s.dir, "opened"))
		return bytes.Contains(opened, []byte(url)) // else it is that of the run before
	})
	if given, _, _ := strings.Cut(string(opened), "\n"); strings.Contains(given, "pair=") || !strings.HasSuffix(given, ".html 600") {
		t.Errorf("the browser was given:\n%s", opened)
	}
	s.see(`Waiting for it`)
	written, err := os.ReadFile(settings)
	if err != nil || !bytes.Contains(written, []byte("PermissionRequest")) || !bytes.Contains(written, []byte(`"defaultMode": "default"`)) {
		t.Errorf("the settings: %v\n%s", err, written)
	}
	redeem(t, url, "Chrome on Linux")
	rig.Eventually(t, rig.Soon, "the file is taken away", func() bool {
		left, err := filepath.Glob(filepath.Join(s.home(), "assent-pair-*"))
		return err == nil && len(left) == 0
	})
	s.see(`Paired: Chrome on Linux \(approve\)`)
	s.see(`Set up a phone now\?.* \[y/N\]`)
	s.line("")
	s.see(`No, keep manual mode[^$#]*All is well: start claude in a project, and what it asks waits in the paired browser\.\s*$`)
	if screen := s.shows(); strings.Contains(screen, "WARN") || strings.Contains(screen, "4222") {
		t.Errorf("a line of the log in the middle of the steps:\n%s", screen)
	}

	// A request of the hook that was written reaches this broker.
	h := &rig.HookRun{T: t, Cmd: exec.Command(rig.Program("assent-hook"), hookArgs(t, written)...)}
	h.Cmd.Env = s.env
	h.Cmd.Stdin = bytes.NewReader(rig.Bash("first", "touch x"))
	h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
	if err := h.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
	var id string
	rig.Eventually(t, rig.Soon, "the request waits", func() bool {
		var rs []rig.Request
		out, _ := s.command("pending", "--json")
		if json.Unmarshal(out, &rs) != nil || len(rs) != 1 {
			return false
		}
		id = rs[0].ID
		return true
	})
	if out, err := s.command("allow", id); err != nil {
		t.Errorf("allow: %v %s", err, out)
	}
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}

	// Once all is set up, up says so and is over.
	if out, err := s.command("up"); err != nil || !strings.Contains(string(out), "All is well") || strings.Contains(string(out), "#pair=") {
		t.Errorf("a second up: %v\n%s", err, out)
	}
	s.do("send-keys", "C-c")
	s.see(`The broker has stopped[^$#]*code 0`)
	if log := s.shows(); strings.Contains(log, "INFO") {
		t.Errorf("the log is not quiet:\n%s", log)
	}
}

// TestUpEndsWithItsTerminal closes the terminal: the broker stops in order.
func TestUpEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	s := newScreen(t, os.Getenv(rig.BinEnv))
	s.line("assent up --no-service --listen 127.0.0.1:0")
	s.see(`No claude was found`)
	s.see(`Waiting for it`)
	runtime := filepath.Join(s.home(), ".local", "state", "assent", "runtime.json")
	if _, err := os.Stat(runtime); err != nil {
		t.Fatal(err)
	}
	_, _ = s.try("kill-server") // its client may be told that the server is lost, which it is to be
	rig.Eventually(t, rig.Soon, "the broker ends and takes runtime.json with it", func() bool {
		_, err := os.Stat(runtime)
		return os.IsNotExist(err)
	})
}

// command runs an assent command beside the terminal, with its environment.
func (s *screen) command(args ...string) ([]byte, error) {
	cmd := exec.Command(rig.Program("assent"), args...)
	cmd.Env = s.env
	cmd.Dir = filepath.Join(s.home(), "project")
	return cmd.Output()
}

// hookArgs are the arguments of the PermissionRequest hook in a settings file.
func hookArgs(t *testing.T, settings []byte) []string {
	t.Helper()
	var file struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Args []string `json:"args"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(settings, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Hooks["PermissionRequest"] {
		for _, h := range g.Hooks {
			return h.Args
		}
	}
	t.Fatalf("no PermissionRequest hook in %s", settings)
	return nil
}

// redeem pairs a device by a link, as a browser does.
func redeem(t *testing.T, link, name string) {
	t.Helper()
	base, code, _ := strings.Cut(link, "/#pair=")
	body, err := json.Marshal(map[string]any{"code": code, "publicKey": authtest.NewKey().JWK(), "name": name})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(base+"/v1/pair/redeem", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("redeem %s: %s", link, res.Status)
	}
}
