package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/server"
)

// A laptop that starts by itself: it shows a code, somebody confirms it, it is in.
func TestPairingFromTheDeviceOverHTTP(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		admin := g.tokens[auth.RoleAdmin]
		p := &phone{key: authtest.NewKey()}
		r := g.post("/v1/pair/start", "", fields{"publicKey": p.key.JWK(), "name": "Firefox on Linux"})
		valid(t, "PairingStart", r.body)
		started := decode[auth.Start](t, r.body)
		if r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
		poll := func() reply { return g.post("/v1/pair/poll", "", fields{"secret": started.Secret}) }
		r = poll()
		valid(t, "PairingPoll", r.body)
		if r.status != http.StatusAccepted {
			t.Errorf("%d %s", r.status, r.body)
		}
		r = g.call(call{path: "/v1/pair", token: admin})
		if list := validList(t, "PairingWaiting", r.body); len(list) != 1 || !strings.Contains(r.body, started.Code) || strings.Contains(r.body, started.Secret) {
			t.Errorf("%s", r.body)
		}
		for field, body := range map[string]fields{
			"role": {"code": started.Code, "role": "submit"}, "name": {"code": started.Code, "name": "a\nb"}, "publicKey": {"code": started.Code, "publicKey": 1},
		} {
			if r := g.post("/v1/devices", admin, body); r.status != http.StatusBadRequest || !strings.Contains(r.body, `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s", field, r.status, r.body)
			}
		}
		g.kv.SetDown(errors.New("secret internals"))
		if r := g.post("/v1/devices", admin, fields{"code": started.Code}); r.status != http.StatusServiceUnavailable || strings.Contains(r.body, "secret") {
			t.Errorf("store away: %d %s", r.status, r.body)
		}
		g.kv.SetDown(nil)
		r = g.post("/v1/devices", admin, fields{"code": strings.ToLower(started.Code), "role": "view", "name": "desk"})
		valid(t, "Device", r.body)
		p.Device = decode[auth.Device](t, r.body)
		if r.status != http.StatusCreated || p.Name != "desk" || p.Role != auth.RoleView {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for range 2 {
			r = poll()
			valid(t, "Device", r.body)
			if r.status != http.StatusOK || decode[auth.Device](t, r.body).ID != p.ID {
				t.Errorf("%d %s", r.status, r.body)
			}
		}
		g.signIn(p)
		if r := g.post("/v1/devices", admin, fields{"code": started.Code}); r.status != http.StatusNotFound {
			t.Errorf("again: %d %s", r.status, r.body)
		}
		time.Sleep(5 * time.Minute)
		if r := poll(); r.status != http.StatusForbidden || !strings.Contains(r.body, "assent pair") {
			t.Errorf("after five minutes: %d %s", r.status, r.body)
		}
		if strings.Contains(g.lines.String(), started.Secret) || strings.Contains(g.lines.String(), started.Code) {
			t.Error("the log holds the secret or the code")
		}
		if !strings.Contains(g.lines.String(), `"msg":"paired a device"`) {
			t.Error("the log says nothing of a new device")
		}
	})
}

func TestPairingRefusals(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		admin := g.tokens[auth.RoleAdmin]
		begin := func() reply { return g.post("/v1/pair/start", "", fields{"publicKey": authtest.NewKey().JWK()}) }
		first := decode[auth.Start](t, begin().body)
		for range 3 {
			begin()
		}
		if r := begin(); r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "assent pair") || strings.Contains(r.body, "`") {
			t.Errorf("a fifth: %d %s", r.status, r.body)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/pair/" + strings.ReplaceAll(first.Code, "-", "%20"), token: admin}); r.status != http.StatusNoContent {
			t.Errorf("refuse: %d", r.status)
		}
		for step, r := range map[string]reply{
			"poll":    g.post("/v1/pair/poll", "", fields{"secret": first.Secret}),
			"redeem":  g.post("/v1/pair/redeem", "", fields{"code": first.Code, "publicKey": authtest.NewKey().JWK()}),
			"confirm": g.post("/v1/devices", admin, fields{"code": first.Code}),
			"refuse":  g.call(call{method: "DELETE", path: "/v1/pair/" + first.Code, token: admin}),
		} {
			if r.status != http.StatusForbidden && r.status != http.StatusNotFound || strings.Contains(r.body, "`") {
				t.Errorf("%s: %d %s", step, r.status, r.body)
			}
		}
		if r := begin(); r.status != http.StatusCreated {
			t.Errorf("in the place of the refused one: %d", r.status)
		}
		for _, body := range []string{`{}`, `{"publicKey":"x"}`, `{"publicKey":[]}`, `{"publicKey":{"kty":"EC"}}`, `{"publicKey":{"kty":"EC","crv":"P-256","x":1,"y":2}}`} {
			if r := g.call(call{method: "POST", path: "/v1/pair/start", body: body}); r.status != http.StatusBadRequest || !strings.Contains(r.body, "publicKey") {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
		if r := g.post("/v1/pair/start", "", fields{"publicKey": authtest.NewKey().JWK(), "name": "a\nb"}); r.status != http.StatusBadRequest {
			t.Errorf("name: %d", r.status)
		}
		r := g.call(call{path: "/metrics", token: admin})
		for _, step := range []string{"start", "poll", "redeem", "confirm"} {
			if want := fmt.Sprintf("assent_pairing_failures_total{step=%q} 1\n", step); !strings.Contains(r.body, want) {
				t.Errorf("no %s", want)
			}
		}
	})
}

// Headers about proxies count when a trusted proxy says them, and not else.
func TestTrustedProxies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}})
		defer g.stop()
		from := func(peer string, header map[string]string) string {
			t.Helper()
			g.tcp.from = peer
			defer func() { g.tcp.from = "" }()
			r := g.call(call{method: "POST", path: "/v1/pair/start", body: mustJSON(fields{"publicKey": authtest.NewKey().JWK()}), header: header})
			if r.status != http.StatusCreated {
				return fmt.Sprint(r.status)
			}
			code := decode[auth.Start](t, r.body).Code
			for _, w := range g.auth.WaitingDevices() {
				if w.Code == code {
					if err := g.auth.RefusePairing(t.Context(), code); err != nil {
						t.Error(err)
					}
					return w.From
				}
			}
			return "nobody"
		}
		const xff, xfp = "X-Forwarded-For", "X-Forwarded-Proto"
		for _, c := range []struct {
			peer   string
			header map[string]string
			want   string
		}{
			{"192.0.2.1:99", nil, "192.0.2.1"},
			{"[2001:db9::1]:99", nil, "2001:db9::1"},
			{"pipe", nil, ""},
			// Not a proxy of ours: its words mean nothing.
			{"192.0.2.1:99", map[string]string{xff: "203.0.113.9"}, "192.0.2.1"},
			{"192.0.2.1:99", map[string]string{xfp: "http"}, "192.0.2.1"},
			{"pipe", map[string]string{xff: "203.0.113.9", xfp: "http"}, ""},
			// By a relay, which may claim any address: it is no proxy of ours, nor this machine.
			{"relay:192.0.2.1:99", nil, "192.0.2.1 (by the relay's word)"},
			{"relay:[2001:db9::1]:99", nil, "2001:db9::1 (by the relay's word)"},
			{"relay:10.0.0.1:99", map[string]string{xff: "203.0.113.9", xfp: "http"}, "10.0.0.1 (by the relay's word)"},
			{"relay:nonsense", nil, "(by the relay's word)"},
			// A proxy of ours.
			{"10.0.0.1:99", nil, "10.0.0.1"},
			{"10.0.0.1:99", map[string]string{xff: "203.0.113.9"}, "203.0.113.9"},
			{"[::ffff:10.0.0.1]:99", map[string]string{xff: "203.0.113.9"}, "203.0.113.9"},
			{"[2001:db8::1]:99", map[string]string{xff: "203.0.113.9"}, "203.0.113.9"},
			{"10.0.0.1:99", map[string]string{xff: "6.6.6.6, 203.0.113.9"}, "203.0.113.9"},
			{"10.0.0.1:99", map[string]string{xff: "6.6.6.6,203.0.113.9 , 10.1.1.1,2001:db8::7"}, "203.0.113.9"},
			{"10.0.0.1:99", map[string]string{xff: "10.2.2.2, 10.3.3.3"}, "10.2.2.2"},
			{"10.0.0.1:99", map[string]string{xff: "203.0.113.9:1234"}, "203.0.113.9"},
			{"10.0.0.1:99", map[string]string{xff: "[2001:db9::9]:1234"}, "2001:db9::9"},
			{"10.0.0.1:99", map[string]string{xff: "[2001:db9::9]"}, "2001:db9::9"},
			{"10.0.0.1:99", map[string]string{xff: "6.6.6.6, unknown"}, "10.0.0.1"},
			{"10.0.0.1:99", map[string]string{xff: "6.6.6.6, unknown, 10.3.3.3"}, "10.3.3.3"},
			{"10.0.0.1:99", map[string]string{xff: ""}, "10.0.0.1"},
			{"10.0.0.1:99", map[string]string{xff: ",,"}, "10.0.0.1"},
			{"10.0.0.1:99", map[string]string{xff: "203.0.113.9", xfp: "https"}, "203.0.113.9"},
			{"10.0.0.1:99", map[string]string{xfp: "HTTPS, https"}, "10.0.0.1"},
			{"10.0.0.1:99", map[string]string{xfp: "http"}, "403"},
			{"10.0.0.1:99", map[string]string{xfp: "HTTP"}, "403"},
			{"10.0.0.1:99", map[string]string{xfp: "http, https"}, "403"},
			{"10.0.0.1:99", map[string]string{xfp: "https,http"}, "403"},
			{"10.0.0.1:99", map[string]string{xfp: "ws"}, "403"},
			{"10.0.0.1:99", map[string]string{xfp: ""}, "403"},
		} {
			if got := from(c.peer, c.header); got != c.want {
				t.Errorf("%s %v: %q, want %q", c.peer, c.header, got, c.want)
			}
		}
		// In the clear nothing is served, not even the page, and the problem says what to do.
		g.tcp.from = "10.0.0.1:99"
		for _, path := range []string{"/", "/healthz", "/v1/requests"} {
			if r := g.call(call{path: path, token: g.tokens[auth.RoleView], header: map[string]string{xfp: "http"}}); r.status != http.StatusForbidden || !strings.Contains(r.body, "https") {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
		}
		// Clients behind the proxy do not use up each other's starts.
		for i := range 20 {
			header := map[string]string{xff: fmt.Sprintf("203.0.113.%d", i)}
			if r := g.call(call{method: "POST", path: "/v1/pair/start", body: mustJSON(fields{"publicKey": authtest.NewKey().JWK()}), header: header}); r.status != http.StatusCreated {
				t.Errorf("%d: %d", i, r.status)
			}
		}
	})
}

// A device of role admin lets others in by its signature; its bearer alone, the owner and a token of role admin
// let in nobody who could send text to agents.
func TestAdministratorLetsIn(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		chief, low := g.paired(auth.RoleAdmin, "chief"), g.paired(auth.RoleApprove, "low")
		key := authtest.NewKey()
		code := decode[auth.Start](t, g.post("/v1/pair/start", "", fields{"publicKey": key.JWK()}).body).Code
		with := func(edit func(fields)) fields {
			f := chief.lets(code, key, auth.RoleOperate, "desk")
			edit(f)
			return f
		}
		for name, c := range map[string]struct {
			by   string
			body fields
			want string
		}{
			"a stolen bearer":    {chief.bearer, with(func(f fields) { delete(f, "signature") }), "signed"},
			"another role":       {chief.bearer, with(func(f fields) { f["role"] = "admin" }), "signed"},
			"another name":       {chief.bearer, with(func(f fields) { f["name"] = "phone" }), "signed"},
			"for another device": {chief.bearer, chief.lets(code, authtest.NewKey(), auth.RoleOperate, "desk"), "signed"},
			"of another device":  {low.bearer, low.lets(code, key, auth.RoleOperate, "desk"), "role"},
			"a token of admin":   {g.tokens[auth.RoleAdmin], with(func(fields) {}), `"reason":"administrator"`},
		} {
			if r := g.post("/v1/devices", c.by, c.body); r.status != http.StatusForbidden || !strings.Contains(r.body, c.want) {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		for _, role := range []string{"operate", "admin"} {
			if r := g.post("/v1/pair", g.tokens[auth.RoleAdmin], fields{"role": role}); r.status != http.StatusForbidden || !strings.Contains(r.body, `"reason":"administrator"`) {
				t.Errorf("a link for %s: %d %s", role, r.status, r.body)
			}
		}
		r := g.post("/v1/devices", chief.bearer, chief.lets(code, key, auth.RoleOperate, "desk"))
		if r.status != http.StatusCreated || !strings.Contains(r.body, `"role":"operate"`) {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/devices", chief.bearer, chief.lets(code, key, auth.RoleOperate, "desk")); r.status != http.StatusNotFound {
			t.Errorf("the same again: %d %s", r.status, r.body)
		}
	})
}
