package certificate

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// TestGet: no handshake makes anybody ask for a certificate, whatever name or protocol it says.
func TestGet(t *testing.T) {
	authority := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the authority is asked") }))
	defer authority.Close()
	k := New(Config{Name: "box.relay.example", Directory: authority.URL, Dir: t.TempDir()})
	for _, hello := range []*tls.ClientHelloInfo{
		{ServerName: "box.relay.example"}, {ServerName: "other.relay.example"}, {}, {ServerName: "box.relay.example", SupportedProtos: []string{"http/1.1"}},
		{ServerName: "box.relay.example", SupportedProtos: []string{ALPN}}, {ServerName: "../../etc/passwd", SupportedProtos: []string{ALPN}},
	} {
		if c, err := k.Get(hello); err == nil {
			t.Errorf("%+v: %v", hello, c)
		}
	}
	if !k.Expires().IsZero() {
		t.Error("there is a certificate")
	}
}

// TestRunWaitsUntilReachable: before the relay takes us the authority is not asked, for it would fail.
func TestRunWaitsUntilReachable(t *testing.T) {
	k := New(Config{
		Name: "box.relay.example", Directory: "https://127.0.0.1:1/dir", Dir: t.TempDir(),
		Reachable: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		Failed:    func(err error) { t.Errorf("it was tried: %v", err) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRunFailsAndEnds: an authority that refuses is told of, tried again later, and keeps nobody waiting at the end.
func TestRunFailsAndEnds(t *testing.T) {
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{"type": "urn:ietf:params:acme:error:unauthorized", "detail": "no"})
	}))
	defer authority.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	failed := make(chan error, 1)
	dir := filepath.Join(t.TempDir(), "certificate")
	k := New(Config{Name: "box.relay.example", Directory: authority.URL, Dir: dir, Failed: func(err error) { failed <- err }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	if err := <-failed; err == nil {
		t.Error("an authority that refuses gave a certificate")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi, err)
	}
}
