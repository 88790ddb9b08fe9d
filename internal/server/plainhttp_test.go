package server_test

import (
	"net/http"
	"testing"

	"assent/internal/server"
)

// TestPlainHTTPGetsThePageOnly: a page that was opened by plain http where it should not be gets its
// files, which are the same for everybody, and nothing else; no other site's page gets even those.
func TestPlainHTTPGetsThePageOnly(t *testing.T) {
	g := newRig(t, server.Config{})
	defer g.stop()
	const host, own = "box.example", "http://box.example"
	for name, tt := range map[string]struct {
		path, host, origin, site string
		want                     int
	}{
		"a file":                     {"/app-5J2ZQ4XK.js", host, own, "", http.StatusOK},
		"a request":                  {"/v1/requests", host, own, "", http.StatusForbidden},
		"a ticket":                   {"/v1/ws/ticket", host, own, "", http.StatusForbidden},
		"a way in":                   {"/v1/auth/challenge", host, own, "", http.StatusForbidden},
		"the state":                  {"/readyz", host, own, "", http.StatusForbidden},
		"a file, of another site":    {"/app-5J2ZQ4XK.js", host, "http://evil.example", "", http.StatusForbidden},
		"a file, of another port":    {"/app-5J2ZQ4XK.js", host, own + ":8080", "", http.StatusForbidden},
		"a file, as browsers say it": {"/app-5J2ZQ4XK.js", host, own, "cross-site", http.StatusForbidden},
		"a file, under a name":       {"/app-5J2ZQ4XK.js", "evil.example", "http://evil.example", "", http.StatusMisdirectedRequest},
	} {
		c := call{path: tt.path, host: tt.host, token: g.tokens["admin"], header: map[string]string{"Origin": tt.origin}}
		if tt.site != "" {
			c.header["Sec-Fetch-Site"] = tt.site
		}
		if tt.path == "/v1/ws/ticket" || tt.path == "/v1/auth/challenge" {
			c.method, c.body = "POST", "{}"
		}
		r := g.call(c)
		if r.status != tt.want {
			t.Errorf("%s: %d %s, want %d", name, r.status, r.body, tt.want)
		}
		if r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", name, r.header)
		}
	}
}
