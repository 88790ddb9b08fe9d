package broker

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
	"assent/internal/freeport"
)

// natsServer builds the real nats-server, a program as an operator runs it.
var natsServer = sync.OnceValues(func() (string, error) {
	out := rig.Program("nats-server")
	if b, err := exec.Command("go", "build", "-o", out, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nats-server: %w: %s", err, b)
	}
	return out, nil
})

// natsAccounts is a directory that assent nats-accounts wrote.
type natsAccounts string

func newAccounts(t *testing.T, servers ...string) natsAccounts {
	t.Helper()
	dir := filepath.Join(rig.TempDir(t), "accounts")
	if out, err := exec.Command(rig.Program("assent"), "nats-accounts", "--dir", dir, "--servers", strings.Join(servers, ",")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return natsAccounts(dir)
}

// urls are the addresses with a user in them, with commas between.
func (a natsAccounts) urls(t *testing.T, user string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(a), user))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), ",")
}

// file is what a broker is told instead.
func (a natsAccounts) file(user string) string { return "file:" + filepath.Join(string(a), user) }

// dial connects as a user.
func (a natsAccounts) dial(t *testing.T, user string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(a.urls(t, user), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// makeWindows makes the readers' streams as docs/nats.md tells the operator to, and checks who may do what.
func (a natsAccounts) makeWindows(t *testing.T, replicas string) {
	t.Helper()
	rig.Eventually(t, 2*rig.Soon, "the readers' windows", func() bool {
		return exec.Command(rig.Program("assent"), "nats-accounts", "windows", "--dir", string(a), "--replicas", replicas).Run() == nil
	})
	if out, err := exec.Command(rig.Program("assent"), "nats-accounts", "check", "--dir", string(a)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// natsProcess is a nats-server with the configuration that docs/nats.md recommends.
type natsProcess struct {
	t    *testing.T
	conf string
	addr string
	out  rig.Output
	cmd  *exec.Cmd
}

// newNATS prepares a server on addr, with these accounts and the settings of a cluster, and starts it.
func newNATS(t *testing.T, addr string, accounts natsAccounts, cluster string) *natsProcess {
	t.Helper()
	dir := rig.TempDir(t)
	conf := docBlock(t, "conf", "include accounts.conf")
	alone := regexp.MustCompile(`(?m)^cluster .*$`)
	if !alone.MatchString(conf) {
		t.Fatal("the configuration in docs/nats.md has no cluster")
	}
	conf = alone.ReplaceAllString(conf, cluster)
	// What the streams may grow to is reserved, and this machine's disk may be smaller.
	store := fmt.Sprintf(`store_dir: %q, max_file_store: 1TB`, filepath.Join(dir, "store"))
	for old, now := range map[string]string{"listen: 0.0.0.0:4222": "listen: " + addr, `store_dir: "/var/lib/nats"`: store} {
		if !strings.Contains(conf, old) {
			t.Fatalf("the configuration in docs/nats.md has no %q", old)
		}
		conf = strings.Replace(conf, old, now, 1)
	}
	users, err := os.ReadFile(filepath.Join(string(accounts), "accounts.conf"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "accounts.conf"), users, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &natsProcess{t: t, conf: filepath.Join(dir, "nats.conf"), addr: addr}
	if err := os.WriteFile(p.conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("nats-server said:\n%s", p.out.Tail(3000))
		}
	})
	p.start()
	return p
}

func (p *natsProcess) start() {
	p.t.Helper()
	path, err := natsServer()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(path, "-c", p.conf)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	rig.Eventually(p.t, rig.Soon, "nats-server listens", func() bool {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// kill ends the server as a crash would. It may have ended already.
func (p *natsProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// strangerInfo is what somebody writes down for a program that reads as the user reader.
func strangerInfo(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "info.json")
	text := fmt.Sprintf(`{"url":%q,"token":"","stream":"HOOK_EVENTS","subjects":"hooks.>"}`, address)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ownReaders are assent's own readers of both kinds, by the environment of older programs.
func ownReaders(t *testing.T, d *rig.Daemon, address string) []*rig.Lines {
	t.Helper()
	var all []*rig.Lines
	for _, args := range [][]string{nil, {"--durable", "coop-2"}} {
		cmd := exec.Command(rig.Program("assent"), append([]string{"events", "--state-dir", t.TempDir(), "--all", "--json"}, args...)...)
		cmd.Env = append(d.Env(), "COOP_NATS_URL="+address)
		all = append(all, rig.StartLines(t, cmd))
	}
	return all
}

// readEach checks that a reader printed each of n different events once, and nothing besides.
func readEach(t *testing.T, l *rig.Lines, n int) {
	t.Helper()
	seen := map[string]bool{}
	for _, line := range l.Await(n) {
		if _, ok := markerOf(t, line); ok || seen[line] {
			t.Errorf("%s: printed %s", l.Cmd, line)
		}
		seen[line] = true
	}
	if len(seen) != n {
		t.Errorf("%s: %d events of %d", l.Cmd, len(seen), n)
	}
}

// TestRealNATSServer: with a nats-server of the operator's own, as docs/nats.md sets it up, a
// stranger's reader gets everything, once and in order, while the server and the broker are
// killed, and may do nothing but read.
func TestRealNATSServer(t *testing.T) {
	t.Parallel()
	const agents, hooks = 8, 30
	reader := buildDocProgram(t)
	addr := rig.FreePort(t)
	accounts := newAccounts(t, addr)
	nats := newNATS(t, addr, accounts, "")
	d := rig.Serve(t, "--nats-url", accounts.file("assent"), "--record-url", accounts.file("record"))
	accounts.makeWindows(t, "1")
	info := strangerInfo(t, accounts.urls(t, "reader"))
	coop := stranger(t, reader, info, "coop-1")
	waiting := d.Hook(rig.Bash("w", "echo waiting"))
	r := d.WaitPending(1)[0]
	coop.Await(1)
	own := ownReaders(t, d, accounts.urls(t, "reader"))
	for _, l := range own {
		l.Await(1)
	}

	work := runSessions(t, d, agents, hooks)
	for i, strike := range []func(){
		func() { nats.kill(); work.ended(agents*hooks/4 + agents); nats.start() },
		func() { d.Kill(); d.Start() },
		func() { nats.kill(); d.Kill(); nats.start(); d.Start() },
	} {
		work.ended((i + 1) * agents * hooks / 4)
		strike()
	}
	work.wg.Wait()
	got := parseEvents(t, coop.Await(1+agents*hooks))
	if first := got[0]; first.subject != "hooks.PermissionRequest" || first.raw != r.Raw && r.Raw != "" {
		t.Errorf("the first event is %+v", first)
	}
	work.check(got[1:])

	for _, l := range own {
		readEach(t, l, len(got))
	}

	mayOnlyRead(t, d, accounts.dial(t, "reader"), "HOOK_EVENTS", len(got))
	d.Allow(d.WaitPending(1)[0])
	if out := waiting.Wait(); out != rig.Allowed {
		t.Errorf("the waiting hook got %q", out)
	}
}

// TestNATSCluster: three servers with three replicas of everything; the one that leads the
// events is killed while hooks run, and comes back.
func TestNATSCluster(t *testing.T) {
	t.Parallel()
	const nodes, agents, hooks = 3, 6, 20
	reader := buildDocProgram(t)
	ports, err := freeport.Find(2 * nodes)
	if err != nil {
		t.Fatal(err)
	}
	var routes, addresses []string
	for i, port := range ports[:nodes] {
		routes, addresses = append(routes, freeport.Address(port)), append(addresses, freeport.Address(ports[nodes+i]))
	}
	accounts := newAccounts(t, addresses...)
	servers := map[string]*natsProcess{}
	for i, route := range routes {
		name := fmt.Sprintf("n%d", i)
		servers[name] = newNATS(t, addresses[i], accounts, fmt.Sprintf("server_name: %s\ncluster { name: c, listen: %q, routes: [ nats://%s ] }", name, route, strings.Join(routes, ", nats://")))
	}
	admin, err := jetstream.New(accounts.dial(t, "assent"))
	if err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, 2*rig.Soon, "the cluster has a leader", func() bool {
		_, err := admin.AccountInfo(t.Context())
		return err == nil
	})
	d := rig.Serve(t, "--nats-url", accounts.file("assent"), "--record-url", accounts.file("record"), "--nats-replicas", fmt.Sprint(nodes))
	accounts.makeWindows(t, fmt.Sprint(nodes))
	coop := stranger(t, reader, strangerInfo(t, accounts.urls(t, "reader")), "coop-1")
	own := ownReaders(t, d, accounts.urls(t, "reader"))

	leader := func() string {
		st, err := admin.Stream(t.Context(), "EVENTS")
		if err != nil || st.CachedInfo().Cluster == nil {
			return ""
		}
		if n := st.CachedInfo().Config.Replicas; n != nodes {
			t.Fatalf("EVENTS has %d replicas", n)
		}
		return st.CachedInfo().Cluster.Leader
	}
	work := runSessions(t, d, agents, hooks)
	work.ended(agents * hooks / 3)
	for _, l := range own { // one that has not begun gives up
		l.Await(1)
	}
	var led string
	rig.Eventually(t, rig.Soon, "somebody leads the events", func() bool { led = leader(); return led != "" })
	servers[led].kill()
	work.ended(agents*hooks/3 + agents)
	servers[led].start()
	work.wg.Wait()
	work.check(parseEvents(t, coop.Await(agents*hooks)))
	for _, l := range own {
		readEach(t, l, agents*hooks)
	}
}
