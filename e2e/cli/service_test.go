package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
)

// TestServiceUnderSystemd installs, breaks, changes and removes the service under a real systemd
// user instance, in namespaces of its own: the user's own instance is never touched.
func TestServiceUnderSystemd(t *testing.T) {
	t.Parallel()
	u := newUserSystemd(t)
	type status struct{ Installed, Running, Ready bool }
	is := func(want status) func() bool {
		return func() bool {
			out, _ := u.assent("service", "status", "--json") // its code says the same
			var got status
			return json.Unmarshal(out, &got) == nil && got == want
		}
	}

	if out, err := u.assent("service", "install", "--", "--listen", "127.0.0.1:0", "--nats-listen", "off"); err != nil {
		t.Fatalf("install: %v\n%s\n%s", err, out, u.log.Tail(2000))
	}
	if !is(status{true, true, true})() {
		t.Error("status does not say that it runs")
	}
	if out, err := u.assent("service", "install", "--", "--listen", "127.0.0.1:0", "--nats-listen", "off"); err != nil || !bytes.Contains(out, []byte("Nothing to do")) {
		t.Errorf("a second install: %v\n%s", err, out)
	}
	fi, err := os.Stat(u.unit())
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the unit: %v, mode %v", err, fi.Mode())
	}
	// The names systemd would expand are in every path, and reach the broker as they are.
	for _, path := range []string{filepath.Join(u.state(), "owner.token"), u.socket()} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	pid := u.pid()
	environ, err := u.run("cat", fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || !bytes.Contains(environ, []byte("XDG_STATE_HOME="+u.stateHome()+"\x00")) {
		t.Errorf("the broker's environment, %v: %q", err, environ)
	}

	// Killed, it comes back; meanwhile status and doctor say so.
	if _, err := u.run("kill", "-9", strconv.Itoa(pid)); err != nil {
		t.Fatal(err)
	}
	if out, err := u.assent("doctor"); err == nil || !bytes.Contains(out, []byte("fail  service")) {
		t.Errorf("doctor on a broker that was killed: %v\n%s", err, out)
	}
	rig.Eventually(t, 3*rig.Soon, "the broker is back", is(status{true, true, true}))

	// up finds it, and starts it when it was stopped, with the flags it has.
	if _, err := u.run("systemctl", "--user", "stop", "assent"); err != nil {
		t.Fatal(err)
	}
	if out, err := u.assent("up"); err != nil || !bytes.Contains(out, []byte("it runs again")) {
		t.Errorf("up on a stopped service: %v\n%s", err, out)
	}
	before, err := os.ReadFile(u.unit())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := u.assent("up", "--service"); err != nil || !bytes.Contains(out, []byte("runs already")) {
		t.Errorf("up on a running service: %v\n%s", err, out)
	}
	if after, err := os.ReadFile(u.unit()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("up changed the unit: %v\n%s", err, after)
	}

	// Other flags replace it.
	if out, err := u.assent("service", "install", "--", "--listen", "127.0.0.1:0", "--nats-listen", "off", "--public-url", "https://box.example.net"); err != nil {
		t.Fatalf("change: %v\n%s", err, out)
	}
	if out, err := u.assent("pair"); err != nil || !strings.HasPrefix(string(out), "https://box.example.net/#pair=") {
		t.Errorf("pair: %v %s", err, out)
	}

	// What does not come up leaves the service that was there.
	before, err = os.ReadFile(u.unit())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := u.assent("service", "install", "--", "--listen", "127.0.0.1:0", "--socket-group", "no-such-group"); err == nil || !bytes.Contains(out, []byte("does not come up")) {
		t.Errorf("a service that cannot start: %v\n%s", err, out)
	}
	rig.Eventually(t, rig.Soon, "the service from before is back", is(status{true, true, true}))
	if after, err := os.ReadFile(u.unit()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the unit from before is lost: %v\n%s", err, after)
	}

	if out, err := u.assent("service", "uninstall"); err != nil {
		t.Fatalf("uninstall: %v\n%s", err, out)
	}
	if !is(status{})() {
		t.Error("after uninstall something is left")
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(u.unit()), "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %q", err, left)
	}

	// A port that is taken is said at once, and nothing stays installed.
	taken := rig.Serve(t)
	url, _ := taken.Owner()
	out, err := u.assent("service", "install", "--", "--listen", strings.TrimPrefix(url, "http://"))
	if err == nil || !bytes.Contains(out, []byte("is taken")) {
		t.Errorf("on a port that is taken: %v\n%s", err, out)
	}
	// So is what serve itself refuses.
	if err := os.Chmod(u.stateHome(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(u.state()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(u.state(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(u.state(), 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := u.assent("service", "install"); err == nil {
		t.Errorf("in a directory that is everybody's:\n%s", out)
	}
	if _, err := os.Stat(u.unit()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a service that cannot start stays installed: %v", err)
	}
}

// userSystemd is a systemd user instance with a home of its own, in its own mount, process and
// control group namespaces.
type userSystemd struct {
	t    *testing.T
	dir  string
	pid1 int // outside; the first process inside
	log  rig.Output
}

// bringUp makes a system that looks to systemd as if it had booted, and runs the user's instance.
const bringUp = `
mount -t tmpfs tmpfs /run/systemd && mkdir -p /run/systemd/system || exit 1
if [ -d /sys/fs/cgroup/systemd ]; then
	mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified &&
	mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd &&
	mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified || exit 1
else
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 1
fi
"$1" --user --log-target=console & # as the first process it would be the system's instance
wait
`

// newUserSystemd starts one, or skips the test where that cannot be: namespaces are not to be had
// in every container, so this is never demanded.
func newUserSystemd(t *testing.T) *userSystemd {
	t.Helper()
	skip := func(err error) {
		t.Helper()
		rig.Count(t, "systemd", "skipped")
		t.Skipf("this test needs a systemd of its own: %v", err)
	}
	program, err := findSystemd()
	if err != nil {
		skip(err)
	}
	dir := rig.TempDir(t)
	u := &userSystemd{t: t, dir: dir}
	for _, d := range []string{"run", "a $HOME 100% home", "a $HOME 100% state"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("/run/systemd", 0o755); err != nil { // to mount on, inside only
		skip(err)
	}
	// A control group of its own, so that systemd moves nobody else's processes.
	var groups []string
	for _, h := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(h, "cgroup.procs")); err != nil {
			continue
		}
		g := filepath.Join(h, filepath.Base(dir))
		if err := os.Mkdir(g, 0o755); err != nil {
			skip(err)
		}
		groups = append(groups, g)
	}
	t.Cleanup(func() {
		for _, g := range groups {
			_ = exec.Command("find", g, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
		}
	})
	script := "for g in " + strings.Join(groups, " ") + "; do echo $$ > $g/cgroup.procs || exit 1; done\n" +
		`exec unshare --mount --cgroup --pid --fork --mount-proc --kill-child /bin/sh -c "$2" sh "$1"`
	cmd := exec.Command("/bin/sh", "-c", script, "sh", program, bringUp)
	cmd.Env = u.env()
	cmd.Stdout, cmd.Stderr = &u.log, &u.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed in the end
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL) // --kill-child ends all inside
		<-ended
	})
	rig.Eventually(t, rig.Soon, "systemd answers", func() bool {
		select {
		case <-ended:
			skip(fmt.Errorf("it does not come up:\n%s", u.log.Tail(2000)))
		default:
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		if err != nil {
			return false
		}
		if u.pid1, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
			return false
		}
		_, err = u.run("systemctl", "--user", "is-system-running")
		return err == nil
	})
	rig.Count(t, "systemd", "ran")
	return u
}

// findSystemd finds a systemd that can be run as a user's instance without getting into the way of
// one that runs already.
func findSystemd() (string, error) {
	if os.Geteuid() != 0 {
		return "", errors.New("only root can give it namespaces of its own")
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return "", errors.New("this machine runs one itself, which is left alone")
	}
	for _, name := range []string{"unshare", "nsenter", "systemctl", "dbus-daemon"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", err
		}
	}
	for _, path := range []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no systemd (Debian: apt-get install systemd dbus)")
}

func (u *userSystemd) home() string { return filepath.Join(u.dir, "a $HOME 100% home") }

func (u *userSystemd) stateHome() string { return filepath.Join(u.dir, "a $HOME 100% state") }

func (u *userSystemd) state() string { return filepath.Join(u.stateHome(), "assent") }

func (u *userSystemd) socket() string { return filepath.Join(u.dir, "run", "assent", "hook.sock") }

func (u *userSystemd) unit() string {
	return filepath.Join(u.home(), ".config", "systemd", "user", "assent.service")
}

func (u *userSystemd) env() []string {
	return []string{"HOME=" + u.home(), "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + filepath.Join(u.dir, "run"), "LANG=C.UTF-8"}
}

// run runs a program beside that systemd and returns all it printed.
func (u *userSystemd) run(args ...string) ([]byte, error) {
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(u.pid1), "--mount", "--pid", "--cgroup", "--"}, args...)...)
	cmd.Env = append(u.env(), "XDG_STATE_HOME="+u.stateHome())
	cmd.Dir = u.home()
	return cmd.CombinedOutput()
}

func (u *userSystemd) assent(args ...string) ([]byte, error) {
	return u.run(append([]string{rig.Program("assent")}, args...)...)
}

// pid is the broker's, as they count inside.
func (u *userSystemd) pid() int {
	u.t.Helper()
	out, err := u.run("systemctl", "--user", "show", "--property=MainPID", "--value", "assent")
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(out)))
	if err := errors.Join(err, convErr); err != nil || pid == 0 {
		u.t.Fatalf("the service's process: %v %s", err, out)
	}
	return pid
}
