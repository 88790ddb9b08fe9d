package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// An address of the internet has many spellings, all of which lead to the same machine: 127.0.0.1 is 127.1,
// 2130706433, 0x7f.1 and ::ffff:7f00:1. A rule that denies one means them all, and one that allows means the usual.

// otherHosts are other names of a host, which is in lower case. odd: it is an address in an unusual spelling, or no
// host at all.
func otherHosts(host string) (also []string, odd bool) {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return []string{"127.0.0.1", "::1"}, false
	}
	if slices.Contains([]string{"localhost.localdomain", "localhost4", "localhost6", "localhost4.localdomain4", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback", "loopback", "broadcasthost"}, host) { // in many a hosts file
		return []string{"localhost", "127.0.0.1", "::1"}, true
	}
	ip, is := numericHost(host)
	if !is {
		return nil, strings.Contains(host, "..") || strings.HasPrefix(host, ".")
	}
	inner := innerAddress(ip)
	all := []netip.Addr{ip, inner}
	if decimal, is := numericHost(withoutZeros(host)); is { // 010.0.0.1 to those who know nothing of octal numbers
		all = append(all, decimal)
	}
	for _, a := range all {
		if s := a.String(); s != host {
			also = append(also, s)
		}
	}
	if slices.ContainsFunc(all, func(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() }) { // 0.0.0.0 is this machine, too
		also = append(also, "localhost", "127.0.0.1", "::1")
	}
	return also, ip.String() != host
}

// innerAddress is the IPv4 address that one of IPv6 stands for, or the address itself.
func innerAddress(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); ip.Is4() {
		return ip
	}
	b := ip.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case ip == netip.IPv6Loopback() || ip == netip.IPv6Unspecified():
		return ip
	case strings.Trim(string(b[:12]), "\x00") == "", strings.HasPrefix(string(b[:]), "\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00"):
		return last
	case strings.HasPrefix(string(b[:]), "\x00\x64\xff\x9b\x00\x01"), strings.HasPrefix(string(b[:]), "\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00"): // of a translator's own, and translated
		return last
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return ip
}

// numericHost reads a host that is an address, as browsers and resolvers do: parts may be left out, and each may be
// octal or hexadecimal.
func numericHost(host string) (netip.Addr, bool) {
	if strings.Contains(host, ":") {
		host, _, _ = strings.Cut(host, "%")
		ip, err := netip.ParseAddr(host)
		return ip, err == nil
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, p := range parts {
		v, ok := numericPart(p)
		most := uint64(0xff)
		if i == len(parts)-1 {
			most = 1<<(8*(5-len(parts))) - 1
			n <<= 8 * (5 - len(parts))
		} else {
			n <<= 8
		}
		if !ok || v > most {
			return netip.Addr{}, false
		}
		n |= v
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}

// withoutZeros is an address without zeros in front of its parts.
func withoutZeros(host string) string {
	parts := strings.Split(host, ".")
	for i, p := range parts {
		if short := strings.TrimLeft(p, "0"); short != "" && short[0] != 'x' {
			parts[i] = short
		}
	}
	return strings.Join(parts, ".")
}

func numericPart(p string) (uint64, bool) {
	base := 10
	if rest, is := strings.CutPrefix(p, "0x"); is {
		p, base = rest, 16
		if p == "" {
			return 0, true
		}
	} else if len(p) > 1 && p[0] == '0' {
		p, base = p[1:], 8
	}
	v, err := strconv.ParseUint(p, base, 32)
	return v, err == nil
}
