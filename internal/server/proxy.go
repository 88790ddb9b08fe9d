package server

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"assent/internal/auth"
)

type clientKey struct{}

// RelayedPrefix begins the remote address of a connection that a relay passed on; behind it stands the address
// that the relay claims.
const RelayedPrefix = "relay:"

// proxied finds out who calls through a trusted proxy, and refuses what reached the proxy in
// the clear: credentials would travel there. Headers about proxies that come from anybody else
// mean nothing. What a relay passed on comes from no proxy, whatever address the relay claims.
func (s *Server) proxied(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if claim, ok := strings.CutPrefix(r.RemoteAddr, RelayedPrefix); ok {
			a, _ := parseHop(claim) // the invalid address is one like any other
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, auth.Caller{Addr: a, Relayed: true})))
			return
		}
		client := peer(r)
		if s.trusted(client) {
			if plain(r.Header["X-Forwarded-Proto"]) {
				writeProblem(w, problem{Status: http.StatusForbidden,
					Detail: "this came to the proxy over plain http; open the page by https, and let the proxy redirect to it"})
				return
			}
			client = s.forwardedFor(r.Header["X-Forwarded-For"], client)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, auth.Caller{Addr: client})))
	})
}

// peer is the other end of the connection; the invalid address if it has none.
func peer(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plainAddr(ap.Addr())
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func (s *Server) trusted(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(s.named.Load().proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// plain reports whether a proxy on the way was spoken to without TLS. What is not understood
// counts as that.
func plain(protos []string) bool {
	for _, list := range protos {
		for proto := range strings.SplitSeq(list, ",") {
			if p := strings.ToLower(strings.TrimSpace(proto)); p != "https" && p != "wss" {
				return true
			}
		}
	}
	return false
}

// forwardedFor is the last address in the lists that is no trusted proxy: what stands before
// it, anybody could have written. via is the proxy that sent them, and the answer where they
// hold nothing readable.
func (s *Server) forwardedFor(lists []string, via netip.Addr) netip.Addr {
	hops := strings.Split(strings.Join(lists, ","), ",")
	for _, hop := range slices.Backward(hops) {
		a, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			return via
		}
		if via = a; !s.trusted(a) {
			return a
		}
	}
	return via
}

// parseHop reads an address, with or without brackets and a port.
func parseHop(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return plainAddr(ap.Addr()), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return plainAddr(a), err == nil
}

// clientAddr is who called, as far as it is known.
func (s *Server) clientAddr(r *http.Request) auth.Caller {
	c, _ := r.Context().Value(clientKey{}).(auth.Caller)
	return c
}
