package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/schemas"
)

type route struct {
	method, path, body string
	need               auth.Role // "": anybody
	passed             []int
}

// routes are all of them, with what a call that passes every check is answered.
var routes = []route{
	{"POST", "/v1/hooks", `{"hook_event_name":"Stop"}`, auth.RoleSubmit, []int{204}},
	{"POST", "/v1/hooks/context", `{"hook_event_name":"Stop"}`, auth.RoleSubmit, []int{400}}, // the length of the second part
	{"POST", "/v1/hooks/refused", "", auth.RoleSubmit, []int{400}},                           // no id
	{"GET", "/v1/sessions", "", auth.RoleView, []int{200}},
	{"GET", "/v1/sessions/x", "", auth.RoleView, []int{503}}, // history might know it
	{"DELETE", "/v1/sessions/x", "", auth.RoleAdmin, []int{503}},
	{"GET", "/v1/sessions/x/feed", "", auth.RoleView, []int{503}},
	{"GET", "/v1/sessions/x/feed/1", "", auth.RoleView, []int{503}},
	{"GET", "/v1/sessions/x/messages", "", auth.RoleView, []int{200}},
	{"GET", "/v1/sessions/x/messages/y", "", auth.RoleView, []int{404}},
	{"POST", "/v1/sessions/x/messages", `{"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","prompt":"x"}`, auth.RoleOperate, []int{503}}, // none are sent here
	{"DELETE", "/v1/sessions/x/messages/y", "", auth.RoleOperate, []int{404}},
	{"DELETE", "/v1/sessions/x/messages/y/text", "", auth.RoleAdmin, []int{404}},
	{"GET", "/v1/agents", "", auth.RoleView, []int{200}},
	{"GET", "/v1/agents/x", "", auth.RoleView, []int{404}},
	{"POST", "/v1/agents/x/messages", `{"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","sessionId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","kind":"cancel","expiresAt":"2026-11-20T14:10:00Z"}`, auth.RoleOperate, []int{503}},
	{"GET", "/v1/agents/x/messages/y", "", auth.RoleView, []int{404}},
	{"GET", "/v1/agents/x/sessions/y/diff", "", auth.RoleView, []int{404}},
	{"DELETE", "/v1/agents/x/messages/y", "", auth.RoleOperate, []int{404}},
	{"GET", "/v1/host/ws", "", auth.RoleHost, []int{503}}, // there are none here
	{"GET", "/v1/search", "", auth.RoleView, []int{503}},
	{"GET", "/v1/decisions", "", auth.RoleView, []int{503}},
	{"GET", "/v1/stats", "", auth.RoleView, []int{503}},
	{"GET", "/v1/rules", "", auth.RoleView, []int{200}},
	{"POST", "/v1/rules", `{"requestId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","inputSha256":"` + strings.Repeat("0", 64) + `","proposal":"` + strings.Repeat("0", 64) + `"}`, auth.RoleApprove, []int{404}},
	{"GET", "/v1/suggestions", "", auth.RoleAdmin, []int{503}},  // nobody looks here
	{"DELETE", "/v1/rules/x", "", auth.RoleApprove, []int{503}}, // nothing is saved here
	{"GET", "/v1/grants", "", auth.RoleView, []int{200}},
	{"POST", "/v1/grants", `{"requestId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","inputSha256":"` + strings.Repeat("0", 64) + `","proposal":"` + strings.Repeat("0", 64) + `","count":1}`, auth.RoleApprove, []int{404}},
	{"DELETE", "/v1/grants/x", "", auth.RoleApprove, []int{503}},
	{"GET", "/v1/stop", "", auth.RoleView, []int{200}},
	{"POST", "/v1/stop", "{}", auth.RoleApprove, []int{503}}, // nothing can be stopped here
	{"DELETE", "/v1/stop", "{}", auth.RoleApprove, []int{503}},
	{"GET", "/v1/pause", "", auth.RoleView, []int{200}},
	{"POST", "/v1/pause", `{"seconds":60}`, auth.RoleApprove, []int{503}},
	{"DELETE", "/v1/pause", "{}", auth.RoleApprove, []int{503}},
	{"GET", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8/proposals", "", auth.RoleView, []int{404}},
	{"GET", "/v1/requests", "", auth.RoleView, []int{200}},
	{"GET", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8", "", auth.RoleView, []int{404}},
	{"GET", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8/trace", "", auth.RoleView, []int{404}},
	{"GET", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8/audit", "", auth.RoleView, []int{404}},
	{"GET", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8/proof", "", auth.RoleView, []int{503}}, // there is no tree here
	{"GET", "/v1/audit/messages", "", auth.RoleView, []int{503}},
	{"GET", "/v1/audit/checkpoint", "", auth.RoleView, []int{503}},
	{"GET", "/v1/audit/export", "", auth.RoleView, []int{503}},
	{"POST", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8/decision", `{"behavior":"allow","inputSha256":"` + strings.Repeat("0", 64) + `"}`, auth.RoleApprove, []int{404}},
	{"POST", "/v1/requests/6ba7b810-9dad-11d1-80b4-00c04fd430c8/handback", `{"inputSha256":"` + strings.Repeat("0", 64) + `"}`, auth.RoleApprove, []int{404}},
	{"POST", "/v1/shown", `{"requests":["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]}`, auth.RoleApprove, []int{204}},
	{"POST", "/v1/ws/ticket", "", auth.RoleView, []int{200}},
	{"GET", "/v1/ws", "", auth.RoleView, []int{400}}, // no upgrade
	{"POST", "/v1/pair", "{}", auth.RoleAdmin, []int{201}},
	{"GET", "/v1/pair", "", auth.RoleAdmin, []int{200}},
	{"DELETE", "/v1/pair/x", "", auth.RoleAdmin, []int{404}},
	{"POST", "/v1/pair/redeem", `{"code":"x","publicKey":{"kty":"EC","crv":"P-256","x":"a","y":"b"}}`, "", []int{403}},
	{"POST", "/v1/join", `{"code":"x"}`, "", []int{403}},
	{"POST", "/v1/pair/start", "{}", "", []int{400}},
	{"POST", "/v1/pair/poll", `{"secret":"x"}`, "", []int{403}},
	{"POST", "/v1/auth/challenge", `{"deviceId":"x"}`, "", []int{404}},
	{"POST", "/v1/auth/session", `{"deviceId":"x","nonce":"x","signature":"x"}`, "", []int{401}},
	{"GET", "/v1/tokens", "", auth.RoleAdmin, []int{200}},
	{"POST", "/v1/tokens", `{"role":"view","name":"x"}`, auth.RoleAdmin, []int{201}},
	{"DELETE", "/v1/tokens/x", "", auth.RoleAdmin, []int{404}},
	{"GET", "/v1/phone", "", auth.RoleView, []int{200}},
	{"GET", "/v1/devices", "", auth.RoleView, []int{200}},
	{"POST", "/v1/devices", `{"code":"x"}`, auth.RoleAdmin, []int{404}},
	{"DELETE", "/v1/devices/x", "", auth.RoleView, []int{404}},
	{"PATCH", "/v1/devices/x", `{"name":"x"}`, auth.RoleView, []int{404}},
	{"GET", "/v1/devices/x/verification", "", auth.RoleApprove, []int{403}}, // a token is no device
	{"POST", "/v1/devices/x/verification", "{}", auth.RoleApprove, []int{403}},
	{"PUT", "/v1/devices/x/verification", `{"credential":{}}`, auth.RoleApprove, []int{403}},
	{"DELETE", "/v1/devices/x/verification", "{}", auth.RoleApprove, []int{404}},
	{"GET", "/v1/notifications", "", auth.RoleAdmin, []int{503}}, // nothing rings here
	{"GET", "/v1/push", "", auth.RoleView, []int{403}},           // a token has no browser
	{"PUT", "/v1/push", "{}", auth.RoleView, []int{403}},
	{"DELETE", "/v1/push", "", auth.RoleView, []int{403}},
	{"POST", "/v1/push/test", "", auth.RoleView, []int{403}},
	{"GET", "/v1/published-rules", "", auth.RoleView, []int{200}},
	{"PUT", "/v1/published-rules", `{"text":"","after":7}`, auth.RoleAdmin, []int{409}},
	{"GET", "/v1/machines", "", auth.RoleView, []int{200}},
	{"GET", "/v1/schema-mismatches", "", auth.RoleView, []int{200}},
	{"GET", "/metrics", "", auth.RoleView, []int{200}},
	{"GET", "/healthz", "", "", []int{204}},
	{"GET", "/readyz", "", "", []int{204}},
	{"GET", "/openapi.json", "", "", []int{200}},
	{"GET", "/", "", "", []int{200}},
	{"HEAD", "/", "", "", []int{200}},
	{"GET", "/app-5J2ZQ4XK.js", "", "", []int{200}},
}

func TestChecksOfEveryRoute(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		for _, rt := range routes {
			good := call{method: rt.method, path: rt.path, body: rt.body, token: g.tokens[rt.need]}
			try := func(what string, want []int, change func(*call)) {
				t.Helper()
				c := good
				c.header = map[string]string{}
				change(&c)
				r := g.call(c)
				for _, w := range want {
					if r.status == w {
						return
					}
				}
				t.Errorf("%s %s, %s: %d, want %d %s", rt.method, rt.path, what, r.status, want, r.body)
			}
			try("as it should be", rt.passed, func(*call) {})
			for _, host := range []string{"evil.example", "127.0.0.1", "127.0.0.1:7718", "localhost.:7717", "127.0.0.1.nip.io:7717", "box.example:80", "[::2]:7717"} {
				try("Host "+host, []int{421}, func(c *call) { c.host = host })
				try("Host before Origin "+host, []int{421}, func(c *call) { c.host = host; c.header["Origin"] = "http://" + host; c.token = "" })
			}
			for _, host := range []string{"localhost:7717", "LOCALHOST:7717", "[::1]:7717", "box.example", "box.example:443"} {
				try("Host "+host, rt.passed, func(c *call) { c.host = host })
			}
			for _, o := range []string{"http://evil.example", "null", "", "http://127.0.0.1:7718", "http://127.0.0.1", "https://127.0.0.1:7717",
				"http://127.0.0.1:7717.evil.example", "http://127.0.0.1:7717/", "HTTP://127.0.0.1:7717", "http://box.example", "file://"} {
				try("Origin "+o, []int{403}, func(c *call) { c.header["Origin"] = o; c.token = "" }) // before auth
			}
			for _, o := range []string{origin, "http://localhost:7717", "http://[::1]:7717", "https://box.example"} {
				try("Origin "+o, rt.passed, func(c *call) { c.header["Origin"] = o; c.header["Sec-Fetch-Site"] = "same-origin" })
			}
			for _, site := range []string{"cross-site", "same-site", "x"} {
				try("Sec-Fetch-Site "+site, []int{403}, func(c *call) { c.header["Sec-Fetch-Site"] = site; c.token = "" })
			}
			for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
				if !hasRoute(m, rt.path) {
					try("method "+m, []int{405}, func(c *call) { c.method = m; c.body = ""; c.token = ""; c.header["Origin"] = "http://evil.example" })
				}
			}
			if rt.method != "HEAD" {
				try("size before Origin", []int{413}, func(c *call) {
					c.body = strings.Repeat(" ", 16<<20+1)
					c.header["Origin"] = "http://evil.example"
				})
			}
			if rt.need == "" {
				continue
			}
			time.Sleep(10 * time.Second) // each wrong token counts as a guess
			for name, token := range map[string]string{"no token": "", "wrong token": "assent_admin_x", "another scheme": " "} {
				try(name, []int{401}, func(c *call) { c.token = token })
			}
			for _, role := range []auth.Role{auth.RoleSubmit, auth.RoleHost, auth.RoleView, auth.RoleApprove, auth.RoleAdmin} {
				want := []int{403}
				if role.Includes(rt.need) {
					want = rt.passed
				}
				try("role "+string(role), want, func(c *call) { c.token = g.tokens[role] })
			}
		}
	})
}

func hasRoute(method, path string) bool {
	for _, rt := range routes {
		if rt.method == method && rt.path == path {
			return true
		}
	}
	return method == http.MethodDelete && strings.HasPrefix(path, "/v1/pair/") // {code}
}

func TestUnknownRoutes(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		for _, path := range []string{"/v1", "/v1/", "/v1/rules/x/y", "/nothing", "/../etc/passwd", "/%2e%2e/x", "/index.html/", "/app-5J2ZQ4XK.js.map", "//healthz"} {
			if r := g.call(call{path: path, token: g.tokens[auth.RoleAdmin]}); r.status != http.StatusNotFound {
				t.Errorf("%s: %d", path, r.status)
			}
		}
		// The unix socket only submits.
		for _, rt := range routes {
			if strings.HasPrefix(rt.path, "/v1/hooks") || rt.path == "/healthz" {
				continue
			}
			r := g.call(call{unix: true, method: rt.method, path: rt.path, body: rt.body, token: g.tokens[auth.RoleAdmin]})
			if r.status != http.StatusNotFound {
				t.Errorf("unix %s %s: %d", rt.method, rt.path, r.status)
			}
		}
		if r := g.call(call{unix: true, path: "/healthz"}); r.status != http.StatusNoContent {
			t.Errorf("unix healthz: %d", r.status)
		}
	})
}

func TestPage(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		tests := []struct{ path, contentType, cache string }{
			{"/", "text/html; charset=utf-8", "no-cache"},
			{"/index.html", "text/html; charset=utf-8", "no-cache"},
			{"/app-5J2ZQ4XK.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
			{"/icon.svg", "image/svg+xml", "no-cache"},
		}
		for _, tt := range tests {
			r := g.call(call{path: tt.path})
			if r.status != 200 || r.header.Get("Content-Type") != tt.contentType || r.header.Get("Cache-Control") != tt.cache {
				t.Errorf("%s: %d %v", tt.path, r.status, r.header)
			}
			again := g.call(call{path: tt.path, header: map[string]string{"If-None-Match": r.header.Get("ETag")}})
			if again.status != http.StatusNotModified {
				t.Errorf("%s again: %d", tt.path, again.status)
			}
		}
		// A link on another site, or a scanned code, leads here.
		link := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
		if r := g.call(call{path: "/", header: link}); r.status != 200 {
			t.Errorf("a link: %d", r.status)
		}
		if r := g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView], header: link}); r.status != 403 {
			t.Errorf("a link to the API: %d", r.status)
		}
		frame := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
		if r := g.call(call{path: "/", header: frame}); r.status != 403 {
			t.Errorf("a frame: %d", r.status)
		}
	})
}

func TestHealth(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.failReady(fmt.Errorf("secret internals"))
		if r := g.call(call{path: "/readyz"}); r.status != 503 || r.body != "" {
			t.Errorf("%d %q", r.status, r.body)
		}
		if r := g.call(call{path: "/healthz"}); r.status != 204 || r.body != "" {
			t.Errorf("%d %q", r.status, r.body)
		}
	})
}

func TestMetrics(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		for _, eventType := range []string{"Stop", "Stop", "Made-Up", "x\"y\n", ""} {
			g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: fmt.Sprintf(`{"hook_event_name":%q}`, eventType)})
		}
		w := g.raise(call{unix: true, body: bash("x")})
		g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
		<-w.reply
		gone := g.raise(call{unix: true, body: bash("y")})
		gone.cancel()
		<-gone.reply
		g.raise(call{unix: true, body: bash("z"), header: map[string]string{hook.HeaderRequestID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}})
		synctest.Wait()
		r := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
		for _, want := range []string{
			`assent_build_info{version="test"} 1`, `assent_events_total{type="Stop"} 2`, `assent_events_total{type="other"} 3`,
			`assent_events_total{type="PermissionRequest"} 3`, `assent_hook_answers_total{outcome="allowed"} 1`, `assent_hook_answers_total{outcome="gone"} 1`,
			`assent_decisions_total{kind="token"} 1`, `assent_requests_pending 1`, `assent_hooks_waiting 1`, `assent_websockets 0`,
		} {
			if !strings.Contains("\n"+r.body, "\n"+want+"\n") {
				t.Errorf("no %s in\n%s", want, r.body)
			}
		}
	})
}

func TestConfig(t *testing.T) {
	if _, err := server.New(server.Config{}); err == nil {
		t.Error("a server of nothing")
	}
	bubble(t, func(t *testing.T, g *rig) {
		for _, u := range []string{"box.example", "ftp://x", "https://", "https://x/path", "https://u:p@x", "https://x?q", "https://x#f", "://"} {
			cfg := server.Config{Broker: g.broker, Auth: g.auth, Publish: g.publish, PublicURLs: []string{u}}
			if _, err := server.New(cfg); err == nil {
				t.Errorf("public URL %q was taken", u)
			}
		}
		for own, want := range map[string]string{"http://127.0.0.1:1": "http://127.0.0.1:1", "http://[::]:1": "http://127.0.0.1:1", "http://0.0.0.0:80": "http://127.0.0.1", "https://10.0.0.7:443": "https://10.0.0.7"} {
			s, err := server.New(server.Config{Broker: g.broker, Auth: g.auth, Publish: g.publish, URL: own})
			if err != nil || s.URL() != want {
				t.Errorf("%s: %q, %v", own, s.URL(), err)
			}
		}
		if g.server.URL() != "https://box.example" {
			t.Errorf("URL %q", g.server.URL())
		}
	})
}

// The description of the API and the server name the same routes.
func TestOpenAPINamesTheRoutes(t *testing.T) {
	doc, err := schemas.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, item := range decode[struct {
		Paths map[string]map[string]json.RawMessage
	}](t, string(doc)).Paths {
		for method := range item {
			if m := strings.ToUpper(method); m == "GET" || m == "POST" || m == "PUT" || m == "PATCH" || m == "DELETE" {
				described[m+" "+path] = true
			}
		}
	}
	bubble(t, func(t *testing.T, g *rig) {
		err := chi.Walk(g.server.TCP().(chi.Routes), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			if _, asset := page.Open(strings.TrimPrefix(path, "/")); path != "/" && asset != nil && !described[method+" "+path] {
				t.Errorf("%s %s is not described", method, path)
			}
			delete(described, method+" "+path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	for route := range described {
		t.Errorf("%s is described and not served", route)
	}
}
