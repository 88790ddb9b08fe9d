package docs

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/internal/setup/phone"
)

// TestPhoneOwnCertificate approves over a certificate that the broker was given.
func TestPhoneOwnCertificate(t *testing.T) {
	t.Parallel()
	dir := rig.TempDir(t)
	authority, err := phone.NewAuthority("box.example's own", netip.MustParseAddr("127.0.0.1"), "box.example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.pem")
	for file, text := range map[string][]byte{ca: authority.Root, filepath.Join(dir, "box.pem"): authority.Cert, filepath.Join(dir, "box.key"): authority.Key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listen := rig.FreePort(t)
	page := "https://box.example:" + portOf(listen)
	d := rig.NewDaemon(t, "--listen", listen, "--tls-cert", filepath.Join(dir, "box.pem"), "--tls-key", filepath.Join(dir, "box.key"), "--public-url", page)
	d.Client = rig.Trusting(t, ca)
	d.Client.Transport.(*http.Transport).TLSClientConfig.ServerName = "box.example"
	d.Start()
	rig.NewBrowser(t, ca).ApprovesOver(d, page)
}

// TestPhoneCaddy puts the Caddyfile of docs/phone.md before the broker.
func TestPhoneCaddy(t *testing.T) {
	t.Parallel()
	listen, front := rig.FreePort(t), rig.FreePort(t)
	page := "https://box.example:" + portOf(front)
	d := rig.Serve(t, "--listen", listen, "--public-url", page, "--trusted-proxy", "127.0.0.1")
	file := rig.DocsBlock(t, "phone.md", "Caddy", "caddyfile")
	for from, to := range map[string]string{"box.example {": "box.example:" + portOf(front) + " {", "127.0.0.1:7717": listen} {
		if !strings.Contains(file, from) {
			t.Fatalf("the Caddyfile of docs/phone.md does not say %q", from)
		}
		file = strings.Replace(file, from, to, 1)
	}
	root := rig.Caddy(t, file, "box.example", front)
	rig.NewBrowser(t, root).ApprovesOver(d, page)
}

// TestPhoneForwardingProxy stands in for tailscale serve, which cannot run here: its proxy is
// Go's, keeps the Host, and sets these headers.
func TestPhoneForwardingProxy(t *testing.T) {
	t.Parallel()
	dir := rig.TempDir(t)
	certFile, keyFile := rig.Certificate(t, dir)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	listen := rig.FreePort(t)
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
	d := rig.Serve(t, "--listen", listen, "--public-url", proxy.URL, "--trusted-proxy", "127.0.0.1")
	rig.NewBrowser(t, certFile).ApprovesOver(d, proxy.URL)
}

// portOf is the port of a HOST:PORT.
func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }
