package server_test

import (
	"net/http"
	"net/netip"
	"testing"

	"assent/internal/api"
	"assent/internal/server"
)

// TestReachAddsAndTakesAway: a further address counts while it is set, as Host, as Origin and for those who
// bring word of others, and leaves everything else as it was.
func TestReachAddsAndTakesAway(t *testing.T) {
	g := newRig(t, server.Config{})
	defer g.stop()
	g.tcp.from = "127.0.0.1:99"
	const host, own = "phone.example:7718", "https://phone.example:7718"
	proxied := map[string]string{"X-Forwarded-Proto": "http"}
	see := func(when string, there bool) {
		t.Helper()
		want := map[string]int{"host": http.StatusMisdirectedRequest, "origin": http.StatusMisdirectedRequest, "a proxy in the clear": http.StatusOK}
		if there {
			want = map[string]int{"host": http.StatusOK, "origin": http.StatusOK, "a proxy in the clear": http.StatusForbidden}
		}
		got := map[string]int{
			"host":                 g.call(call{path: "/v1/requests", host: host, token: g.tokens["view"]}).status,
			"origin":               g.call(call{path: "/v1/requests", host: host, token: g.tokens["view"], header: map[string]string{"Origin": own}}).status,
			"a proxy in the clear": g.call(call{path: "/v1/requests", token: g.tokens["view"], header: proxied}).status,
		}
		for what, status := range want {
			if got[what] != status {
				t.Errorf("%s, %s: %d, want %d", when, what, got[what], status)
			}
		}
		for what, c := range map[string]call{
			"another name":   {path: "/v1/requests", host: "evil.example", token: g.tokens["view"]},
			"another origin": {path: "/v1/requests", host: host, token: g.tokens["view"], header: map[string]string{"Origin": "https://evil.example"}},
		} {
			if r := g.call(c); r.status == http.StatusOK {
				t.Errorf("%s, %s is answered", when, what)
			}
		}
		if r := g.call(call{path: "/v1/requests", host: "box.example", token: g.tokens["view"]}); r.status != http.StatusOK {
			t.Errorf("%s, the public name: %d", when, r.status)
		}
		open := decode[api.PhoneAddress](t, g.call(call{path: "/v1/phone", token: g.tokens["view"]}).body).URL
		if phones := map[bool]string{true: own, false: "https://box.example"}[there]; open != phones {
			t.Errorf("%s, phones open %q, want %q", when, open, phones)
		}
		if g.server.URL() != "https://box.example" {
			t.Errorf("%s, the page is at %s", when, g.server.URL())
		}
	}
	see("before", false)
	if err := g.server.Reach([]string{own}, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}); err != nil {
		t.Fatal(err)
	}
	see("with it", true)
	if err := g.server.Reach([]string{"https://a/b"}, nil); err == nil {
		t.Error("an address with a path is taken")
	}
	see("after an error", true)
	if err := g.server.Reach(nil, nil); err != nil {
		t.Fatal(err)
	}
	see("without it again", false)
}
