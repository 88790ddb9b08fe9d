package hookclient

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// target is where a broker listens.
type target struct {
	version string // of this program
	name    string // socket path or URL: what the spool files an event under
	host    string // Host header
	path    string // of the request line
	token   string
	remote  bool
	dial    func(context.Context) (net.Conn, error)
}

// maxTargets bounds the brokers of one configuration.
const maxTargets = 16

var (
	errNoTarget = errors.New("no broker configured: give --socket PATH or --url URL")
	errNeedTLS  = errors.New("an https URL needs the command `assent hook`")
)

// newTargets reads Socket, URL, Token and Dial. It returns at least one target, unless there is an error. The broker
// on the socket comes first: it is nearest, and costs no TLS.
func newTargets(cfg *Config) ([]target, error) {
	var targets []target
	if cfg.Socket != "" || cfg.URL == "" {
		t, err := socketTarget(cfg)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	if cfg.URL == "" {
		return targets, nil
	}
	if !plainToken(cfg.Token) {
		return nil, errors.New("the token holds characters that no token has")
	}
	urls, err := parseURLs(cfg.URL)
	if err != nil {
		return nil, err
	}
	connect := newRetry
	if len(targets)+len(urls) > 1 {
		connect = otherRetry
	}
	for _, u := range urls {
		dial := u.DialPlain
		if cfg.Dial != nil {
			dial = func(ctx context.Context) (net.Conn, error) { return cfg.Dial(ctx, u) }
		} else if u.TLS && cfg.Socket == "" {
			return nil, errNeedTLS
		} else if u.TLS { // the socket is asked all the same
			dial = func(context.Context) (net.Conn, error) { return nil, errNeedTLS }
		}
		targets = append(targets, target{name: u.String(), host: u.Host, path: u.Path + "/v1/hooks", token: cfg.Token, version: cfg.Version, remote: true,
			dial: func(ctx context.Context) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, connect)
				defer cancel()
				return dial(ctx)
			}})
	}
	return targets, nil
}

// CheckURLs says what is wrong with Config.URL: of one broker, or of several with commas between them.
func CheckURLs(s string) error {
	_, err := parseURLs(s)
	return err
}

func parseURLs(s string) ([]URL, error) {
	words := strings.Split(s, ",")
	if len(words) > maxTargets {
		return nil, errors.New("more than " + strconv.Itoa(maxTargets) + " broker URLs")
	}
	var urls []URL
	for _, word := range words {
		u, err := ParseURL(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// socketTarget is the broker of this machine.
func socketTarget(cfg *Config) (target, error) {
	if cfg.Socket == "" {
		return target{}, errNoTarget
	}
	owner, err := ownerOf(cfg.SocketOwner, passwd)
	if err != nil {
		return target{}, err
	}
	addr := &net.UnixAddr{Name: cfg.Socket, Net: "unix"}
	return target{name: cfg.Socket, host: "assent", path: "/v1/hooks", version: cfg.Version,
		dial: func(context.Context) (net.Conn, error) {
			// A unix socket connects at once or not at all.
			conn, err := net.DialUnix("unix", nil, addr)
			if err != nil {
				return nil, err
			}
			if err := checkOwner(conn, owner); err != nil {
				conn.Close()
				return nil, err
			}
			return conn, nil
		}}, nil
}

// plainToken reports whether s may stand in an Authorization header.
func plainToken(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// URL is the address of a broker.
type URL struct {
	TLS  bool
	Host string // as in the Host header: a name or address, and the port if it was given
	Name string // the host alone, without brackets: what the certificate must be for
	Addr string // host:port to connect to
	Path string // prefix of the routes, without a slash at its end
}

// ParseURL reads the address of a broker: https://host[:port][/prefix], or http to a loopback
// address, since a token and commands must not cross a network in the clear. It takes no
// user, query or fragment.
func ParseURL(s string) (URL, error) {
	fail := func(why string) (URL, error) {
		return URL{}, errors.New("broker URL " + strconv.Quote(s) + ": " + why)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	u := URL{TLS: strings.EqualFold(scheme, "https")}
	if !ok || !u.TLS && !strings.EqualFold(scheme, "http") {
		return fail("want https://HOST, or http://127.0.0.1:PORT")
	}
	for i := range len(rest) {
		if c := rest[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("?#@\\\"<>", c) >= 0 {
			return fail("want scheme, host, port and path only, in ASCII")
		}
	}
	u.Host = rest
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		u.Host, u.Path = rest[:i], strings.TrimRight(rest[i:], "/")
	}
	name, port, err := splitHostPort(u.Host)
	if err != nil {
		return fail(err.Error())
	}
	if port == "" {
		port = "80"
		if u.TLS {
			port = "443"
		}
	}
	u.Name, u.Addr = name, net.JoinHostPort(name, port)
	if !u.TLS && !loopback(name) {
		return fail("http is for loopback only; use https")
	}
	return u, nil
}

// String returns the URL in one spelling.
func (u URL) String() string {
	if u.TLS {
		return "https://" + u.Host + u.Path
	}
	return "http://" + u.Host + u.Path
}

// DialPlain connects to a loopback address, until ctx is done: that succeeds or fails at once, but for a listener that is
// stopped or hangs, whose queue is full. It goes around the resolver, which nobody should ask where localhost is and which
// would be a sixth of the program.
func (u URL) DialPlain(ctx context.Context) (net.Conn, error) {
	_, port, _ := net.SplitHostPort(u.Addr)
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	names := []string{u.Name}
	if strings.EqualFold(u.Name, "localhost") {
		names = []string{"127.0.0.1", "::1"}
	}
	var dialer net.Dialer
	var first error
	for _, name := range names {
		a, err := netip.ParseAddr(name)
		if err != nil {
			return nil, err
		}
		conn, err := dialer.DialTCP(ctx, "tcp", netip.AddrPort{}, netip.AddrPortFrom(a, uint16(n)))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// splitHostPort is net.SplitHostPort with an optional port.
func splitHostPort(s string) (host, port string, err error) {
	host = s
	if rest, ok := strings.CutPrefix(s, "["); ok {
		var after string
		if host, after, ok = strings.Cut(rest, "]"); !ok {
			return "", "", errors.New("the address has no closing bracket")
		}
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return "", "", errors.New("no IPv6 address between the brackets")
		}
		if after != "" {
			if port, ok = strings.CutPrefix(after, ":"); !ok || port == "" {
				return "", "", errors.New("want :PORT after the bracket")
			}
		}
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, port = s[:i], s[i+1:]
		if port == "" {
			return "", "", errors.New("the port is empty")
		}
	}
	if host == "" || strings.ContainsAny(host, "/%") {
		return "", "", errors.New("the host is missing")
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "", errors.New("the port is no number from 1 to 65535")
		}
	}
	return host, port, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
