package e2e

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// docsBlock returns the first fenced block of a language after a heading of a page of docs/.
// The tests below run what the page says, with other ports.
func docsBlock(t *testing.T, page, heading, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(section)
	if m == nil {
		t.Fatalf("%s has no %s block under %q", page, language, heading)
	}
	return m[1]
}

// trustRoots makes the browser of a profile trust certificates, as a person does on a phone.
func trustRoots(t *testing.T, profile string, files []string) {
	t.Helper()
	if len(files) == 0 {
		return
	}
	certutil := need(t, "certutil")
	db := filepath.Join(profile, ".pki", "nssdb")
	if err := os.MkdirAll(db, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		cmd := exec.Command(certutil, "-d", "sql:"+db, "-A", "-t", "C,,", "-n", filepath.Base(file), "-i", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("certutil: %v\n%s", err, out)
		}
	}
}

// approvesOver pairs the browser at the page's address and allows a request there.
func (b *browser) approvesOver(d *daemon, page string) {
	b.t.Helper()
	var link struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(d.command("pair", "--json")), &link); err != nil {
		b.t.Fatal(err)
	}
	if !strings.HasPrefix(link.URL, page+"/#") {
		b.t.Errorf("the pairing link is %s, want one to %s", link.URL, page)
	}
	b.do(chromedp.Navigate(link.URL))
	b.see("main", "Nothing waits for you")
	if !value(b, chromedp.Evaluate[bool](`isSecureContext && location.protocol === "https:"`)) {
		b.t.Error("the page is in no secure context")
	}
	h := d.hook(bash("s", "touch over-tls"))
	b.see(open, "touch over-tls")
	b.tap(open + " button.allow")
	if out := h.wait(); out != allowed {
		b.t.Errorf("the hook printed %q", out)
	}
	if r := d.settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		b.t.Errorf("decided by %+v, want the paired device", r.DecidedBy)
	}
	if said := b.said.tail(2000); said != "" {
		b.t.Errorf("the page threw: %s", said)
	}
}

// TestPhoneOwnCertificate runs the openssl commands of docs/phone.md and approves over the
// certificate they make.
func TestPhoneOwnCertificate(t *testing.T) {
	t.Parallel()
	need(t, "openssl")
	dir := tempDir(t)
	cmd := exec.Command("sh", "-eu", "-c", docsBlock(t, "phone.md", "A certificate of your own", "sh"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the commands of docs/phone.md: %v\n%s", err, out)
	}
	ca := filepath.Join(dir, "ca.pem")
	listen := freePort(t)
	page := "https://box.example:" + portOf(listen)
	d := newDaemon(t, "--listen", listen, "--tls-cert", filepath.Join(dir, "box.pem"), "--tls-key", filepath.Join(dir, "box.key"), "--public-url", page)
	d.client = trusting(t, ca)
	d.client.Transport.(*http.Transport).TLSClientConfig.ServerName = "box.example"
	d.start()
	newBrowser(t, ca).approvesOver(d, page)
}

// TestPhoneCaddy puts the Caddyfile of docs/phone.md before the broker.
func TestPhoneCaddy(t *testing.T) {
	t.Parallel()
	caddy := need(t, "caddy")
	listen, front := freePort(t), freePort(t)
	page := "https://box.example:" + portOf(front)
	d := serve(t, "--listen", listen, "--public-url", page, "--trusted-proxy", "127.0.0.1")
	file := docsBlock(t, "phone.md", "Caddy", "caddyfile")
	for from, to := range map[string]string{"box.example {": "box.example:" + portOf(front) + " {", "127.0.0.1:7717": listen} {
		if !strings.Contains(file, from) {
			t.Fatalf("the Caddyfile of docs/phone.md does not say %q", from)
		}
		file = strings.Replace(file, from, to, 1)
	}
	dir := tempDir(t)
	path := filepath.Join(dir, "Caddyfile")
	// It must not touch this machine's trust store or its other ports.
	options := "{\n  admin off\n  skip_install_trust\n  auto_https disable_redirects\n  default_bind 127.0.0.1\n}\n"
	if err := os.WriteFile(path, []byte(options+file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", path)
	cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("caddy said:\n%s", said.tail(4000))
		}
	})
	root := filepath.Join(dir, "caddy", "pki", "authorities", "local", "root.crt")
	eventually(t, soon, "Caddy's certificate", func() bool {
		if _, err := os.Stat(root); err != nil {
			return false
		}
		c, err := tls.Dial("tcp", front, &tls.Config{ServerName: "box.example", InsecureSkipVerify: true}) // is it up?
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	newBrowser(t, root).approvesOver(d, page)
}

// TestPhoneForwardingProxy stands in for tailscale serve, which cannot run here: its proxy is
// Go's, keeps the Host, and sets these headers.
func TestPhoneForwardingProxy(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	certFile, keyFile := certificate(t, dir)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	listen := freePort(t)
	target := &url.URL{Scheme: "http", Host: listen}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("X-Forwarded-Host", r.In.Host)
		r.Out.Header.Set("X-Forwarded-Proto", "https")
		r.Out.Header.Set("X-Forwarded-For", "100.101.102.103")
		r.Out.Header.Set("Tailscale-User-Login", "alice@example.com")
	}})
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	d := serve(t, "--listen", listen, "--public-url", proxy.URL, "--trusted-proxy", "127.0.0.1")
	newBrowser(t, certFile).approvesOver(d, proxy.URL)
}

// portOf is the port of a HOST:PORT.
func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }
