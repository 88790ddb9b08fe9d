package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// machine is a home in which nothing of assent is, and no Go.
type machine struct {
	t    *testing.T
	home string
	path string   // PATH
	argv []string // what runs assent
}

// newMachine has only the programs of a small system, and those named.
func newMachine(t *testing.T, more ...string) *machine {
	t.Helper()
	home := rig.TempDir(t)
	return &machine{t: t, home: home, path: only(t, append(more, "sh", "env", "ls", "uname", "cat")...)}
}

func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	if found, err := exec.LookPath(args[0]); err == nil {
		c.Path = found
	}
	c.Dir = m.home
	c.Env = []string{"HOME=" + m.home, "PATH=" + m.path, "XDG_RUNTIME_DIR=" + m.home, "LANG=C.UTF-8", "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false"}
	return c
}

// run wants a program to end well and returns what it printed.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	var errs strings.Builder
	c := m.command(args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		m.t.Fatalf("%v: %v\n%s%s", args, err, out, errs.String())
	}
	return string(out)
}

// assent is run with assent in front.
func (m *machine) assent(args ...string) string {
	m.t.Helper()
	return m.run(append(append([]string{}, m.argv...), args...)...)
}

// start starts a program and ends it with the test.
func (m *machine) start(out *rig.Output, args ...string) *exec.Cmd {
	m.t.Helper()
	c := m.command(args...)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// broker is what runtime.json says, the zero value if none runs.
func (m *machine) broker() (b struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Socket  string `json:"socket"`
}) {
	text, err := os.ReadFile(filepath.Join(m.home, ".local/state/assent/runtime.json"))
	if err == nil {
		_ = json.Unmarshal(text, &b) // half written: not yet
	}
	return b
}

// up runs the first command of the README without a person, and returns when the broker is ready.
func (m *machine) up() *exec.Cmd {
	m.t.Helper()
	var out rig.Output
	c := m.start(&out, append(append([]string{}, m.argv...), "up", "--yes", "--no-service", "--listen", "127.0.0.1:0")...)
	rig.Eventually(m.t, rig.Soon, "the broker of assent up", func() bool { return m.broker().PID != 0 })
	m.t.Cleanup(func() {
		if p, err := os.FindProcess(m.broker().PID); err == nil && m.broker().PID > 1 {
			_ = p.Kill() // npx does not end what it started when it is killed
		}
		if m.t.Failed() {
			m.t.Logf("up said:\n%s", out.Tail(4000))
		}
	})
	return c
}

// pending are the ids of what waits.
func (m *machine) pending() (ids []string) {
	m.t.Helper()
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(m.assent("pending", "--json")), &list); err != nil {
		m.t.Fatal(err)
	}
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// firstApproval raises a sample request and allows it.
func (m *machine) firstApproval() {
	m.t.Helper()
	var out rig.Output
	c := m.start(&out, append(append([]string{}, m.argv...), "simulate", "bash")...)
	rig.Eventually(m.t, rig.Soon, "the sample waits", func() bool { return len(m.pending()) == 1 })
	m.assent("allow", m.pending()[0])
	if err := c.Wait(); err != nil || !strings.Contains(out.Tail(4000), `"behavior":"allow"`) {
		m.t.Errorf("simulate: %v\n%s", err, out.Tail(4000))
	}
}

// TestReleaseFirstApproval takes the script's and Debian's assent from nothing to an approval.
func TestReleaseFirstApproval(t *testing.T) {
	t.Parallel()
	dist := rig.TheRelease(t)
	t.Run("script", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		in := &installer{t: t, script: filepath.Join(dist, "install.sh"), shell: []string{"sh"}, path: os.Getenv("PATH"), home: m.home}
		if out, ok := in.run(); !ok {
			t.Fatal(out)
		}
		m.argv = []string{filepath.Join(m.home, ".local/bin/assent")}
		m.up()
		m.firstApproval()
	})
	t.Run("deb", func(t *testing.T) {
		t.Parallel()
		rig.Need(t, "dpkg")
		m := newMachine(t)
		root := filepath.Join(m.home, "root")
		if out, err := exec.Command("dpkg-deb", "--extract", debOf(dist), root).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m.argv = []string{filepath.Join(root, "usr/bin/assent")}
		m.up()
		m.firstApproval()
	})
}
