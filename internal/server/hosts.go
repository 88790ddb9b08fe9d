package server

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// names are what this server may be called: the values of Host and Origin that are its own. A
// page of another site whose name was rebound to our address is not among them.
type names struct {
	hosts   map[string]bool
	origins map[string]bool
	proxies []netip.Prefix
	url     string // for people
	phone   string // for people with a phone: the first that is https, of those that came last; "" without one
}

// Reach replaces the further addresses under which this server is reached, and the further peers whose
// X-Forwarded headers are believed, beside those of the configuration, while it serves. URL stays what it is.
func (s *Server) Reach(urls []string, proxies []netip.Prefix) error {
	n, err := newNames(s.cfg.URL, s.cfg.PublicURLs, s.cfg.AllowedHosts)
	if err != nil {
		return err
	}
	for _, u := range slices.Concat(urls, s.cfg.PublicURLs) {
		scheme, host, err := splitURL(u)
		if err != nil {
			return err
		}
		n.add(scheme, host)
		if scheme == "https" && n.phone == "" {
			n.phone = "https://" + strings.TrimSuffix(strings.ToLower(host), ":443")
		}
	}
	n.proxies = slices.Concat(s.cfg.TrustedProxies, proxies)
	s.named.Store(&n)
	return nil
}

func newNames(own string, public, hosts []string) (names, error) {
	n := names{hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, u := range public {
		scheme, host, err := splitURL(u)
		if err != nil {
			return n, err
		}
		n.add(scheme, host)
	}
	if own != "" {
		scheme, host, err := splitURL(own)
		if err != nil {
			return n, err
		}
		n.addListener(scheme, host)
	}
	for _, h := range hosts {
		n.hosts[strings.ToLower(h)] = true
	}
	return n, nil
}

func splitURL(text string) (scheme, host string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", fmt.Errorf("URL %q: want scheme and host only, as in https://box.example", text)
	}
	return u.Scheme, u.Host, nil
}

// addListener adds what the address we listen on may be called. One in numbers cannot be
// rebound to another server, so it may stand as it is; a wildcard is nobody's name.
func (n *names) addListener(scheme, host string) {
	ap, err := netip.ParseAddrPort(host)
	if err != nil {
		n.add(scheme, host)
		return
	}
	ip := ap.Addr().Unmap()
	if !ip.IsUnspecified() {
		n.add(scheme, host)
	}
	if ip.IsUnspecified() || ip.IsLoopback() {
		for _, h := range []string{"127.0.0.1", "localhost", "::1"} {
			n.add(scheme, net.JoinHostPort(h, strconv.Itoa(int(ap.Port()))))
		}
	}
}

// add accepts host with and, where the port is the scheme's own, without it.
func (n *names) add(scheme, host string) {
	host = strings.ToLower(host)
	own := map[string]string{"http": ":80", "https": ":443"}[scheme]
	bare := strings.TrimSuffix(host, own)
	if n.url == "" {
		n.url = scheme + "://" + bare
	}
	n.origins[scheme+"://"+bare] = true // browsers leave the scheme's own port out
	n.hosts[bare] = true
	if bare != host || !hasPort(host) {
		n.hosts[bare+own] = true
	}
}

func hasPort(host string) bool {
	_, _, err := net.SplitHostPort(host)
	return err == nil
}
