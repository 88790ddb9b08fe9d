package main

import (
	"net"
	"net/netip"
	"strings"
	"time"
)

// parseProxies reads the values of --trusted-proxy: networks, or single addresses.
func parseProxies(texts []string) ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if !strings.Contains(text, "/") {
			var ip netip.Addr
			if ip, err = netip.ParseAddr(text); err == nil {
				p, err = ip.WithZone("").Prefix(ip.BitLen())
			}
		}
		switch {
		case err != nil:
			return nil, usagef("--trusted-proxy %s: want an address or a network, such as 10.0.0.2 or 172.17.0.0/16", text)
		case p.Addr().Is4In6():
			return nil, usagef("--trusted-proxy %s: write the IPv4 address as such", text)
		case p.Bits() == 0:
			return nil, usagef("--trusted-proxy %s is everybody; name the proxy", text)
		}
		ps = append(ps, p.Masked())
	}
	return ps, nil
}

// peerListener serves this machine and the trusted proxies in the clear, and closes everybody
// else's connections before a byte is read.
type peerListener struct {
	net.Listener
	trusted []netip.Prefix
	warn    func(format string, args ...any)

	// Owned by the one goroutine that accepts.
	warned  time.Time
	refused int // since then
}

// warnEvery is how long after a warning the next one waits: strangers must not fill the log.
const warnEvery = time.Minute

func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.serves(c.RemoteAddr()) {
			return c, err
		}
		c.Close()
		l.refused++
		if now := time.Now(); now.Sub(l.warned) > warnEvery {
			l.warn("connections in the clear that were closed: %d, the last from %s, which is no --trusted-proxy", l.refused, c.RemoteAddr())
			l.warned, l.refused = now, 0
		}
	}
}

func (l *peerListener) serves(peer net.Addr) bool {
	ap, err := netip.ParseAddrPort(peer.String())
	if err != nil {
		return false
	}
	ip := ap.Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		return true
	}
	for _, p := range l.trusted {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
