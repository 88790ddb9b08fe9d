package main

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestServeFlagsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		flags serveFlags
		want  string // part of the error, "" for none
	}{
		"loopback":                  {serveFlags{listen: "127.0.0.1:0"}, ""},
		"tools":                     {serveFlags{listen: "127.0.0.1:0", mutationTools: []string{"Write", "mcp__*"}}, ""},
		"no tools":                  {serveFlags{listen: "127.0.0.1:0", mutationTools: []string{}}, "--mutation-tools: want 1 to 200"},
		"no tool's name":            {serveFlags{listen: "127.0.0.1:0", mutationTools: []string{"a*b"}}, "--mutation-tools: \"a*b\""},
		"loopback 6":                {serveFlags{listen: "[::1]:7717"}, ""},
		"localhost":                 {serveFlags{listen: "localhost:1"}, ""},
		"everywhere":                {serveFlags{listen: "0.0.0.0:7717"}, "--trusted-proxy"},
		"everywhere, unsaid":        {serveFlags{listen: ":7717"}, "--tls-cert"},
		"elsewhere":                 {serveFlags{listen: "192.0.2.1:1"}, "tailscale serve"},
		"no address":                {serveFlags{listen: "7717"}, "HOST:PORT"},
		"with a certificate":        {serveFlags{listen: "0.0.0.0:1", tlsCert: "c", tlsKey: "k"}, ""},
		"half a certificate":        {serveFlags{listen: "127.0.0.1:1", tlsCert: "c"}, "go together"},
		"behind a proxy":            {serveFlags{listen: "0.0.0.0:1", trustedProxies: []string{"10.0.0.2", "fd00::/64"}}, ""},
		"everybody is no proxy":     {serveFlags{listen: "0.0.0.0:1", trustedProxies: []string{"0.0.0.0/0"}}, "everybody"},
		"everybody, in IPv6":        {serveFlags{listen: "0.0.0.0:1", trustedProxies: []string{"::/0"}}, "everybody"},
		"a name is no address":      {serveFlags{listen: "0.0.0.0:1", trustedProxies: []string{"proxy.example"}}, "want an address"},
		"IPv4 in IPv6":              {serveFlags{listen: "0.0.0.0:1", trustedProxies: []string{"::ffff:10.0.0.0/104"}}, "IPv4"},
		"public":                    {serveFlags{listen: "127.0.0.1:1", publicURLs: []string{"https://box.example.net"}}, ""},
		"public in the clear":       {serveFlags{listen: "127.0.0.1:1", publicURLs: []string{"http://box.example.net"}}, "want https"},
		"public, this machine":      {serveFlags{listen: "127.0.0.1:1", publicURLs: []string{"http://localhost:8080"}}, ""},
		"public without a scheme":   {serveFlags{listen: "127.0.0.1:1", publicURLs: []string{"box.example.net"}}, "scheme and host"},
		"event stream on a network": {serveFlags{listen: "127.0.0.1:0", natsListen: "0.0.0.0:4222"}, "--nats-listen"},
	} {
		_, err := c.flags.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// ownAddress is an address of this machine that is not loopback, from which and to which it can
// connect as strangers would.
func ownAddress(t *testing.T) string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address beside loopback")
	return ""
}

// In the clear only this machine and the declared proxies are served; real connections, from
// loopback and from the machine's own address on the network.
func TestOnlyTrustedProxiesAreServedInTheClear(t *testing.T) {
	own := ownAddress(t)
	for name, c := range map[string]struct {
		trusted []string
		from    string
		served  bool
	}{
		"this machine":      {[]string{"10.255.255.1"}, "127.0.0.1", true},
		"a stranger":        {[]string{"10.255.255.1"}, own, false},
		"the proxy":         {[]string{"10.255.255.1", own}, own, true},
		"its network":       {[]string{own + "/24"}, own, true},
		"without any":       {nil, own, false},
		"another's network": {[]string{"fd00::/8"}, own, false},
	} {
		t.Run(name, func(t *testing.T) {
			trusted, err := parseProxies(c.trusted)
			if err != nil {
				t.Fatal(err)
			}
			tcp, err := net.Listen("tcp", ":0") // IPv6 too: IPv4 peers arrive as ::ffff:…
			if err != nil {
				t.Fatal(err)
			}
			warned := 0
			l := &peerListener{Listener: tcp, trusted: trusted, warn: func(string, ...any) { warned++ }}
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
			ended := make(chan error, 1)
			go func() { ended <- srv.Serve(l) }()
			_, port, err := net.SplitHostPort(tcp.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for range 3 {
				res, err := client.Get("http://" + net.JoinHostPort(c.from, port)) // the source address is the same
				if err == nil {
					res.Body.Close()
				}
				if served := err == nil && res.StatusCode == http.StatusNoContent; served != c.served {
					t.Errorf("served: %v, %v", served, err)
				}
			}
			if err := srv.Close(); err != nil {
				t.Error(err)
			}
			<-ended
			want := 1 // one line, however many were closed
			if c.served {
				want = 0
			}
			if warned != want {
				t.Errorf("%d warnings, want %d", warned, want)
			}
		})
	}
}
