package relay

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assent/e2e/rig"
)

// domain is the relay's name. Names of the DNS lead to this machine where the world is told so: the authority
// by its DNS server, the brokers by their proxy, the browser by its own rules.
const domain = "relay.example"

// world is an authority, a relay, and what leads to them.
type world struct {
	t      *testing.T
	dir    string
	listen string // the relay's address, for everybody
	behind string // where it listens; listen unless a tap is before it
	acme   string // the authority's directory
	roots  string // file: whom brokers, the relay and browsers trust
	proxy  string // URL of a proxy for brokers
	relay  *program
	args   []string // more of the relay
}

// newWorld starts the authority; the relay is started by start.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: rig.TempDir(t), listen: rig.FreePort(t)}
	w.behind = w.listen
	certFile, keyFile := rig.Certificate(t, w.dir)
	api, manage, dns := rig.FreePort(t), rig.FreePort(t), rig.FreePort(t)
	config := filepath.Join(w.dir, "pebble.json")
	port := func(address string) json.Number { return json.Number(address[strings.LastIndex(address, ":")+1:]) }
	b, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": api, "managementListenAddress": manage, "certificate": certFile, "privateKey": keyFile,
		"httpPort": port(rig.FreePort(t)), "tlsPort": port(w.listen), "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "for tests", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, b, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, tool(t, "pebble-challtestsrv"), nil, "-dnsserver", dns, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", "")
	run(t, tool(t, "pebble"), []string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=10"}, "-config", config, "-dnsserver", dns)
	w.acme = "https://" + api + "/dir"
	w.roots = filepath.Join(w.dir, "roots.pem")
	client := rig.Trusting(t, certFile)
	var root []byte
	rig.Eventually(t, rig.Soon, "the authority's root", func() bool {
		res, err := client.Get("https://" + manage + "/roots/0")
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		root, err = io.ReadAll(res.Body)
		return err == nil && res.StatusCode == http.StatusOK
	})
	own, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string][]byte{w.roots: append(own, root...), w.root(): root} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.proxy = connectProxy(t, w.listen)
	return w
}

// tap has all connections of the relay pass a tap. It comes before start.
func (w *world) tap() *tap {
	w.t.Helper()
	w.behind = rig.FreePort(w.t)
	return tapped(w.t, w.listen, w.behind)
}

// root is the file of the authority's root, for browsers.
func (w *world) root() string { return filepath.Join(w.dir, "root.pem") }

// state is the relay's state directory.
func (w *world) state() string { return filepath.Join(w.dir, "relay") }

// start starts the relay (again) and waits until it has its certificate.
func (w *world) start() {
	w.t.Helper()
	args := append([]string{"relay", "--state-dir", w.state(), "--domain", domain, "--listen", w.behind, "--acme", w.acme}, w.args...)
	w.relay = run(w.t, rig.Program("assent"), []string{"SSL_CERT_FILE=" + w.roots}, args...)
	rig.Eventually(w.t, rig.Soon, "the relay's certificate", func() bool {
		c, err := tls.Dial("tcp", w.listen, &tls.Config{ServerName: domain, InsecureSkipVerify: true}) // is it there?
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}

// token makes a token and puts it into a file.
func (w *world) token(name string) (file string) {
	w.t.Helper()
	cmd := exec.Command(rig.Program("assent"), "relay", "token", name, "--state-dir", w.state())
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("assent relay token: %v", err)
	}
	file = filepath.Join(w.dir, name+".token")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// page is the address of a name.
func (w *world) page(name string) string {
	return "https://" + name + "." + domain + w.listen[strings.LastIndex(w.listen, ":"):]
}

// broker prepares a broker that uses the relay with a token.
func (w *world) broker(tokenFile string) *rig.Daemon {
	w.t.Helper()
	d := rig.NewDaemon(w.t, "--relay", "wss://"+domain+w.listen[strings.LastIndex(w.listen, ":"):], "--relay-token-file", tokenFile, "--relay-acme", w.acme)
	d.More = []string{"SSL_CERT_FILE=" + w.roots, "HTTPS_PROXY=" + w.proxy}
	return d
}

// served waits until a name is served with a certificate of the authority.
func (w *world) served(name string) {
	w.t.Helper()
	client := rig.Trusting(w.t, w.root())
	host := name + "." + domain
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = host
	last := ""
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%s at last: %s", host, last)
		}
	})
	rig.Eventually(w.t, rig.Soon, host+" is served", func() bool {
		req, err := http.NewRequest("GET", "https://"+w.listen+"/readyz", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Host = strings.TrimPrefix(w.page(name), "https://")
		res, err := client.Do(req)
		if err != nil {
			last = err.Error()
			return false
		}
		_ = res.Body.Close()
		last = res.Status
		return res.StatusCode == http.StatusNoContent
	})
}

// program is one that runs for a test.
type program struct {
	cmd   *exec.Cmd
	said  rig.Output
	ended chan struct{} // closed when cmd has been waited for
}

// run starts a program with an environment of its own, and ends it with the test.
func run(t *testing.T, path string, env []string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Env = append([]string{"HOME=" + rig.TempDir(t), "PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // killed
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(path), p.said.Tail(4000))
		}
	})
	return p
}

// kill ends a program as a crash would, and waits for its end.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

var tools sync.Mutex

// tool builds one of the authority's programs, whose version is in go.mod.
func tool(t *testing.T, name string) string {
	t.Helper()
	tools.Lock()
	defer tools.Unlock()
	path := filepath.Join(toolDir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "build", "-o", path, "github.com/letsencrypt/pebble/v2/cmd/"+name)
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// connectProxy is a proxy that leads everybody to one address, whatever name they ask for.
func connectProxy(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				req, err := http.ReadRequest(r)
				if err != nil || req.Method != http.MethodConnect || !strings.HasPrefix(req.Host, domain+":") {
					return
				}
				up, err := net.Dial("tcp", to)
				if err != nil {
					_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
					return
				}
				defer func() { _ = up.Close() }()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				go func() {
					_, _ = io.Copy(up, r)
					_ = up.Close()
				}()
				_, _ = io.Copy(c, up)
			}()
		}
	}()
	return (&url.URL{Scheme: "http", Host: l.Addr().String()}).String()
}
