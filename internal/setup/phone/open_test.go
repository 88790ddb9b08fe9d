package phone

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var onLoopback = netip.MustParseAddr("127.0.0.1")

// TestOpen: a door that the broker opens is kept; of one that it does not open nothing is left, and the one of before is back.
func TestOpen(t *testing.T) {
	state := t.TempDir()
	shut := homeDoor(t)
	if err := shut.Open(t.Context(), state, nil, time.Millisecond); err == nil || !strings.Contains(err.Error(), "does not open "+shut.URL) {
		t.Errorf("nothing listens: %v", err)
	}
	if _, err := Load(state); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a door that did not open is left: %v", err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open, err := NewHome(onLoopback, uint16(l.Addr().(*net.TCPAddr).Port), "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := open.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	broker := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	_ = broker.Listener.Close()
	broker.Listener, broker.TLS = l, &tls.Config{Certificates: []tls.Certificate{*cert}}
	broker.StartTLS()
	defer broker.Close()
	if err := open.Open(t.Context(), state, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	kept := func(when string) {
		t.Helper()
		if d, err := Load(state); err != nil || d.URL != open.URL {
			t.Errorf("%s: %+v, %v, want the door of %s", when, d, err, open.URL)
		}
	}
	kept("opened")
	if err := shut.Open(t.Context(), state, open, time.Millisecond); err == nil {
		t.Error("nothing listens, and it is open")
	}
	kept("the next one did not open")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := shut.Open(ended, state, open, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	kept("stopped")
}

// TestHomePort: what a phone has on its home screen goes on to work after a new certificate, on the same address only.
func TestHomePort(t *testing.T) {
	before := homeDoor(t)
	known := int(netip.MustParseAddrPort(before.Listen).Port())
	if got, err := HomePort(before, onLoopback, 0); err != nil || got != known {
		t.Errorf("got %d, %v, want %d", got, err, known)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := uint16(taken.Addr().(*net.TCPAddr).Port)
	if got, err := HomePort(&Door{Way: Tailscale}, onLoopback, port); err != nil || got == int(port) || got == 0 {
		t.Errorf("got %d, %v, want a free port, for %d is taken", got, err, port)
	}
	if got, err := HomePort(before, netip.MustParseAddr("127.0.0.2"), port); err != nil || got != int(port) {
		t.Errorf("on another address: got %d, %v, want %d", got, err, port)
	}
}
