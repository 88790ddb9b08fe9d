package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

// check refuses what would put the API on a network in the clear, and returns the proxies that
// may. It takes nothing and opens nothing.
func (f *serveFlags) check() ([]netip.Prefix, error) {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, usagef("--listen %s: %w; want HOST:PORT", f.listen, err)
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return nil, usagef("--tls-cert and --tls-key go together")
	}
	if f.historyDays != 0 && f.historyDays < 7 {
		return nil, usagef("--history-days %d: want at least the 7 days of the event stream", f.historyDays)
	}
	if v := f.requireVerification; v != "" && v != hook.VerifyDanger && v != hook.VerifyAlways {
		return nil, usagef("--require-verification %s: want danger or always", v)
	}
	if v := f.unattended; v != "" && v != unattendedHandBack && v != unattendedHold {
		return nil, usagef("--unattended %s: want handback or hold", v)
	}
	if f.hold < 0 {
		return nil, usagef("--hold %s: want a duration such as 10m", f.hold)
	}
	if err := f.readNATS(); err != nil {
		return nil, err
	}
	if err := f.checkAMQP(); err != nil {
		return nil, err
	}
	if _, err := f.namedRelay(); err != nil {
		return nil, err
	}
	f.mutates = claude.DefaultMutationTools()
	if f.mutationTools != nil {
		tools, err := claude.ParseMutationTools(f.mutationTools)
		if err != nil {
			return nil, usagef("--mutation-tools: %w", err)
		}
		f.mutates = tools
	}
	proxies, err := parseProxies(f.trustedProxies)
	if err != nil {
		return nil, err
	}
	if f.tlsCert == "" && len(proxies) == 0 && !api.Loopback(host) {
		return nil, usagef(`--listen %s reaches beyond this machine, where anybody could read and change what passes. Either
  give a certificate:                       --tls-cert FILE --tls-key FILE
  name the proxy that does TLS before it:   --trusted-proxy ADDRESS
  or listen on 127.0.0.1 and let a program on this machine do TLS: tailscale serve, Caddy
docs/phone.md shows each`, f.listen)
	}
	for _, text := range f.publicURLs {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usagef("--public-url %s: want scheme and host, as in https://box.example.net", text)
		}
		if u.Scheme == "http" && !api.Loopback(u.Hostname()) {
			return nil, usagef("--public-url %s: want https: browsers keep no device keys for http pages of other machines; docs/phone.md shows the ways to https", text)
		}
	}
	if n := f.natsListen; n != "off" && n != "" {
		host, _, err := net.SplitHostPort(n)
		if err != nil {
			return nil, usagef("--nats-listen %s: %w; want HOST:PORT or off", n, err)
		}
		if !api.Loopback(host) {
			return nil, usagef("--nats-listen %s reaches beyond this machine, where its token would travel in the clear; listen on 127.0.0.1", n)
		}
	}
	return proxies, nil
}

// unnamed reports whether others can connect but not say a name that the broker answers to.
func (f *serveFlags) unnamed() bool {
	host, _, err := net.SplitHostPort(f.listen)
	return err == nil && !api.Loopback(host) && len(f.publicURLs) == 0
}

// listenable says now what listen would say later, when more has been done.
func listenable(addr string) error {
	l, err := listen(addr)
	if err != nil {
		return err
	}
	return l.Close()
}

func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program; stop that, or choose another port, such as --listen 127.0.0.1:7718", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another address with --listen", addr, err)
	}
	return l, nil
}

// loadCertificate reads the files of --tls-cert and --tls-key; nil without them.
func loadCertificate(certFile, keyFile string) (*tls.Certificate, string, error) {
	if certFile == "" {
		return nil, "", nil
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, "", usagef("--tls-cert, --tls-key: %w", err)
	}
	return &cert, digest.Of(cert.Certificate[0]), nil
}

// listenURL is where programs on this machine reach the listener.
func listenURL(addr net.Addr, tls bool) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	at := addr.String()
	if ap, err := netip.ParseAddrPort(at); err == nil && ap.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), ap.Port()).String() // a wildcard is nobody's address
	}
	return scheme + "://" + at
}
