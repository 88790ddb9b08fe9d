package relay_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/relay"
	"assent/internal/relay/tunnel"
	"assent/internal/relay/uplink"
	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const domain = "relay.example"

// certificateFor makes a certificate for the relay and the names below it.
func certificateFor(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{domain, "*." + domain}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// world is a relay on loopback.
type world struct {
	t      *testing.T
	addr   string
	tokens string
	cert   tls.Certificate
	pool   *x509.CertPool
	server *relay.Server
	stop   func() // ends the relay and waits for it
	log    *lines
}

type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.all, format+"\n", args...)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func newWorld(t *testing.T, limits relay.Limits) *world {
	t.Helper()
	w := &world{t: t, tokens: filepath.Join(t.TempDir(), "relay.tokens"), log: &lines{}}
	w.cert, w.pool = certificateFor(t)
	w.start(limits, "127.0.0.1:0")
	return w
}

func (w *world) start(limits relay.Limits, listen string) {
	w.t.Helper()
	var err error
	w.server, err = relay.New(relay.Config{
		Domain: domain, Tokens: w.tokens, Limits: limits, Logf: w.log.add,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &w.cert, nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.server.Serve(ctx, l) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
	w.t.Cleanup(w.stop)
}

// dial connects as a broker does, in spite of the DNS.
func (w *world) dial(token tunnel.Token) (*tunnel.Session, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return tunnel.Dial(ctx, w.addr, w.url(), token, &tls.Config{RootCAs: w.pool})
}

func (w *world) url() *url.URL {
	return &url.URL{Scheme: "wss", Host: domain + w.addr[strings.LastIndex(w.addr, ":"):]}
}

func (w *world) token(name string) tunnel.Token {
	w.t.Helper()
	t, _, err := relay.AddToken(w.tokens, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// broker connects an uplink whose connections h serves.
func (w *world) broker(token tunnel.Token, h http.Handler) (stop func()) {
	w.t.Helper()
	u, err := uplink.New(uplink.Config{
		Known: uplink.Known{URL: w.url().String(), Token: token.Text(), ACME: "https://127.0.0.1:1/none"}, Dir: w.t.TempDir(), Warnf: w.log.add,
		TLS: &tls.Config{RootCAs: w.pool}, Address: w.addr,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := &http.Server{Handler: h, TLSConfig: &tls.Config{Certificates: []tls.Certificate{w.cert}}, ReadTimeout: 5 * time.Minute, IdleTimeout: 5 * time.Minute}
	var parts sync.WaitGroup
	parts.Go(func() { _ = u.Run(ctx) })
	parts.Go(func() { _ = srv.ServeTLS(u.Listener(), "", "") })
	stop = sync.OnceFunc(func() {
		cancel()
		_ = srv.Close()
		parts.Wait()
	})
	w.t.Cleanup(stop)
	eventually(w.t, "the broker is connected", func() bool {
		_, known := w.server.Brokers()[token.Name]
		return known && u.Connected()
	})
	return stop
}

// client is a browser's connections to a name.
func (w *world) client(name string) *http.Client {
	host := name + "." + domain
	tr := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: w.pool, ServerName: host},
		MaxIdleConnsPerHost: 32,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", w.addr)
		},
	}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 5 * time.Minute}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestRelayPassesRequests: what a browser sends arrives, in both directions, large and small, many at a time;
// the broker sees where it came from, as the relay says.
func TestRelayPassesRequests(t *testing.T) {
	w := newWorld(t, relay.Limits{Rate: 1 << 30})
	large := bytes.Repeat([]byte("0123456789abcdef"), 128<<10)
	w.broker(w.token("box"), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		claimed, ok := strings.CutPrefix(r.RemoteAddr, uplink.AddrPrefix)
		if ap, err := netip.ParseAddrPort(claimed); !ok || err != nil || ap.Addr().String() != "127.0.0.1" {
			t.Errorf("a request from %q", r.RemoteAddr)
		}
		_, _ = rw.Write(b)
	}))
	c := w.client("box")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 20 {
				body := large
				if n%4 != 0 {
					body = fmt.Appendf(nil, "%d of %d", n, i)
				}
				res, err := c.Post("https://box."+domain+"/", "text/plain", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || !bytes.Equal(b, body) {
					t.Errorf("%d bytes came back of %d: %v", len(b), len(body), err)
				}
			}
		})
	}
	all.Wait()
	c.CloseIdleConnections()
	eventually(t, "no connection is left", func() bool { return w.server.Brokers()["box"] == 0 })
}
