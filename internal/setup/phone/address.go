package phone

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// AtHome refuses addresses that are not of a network at home, or of this machine itself: what
// everybody on the internet may reach wants a certificate that everybody knows.
func AtHome(a netip.Addr) error {
	a = a.Unmap()
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsMulticast():
		return fmt.Errorf("%s is no address of one machine", a)
	case a.Is6() && a.IsLinkLocalUnicast():
		return fmt.Errorf("%s has no meaning on another machine; want an IPv4 address, or one that begins with fd", a)
	case a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast():
		return nil
	}
	return fmt.Errorf("%s may be reached from the internet; for that docs/phone.md shows a proxy with a public certificate", a)
}

// virtual are the beginnings of names of interfaces that lead to no network of the house.
var virtual = []string{"docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "tailscale", "utun", "tun", "tap", "wg", "cni", "flannel", "podman", "lxc", "lxdbr", "zt", "bridge"}

// Addresses are this machine's IPv4 addresses in networks at home, the one by which it reaches others first.
// Nothing is sent.
func Addresses() ([]netip.Addr, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("addresses of this machine: %w", err)
	}
	var found []netip.Addr
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 || slices.ContainsFunc(virtual, func(v string) bool { return strings.HasPrefix(i.Name, v) }) {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().Is4() && AtHome(p.Addr()) == nil && !p.Addr().IsLinkLocalUnicast() {
				found = append(found, p.Addr().Unmap())
			}
		}
	}
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil { // which address would be used; connecting a UDP socket sends nothing
		ap, err := netip.ParseAddrPort(c.LocalAddr().String())
		_ = c.Close()
		if i := slices.Index(found, ap.Addr()); err == nil && i > 0 {
			found[0], found[i] = found[i], found[0]
		}
	}
	return found, nil
}

// Here reports whether an address is one of this machine's now.
func Here(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(x net.Addr) bool {
		p, err := netip.ParsePrefix(x.String())
		return err == nil && p.Addr().Unmap() == a.Unmap()
	})
}

// FreePort is the wanted port of an address, or a free one.
func FreePort(at netip.Addr, wanted uint16) (int, error) {
	for _, port := range []uint16{wanted, 0} {
		l, err := net.Listen("tcp", netip.AddrPortFrom(at, port).String())
		if err == nil {
			got := l.Addr().(*net.TCPAddr).Port
			return got, l.Close()
		}
		if port == 0 {
			return 0, fmt.Errorf("listen on %s: %w; name another address of this machine with --address", at, err)
		}
	}
	panic("unreachable")
}
