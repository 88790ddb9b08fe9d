package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// An endpoint is a URL that a device gave, so a request to it must not reach what the broker's
// machine can reach and the device cannot: names are checked when they have become addresses, and
// redirects are not followed.

// errAddress is the answer to an address that is not public.
var errAddress = errors.New("the push service has no public address")

// newClient is for endpoints. given replaces the network.
func newClient(given http.RoundTripper, allow map[string]bool) *http.Client {
	c := &http.Client{
		Transport:     given,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if given == nil {
		c.Transport = &guard{allow: allow, public: transport(onlyPublic), allowed: transport(nil)}
	}
	return c
}

// newHooksClient is for webhooks, whose URLs the operator wrote.
func newHooksClient(given http.RoundTripper) *http.Client {
	c := newClient(given, nil)
	if given == nil {
		c.Transport = transport(nil)
	}
	return c
}

// guard sends what goes to an allowed origin one way, and all else the other.
type guard struct {
	allow           map[string]bool
	public, allowed *http.Transport
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.allow[originOf(r.URL)] {
		return g.allowed.RoundTrip(r)
	}
	if r.URL.Scheme != "https" {
		return nil, errAddress
	}
	return g.public.RoundTrip(r)
}

// CloseIdleConnections is called by the client's.
func (g *guard) CloseIdleConnections() {
	g.public.CloseIdleConnections()
	g.allowed.CloseIdleConnections()
}

// transport makes connections without a proxy: through one, nobody could see where they lead.
func transport(control func(network, address string, c syscall.RawConn) error) *http.Transport {
	d := net.Dialer{Timeout: 5 * time.Second, Control: control}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return d.DialContext(ctx, network, addr)
		},
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    5 * time.Second,
		ResponseHeaderTimeout:  sendTimeout,
		MaxResponseHeaderBytes: 16 << 10,
		MaxIdleConns:           16,
		MaxConnsPerHost:        8,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
	}
}

// onlyPublic refuses a connection, when its address is known and before it is made.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read the address of a push service: %w", err)
	}
	if !public(ap.Addr()) {
		return errAddress
	}
	return nil
}

// internet is all of IPv6 that IANA gives out. Elsewhere are the networks of translators, and of overlays that made up
// their addresses, such as 200::/7.
var internet = netip.MustParsePrefix("2000::/3")

// special are the networks that are unicast and still not of the public Internet, or that lead to
// IPv4 addresses of any kind.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers' NAT, and Tailscale
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"),
}

// nat64 is the network in which NAT64 puts IPv4 addresses, in the last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// public reports whether an address belongs to the public Internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		return public(netip.AddrFrom4([4]byte(b[12:])))
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !internet.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
