package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// older is the release before rig.ReleaseVersion.
const older = "9.8.6"

// newOldMachine has the older release, as install.sh would have put it there, which looks for newer ones
// at url.
func newOldMachine(t *testing.T, url string) *machine {
	t.Helper()
	m := newMachine(t)
	bin := filepath.Join(m.home, ".local/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := rig.BuildOlder(bin, older, url); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(m.home, ".local/share/assent/installed")
	if err := os.MkdirAll(filepath.Dir(list), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte("bin/assent\nbin/assent-contain\nbin/assent-hook\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.argv = []string{filepath.Join(bin, "assent")}
	return m
}

type updated struct {
	Current, Found, Previous, Way, Broker string
	Newer, Replaced                       bool
}

func (m *machine) update(args ...string) (u updated) {
	m.t.Helper()
	if err := json.Unmarshal([]byte(m.assent(append([]string{"update", "--json"}, args...)...)), &u); err != nil {
		m.t.Fatal(err)
	}
	return u
}

// fails wants an update that fails, says why, and leaves the programs as they are.
func (m *machine) fails(why string, args ...string) {
	m.t.Helper()
	before := m.assent("version")
	out, err := m.command(append(append([]string{}, m.argv...), args...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), why) {
		m.t.Errorf("%v: %v\n%s, want %q", args, err, out, why)
	}
	if after := m.assent("version"); after != before {
		m.t.Errorf("%v failed, and the programs are %s, before it %s", args, after, before)
	}
}

// TestReleaseUpdate updates the older release while twenty requests wait, and goes back. Each of them is
// answered, by brokers of three starts.
func TestReleaseUpdate(t *testing.T) {
	t.Parallel()
	dist := rig.TheRelease(t)
	url := serveRelease(t, dist, func(_ string, data []byte) []byte { return data })
	m := newOldMachine(t, url)
	bin := filepath.Join(m.home, ".local/bin")

	var log rig.Output
	serve := func() (stop func()) {
		c := m.start(&log, append(m.argv, "serve", "--listen", "127.0.0.1:0", "--nats-listen", "off")...)
		rig.Eventually(t, rig.Soon, "the broker", func() bool { return m.broker().PID == c.Process.Pid })
		return func() {
			_ = c.Process.Signal(os.Interrupt)
			_ = c.Wait()
		}
	}
	stop := serve()
	const requests = 20
	type waiting struct {
		cmd *exec.Cmd
		out rig.Output
	}
	hooks := make([]waiting, requests)
	for i := range hooks {
		h := &hooks[i]
		h.cmd = m.command(filepath.Join(bin, "assent-hook"), "--socket", m.broker().Socket)
		h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = strings.NewReader(string(rig.Bash("update", "touch "+string(rune('a'+i))))), &h.out, &log
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	}
	rig.Eventually(t, rig.Soon, "all wait", func() bool { return len(m.pending()) == requests })
	allow := func(n int) {
		t.Helper()
		rig.Eventually(t, rig.Soon, "they are back", func() bool { return len(m.pending()) >= n })
		for _, id := range m.pending()[:n] {
			m.assent("allow", id)
		}
	}

	if u := m.update("--check"); u != (updated{Current: older, Found: rig.ReleaseVersion, Newer: true, Way: "script"}) {
		t.Errorf("check: %+v", u)
	}
	if u := m.update(); u != (updated{Current: older, Found: rig.ReleaseVersion, Newer: true, Replaced: true, Previous: older, Way: "script", Broker: older}) {
		t.Errorf("update: %+v", u)
	}
	saysVersion(t, bin)
	allow(5) // by the old broker
	stop()
	stop = serve()
	if v := m.broker().Version; v != rig.ReleaseVersion {
		t.Errorf("the broker is %s", v)
	}
	allow(10) // by the new one
	if u := m.update("--from", url); u.Replaced || u.Newer {
		t.Errorf("a second update: %+v", u)
	}
	if u := m.update("--back"); u != (updated{Current: rig.ReleaseVersion, Found: older, Replaced: true, Previous: rig.ReleaseVersion, Way: "script", Broker: rig.ReleaseVersion}) {
		t.Errorf("back: %+v", u)
	}
	stop()
	defer serve()()
	allow(5)
	for i := range hooks {
		h := &hooks[i]
		if err := h.cmd.Wait(); err != nil || !strings.Contains(h.out.Tail(4000), `"behavior":"allow"`) {
			t.Errorf("hook %d: %v %s", i, err, h.out.Tail(4000))
		}
	}
	if t.Failed() {
		t.Log(log.Tail(6000))
	}

	// install.sh takes away what an update left, too.
	in := &installer{t: t, script: filepath.Join(dist, "install.sh"), shell: []string{"sh"}, path: os.Getenv("PATH"), home: m.home}
	if out, ok := in.run("--remove"); !ok {
		t.Error(out)
	}
	if left := below(t, filepath.Join(m.home, ".local/bin")); len(left) > 0 {
		t.Errorf("after install.sh --remove there are %q", left)
	}
}

// TestReleaseUpdateRefuses: what is not signed, older, or not whole is not taken.
func TestReleaseUpdateRefuses(t *testing.T) {
	t.Parallel()
	dist := rig.TheRelease(t)
	m := newOldMachine(t, "")
	m.fails("not told where releases lie", "update")
	for _, name := range []string{"SHA256SUMS", "SHA256SUMS.minisig", assetOf("linux", "amd64", ".tar.gz"), assetOf("linux", "arm64", ".tar.gz")} {
		url := serveRelease(t, dist, func(asked string, data []byte) []byte {
			if asked == name {
				data[len(data)/2] ^= 1
			}
			return data
		})
		if name == "SHA256SUMS" || strings.HasSuffix(name, ".minisig") || name == assetOf("linux", runtime.GOARCH, ".tar.gz") {
			m.fails("not signed with the key", "update", "--from", url)
		}
	}
	m.fails("no earlier programs are kept", "update", "--back")
	m.fails("goes with none of", "update", "--back", "--check")
	m.fails("want https", "update", "--from", "http://downloads.example/assent")
	m.fails("lies assent "+rig.ReleaseVersion, "update", "--to", "9.8.5", "--from", dist)

	newer := newMachine(t)
	bin := filepath.Join(newer.home, "bin")
	if err := rig.BuildOlder(bin, "10.0.0", dist); err != nil {
		t.Fatal(err)
	}
	newer.argv = []string{filepath.Join(bin, "assent")}
	newer.fails("older than this assent", "update")
	if u := newer.update("--to", rig.ReleaseVersion); !u.Replaced || u.Newer || u.Way != "hand" {
		t.Errorf("to an older one by its name: %+v", u)
	}
	saysVersion(t, bin)

	built := newMachine(t) // as make build builds it
	built.argv = []string{rig.Program("assent")}
	built.fails("without a release's key", "update", "--from", dist)
}
