package notify

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "142.250.185.78": true, "2a00:1450:4001:82f::200e": true, "64:ff9b::8.8.8.8": true,
		"127.0.0.1": false, "127.8.8.8": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.100.100.200": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::127.0.0.1": false,
		"64:ff9b::a00:1": false, "fe80::1": false, "fe80::1%eth0": false, "fd00::1": false, "ff02::1": false, "2002:7f00:1::": false, "2001::1": false, "fec0::1": false,
		"::ffff:0:127.0.0.1": false, "64:ff9b:1::a00:1": false, "200::1": false, "300:1::1": false, "400::1": false, "100::1": false, "5f00::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A name that leads to this machine is seen through when it is dialed, and a redirect leads
// nowhere.
func TestEndpointsLeadToThePublicOnly(t *testing.T) {
	called := 0
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	t.Cleanup(inside.Close)
	c := newClient(nil, nil)
	for _, url := range []string{inside.URL, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1)} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		if !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := c.Get(strings.Replace(inside.URL, "https", "http", 1)); !errors.Is(err, errAddress) {
		t.Errorf("http: %v", err)
	}
	// The same client, where the operator allows an origin: that one and no other, and no redirect.
	door := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(door.Close)
	allow, err := origins([]string{door.URL})
	if err != nil {
		t.Fatal(err)
	}
	res, err := newClient(nil, allow).Post(door.URL, "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusTemporaryRedirect || called != 0 {
		t.Errorf("%d, and the machine was called %d times", res.StatusCode, called)
	}
}

func TestOrigins(t *testing.T) {
	for _, bad := range []string{"", "push.example", "ftp://x", "https://", "https://x/path", "https://u@x", "https://x?q", "https://x#f", "://"} {
		if _, err := origins([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for given, want := range map[string]string{"": "https://box.example", "mailto:me@example.org": "me@example.org", "https://me.example": "https://me.example"} {
		if got, err := contact(given, "https://box.example"); got != want || err != nil {
			t.Errorf("contact %q: %q, %v", given, got, err)
		}
	}
	for _, bad := range []string{"me@example.org", "http://x", "mailto:", "https:"} {
		if _, err := contact(bad, ""); err == nil {
			t.Errorf("contact %q is taken", bad)
		}
	}
}
