package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/notify/notifytest"
	"assent/internal/server"
)

// pushed runs f with a rig that rings at a push service of ours.
func pushed(t *testing.T, f func(t *testing.T, g *rig, v *notifytest.Vendor, p *notify.Push)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		first := newRig(t, server.Config{}) // its broker and its credentials, on which a second server stands
		v := notifytest.New("https://push.example")
		p, err := notify.Open(context.Background(), notify.Config{
			KV: first.kv, Broker: first.broker, Transport: v, URL: "https://box.example",
			May: func(id string) bool { d, ok := first.auth.Device(id); return ok && d.Role.Includes(auth.RoleView) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- p.Run(ctx) }()
		s, err := server.New(server.Config{Broker: first.broker, Auth: first.auth, Publish: first.publish, Push: p, URL: origin, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		old := first.server
		first.server = s
		first.tcp = first.serve(s.TCP())
		f(t, first, v, p)
		cancel()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_ = p.Close()
		first.stop()
		_ = old.Close()
		for _, w := range v.Wrong() {
			t.Errorf("the push service refused a message: %s", w)
		}
	})
}

func (g *rig) pushState(token string) notify.State {
	g.t.Helper()
	r := g.call(call{path: "/v1/push", token: token})
	if r.status != http.StatusOK {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	valid(g.t, "Push", r.body)
	return decode[notify.State](g.t, r.body)
}

// change is the body of PUT /v1/push with the phone's signature.
func (p *phone) change(body string) string {
	var m struct{ Subscription, Settings json.RawMessage }
	_ = json.Unmarshal([]byte(body), &m) // what is no change is refused for that
	return strings.TrimSuffix(body, "}") + `,"signature":"` + p.key.Sign(auth.PushText(p.ID, m.Subscription, m.Settings)) + `"}`
}

// TestRingingIsSigned: with a bearer alone nobody names another place to ring, or silences a phone.
func TestRingingIsSigned(t *testing.T) {
	pushed(t, func(t *testing.T, g *rig, v *notifytest.Vendor, _ *notify.Push) {
		p, other := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleApprove, "other")
		b := v.Subscribe(g.pushState(p.bearer).PublicKey)
		body := `{"subscription":` + string(b.JSON()) + `}`
		muted := `{"settings":{"sessions":{"mode":"only","ids":[]}}}`
		for name, body := range map[string]string{
			"not signed":        body,
			"signed by another": other.change(body),
			"other settings":    strings.Replace(p.change(`{"settings":{"afterSeconds":1}}`), "1}", "600}", 1),
			"settings added":    strings.Replace(p.change(body), `{"sub`, `{"settings":{"afterSeconds":600},"sub`, 1),
			"muted, not signed": muted,
			"a decision's":      strings.TrimSuffix(body, "}") + `,"signature":"` + p.key.Sign(auth.DecisionText(p.ID, hook.Decision{})) + `"}`,
			"another endpoint":  strings.Replace(p.change(body), b.Endpoint, v.Subscribe("").Endpoint, 1),
		} {
			if r := g.call(call{method: "PUT", path: "/v1/push", token: p.bearer, body: body}); r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if s := g.pushState(p.bearer); s.Subscribed || s.Settings.AfterSeconds != 5 {
			t.Errorf("%+v", s)
		}
		if r := g.call(call{method: "PUT", path: "/v1/push", token: p.bearer, body: p.change(body)}); r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		o := g.call(call{path: "/v1/notifications", token: g.tokens[auth.RoleAdmin]})
		valid(t, "Notifications", o.body)
		if !strings.Contains(o.body, p.ID) || strings.Contains(o.body, b.Endpoint) {
			t.Errorf("%s", o.body)
		}
	})
}

func TestDeviceIsRung(t *testing.T) {
	pushed(t, func(t *testing.T, g *rig, v *notifytest.Vendor, _ *notify.Push) {
		p := g.paired(auth.RoleView, "phone")
		b := v.Subscribe(g.pushState(p.bearer).PublicKey)
		body := p.change(`{"subscription":` + string(b.JSON()) + `,"settings":{"afterSeconds":0,"showSession":true}}`)
		valid(t, "PushChange", body)
		r := g.call(call{method: "PUT", path: "/v1/push", token: p.bearer, body: body})
		if r.status != http.StatusOK || strings.Contains(r.body, b.Endpoint) {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if s := g.pushState(p.bearer); !s.Subscribed || s.Settings.AfterSeconds != 0 {
			t.Errorf("%+v", s)
		}
		w := g.raise(call{unix: true, body: bash("secret-command")})
		if got := v.Got(); len(got) != 1 || !strings.Contains(string(got[0].Plain), w.id) || !strings.Contains(string(got[0].Plain), "project") || strings.Contains(string(got[0].Plain), "secret") {
			t.Fatalf("%+v", got)
		} else {
			valid(t, "PushMessage", string(got[0].Plain))
		}
		if r := g.post("/v1/push/test", p.bearer, fields{}); r.status != http.StatusNoContent {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/push/test", p.bearer, fields{}); r.status != http.StatusTooManyRequests {
			t.Errorf("%d %s", r.status, r.body)
		}
		w.cancel()
		<-w.reply
		synctest.Wait()

		other := g.paired(auth.RoleApprove, "other")
		if s := g.pushState(other.bearer); s.Subscribed || s.Settings.AfterSeconds != 5 || s.PublicKey == "" {
			t.Errorf("another device has %+v", s)
		}
		if r := g.post("/v1/push/test", other.bearer, fields{}); r.status != http.StatusConflict {
			t.Errorf("%d %s", r.status, r.body)
		}
		// Revoking removes the subscription.
		if r := g.call(call{method: "DELETE", path: "/v1/devices/" + p.ID, token: g.tokens[auth.RoleAdmin]}); r.status != http.StatusNoContent {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for key := range g.kv.Values() {
			if strings.Contains(key, p.ID) {
				t.Errorf("%s stays", key)
			}
		}
	})
}

func TestDeviceIsRungNoMore(t *testing.T) {
	pushed(t, func(t *testing.T, g *rig, v *notifytest.Vendor, _ *notify.Push) {
		p := g.paired(auth.RoleApprove, "phone")
		b := v.Subscribe(g.pushState(p.bearer).PublicKey)
		g.call(call{method: "PUT", path: "/v1/push", token: p.bearer, body: p.change(`{"subscription":` + string(b.JSON()) + `,"settings":{"afterSeconds":0}}`)})
		if r := g.call(call{method: "DELETE", path: "/v1/push", token: p.bearer}); r.status != http.StatusNoContent {
			t.Fatalf("%d %s", r.status, r.body)
		}
		w := g.raise(call{unix: true, body: bash("x")})
		if v.Tries() != 0 || g.pushState(p.bearer).Subscribed {
			t.Error("it rings")
		}
		w.cancel()
		<-w.reply
	})
}

func TestWhatNoSubscriptionMayBe(t *testing.T) {
	pushed(t, func(t *testing.T, g *rig, v *notifytest.Vendor, _ *notify.Push) {
		p := g.paired(auth.RoleApprove, "phone")
		b := v.Subscribe("")
		sub := func(endpoint, p256dh, auth string) string {
			return mustJSON(fields{"subscription": fields{"endpoint": endpoint, "keys": fields{"p256dh": p256dh, "auth": auth}}})
		}
		for name, tt := range map[string]struct{ body, field string }{
			"http":            {sub("http://push.example/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"no URL":          {sub("push.example", b.P256dh, b.Auth), "subscription.endpoint"},
			"a file":          {sub("file:///etc/passwd", b.P256dh, b.Auth), "subscription.endpoint"},
			"long":            {sub("https://push.example/"+strings.Repeat("x", 2048), b.P256dh, b.Auth), "subscription.endpoint"},
			"this machine":    {sub("https://127.0.0.1/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"and by its name": {sub("https://LOCALHOST.:7717/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"in IPv6":         {sub("https://[::1]/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"mapped":          {sub("https://[::ffff:127.0.0.1]/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"metadata":        {sub("https://169.254.169.254/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"private":         {sub("https://10.0.0.1/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"a user":          {sub("https://u:p@push.example/x", b.P256dh, b.Auth), "subscription.endpoint"},
			"no point":        {sub(b.Endpoint, strings.Repeat("A", 87), b.Auth), "subscription.keys.p256dh"},
			"a short secret":  {sub(b.Endpoint, b.P256dh, "AAAA"), "subscription.keys.auth"},
			"another member":  {`{"subscription":{"endpoint":"x","device":"y"}}`, "subscription.device"},
			"a device":        {`{"device":"x"}`, "device"},
			"null":            {`{"subscription":null}`, "subscription"},
			"negative":        {`{"settings":{"afterSeconds":-1}}`, "settings.afterSeconds"},
			"no number":       {`{"settings":{"afterSeconds":"5"}}`, "settings.afterSeconds"},
			"no time":         {`{"settings":{"quiet":[{"from":"24:00","to":"07:00"}]}}`, "settings.quiet[0].from"},
			"no hours":        {`{"settings":{"quiet":[{"from":"07:00","to":"07:00"}]}}`, "settings.quiet"},
			"no zone":         {`{"settings":{"timeZone":"Europe/Atlantis"}}`, "settings.timeZone"},
			"a zone's file":   {`{"settings":{"timeZone":"../../etc/passwd"}}`, "settings.timeZone"},
			"the broker's":    {`{"settings":{"timeZone":"Local"}}`, "settings.timeZone"},
			"no mode":         {`{"settings":{"sessions":{"mode":"some"}}}`, "settings.sessions.mode"},
			"many sessions":   {`{"settings":{"sessions":{"mode":"only","ids":["` + strings.Repeat(`x","`, 100) + `"]}}}`, "settings.sessions.ids"},
		} {
			r := g.call(call{method: "PUT", path: "/v1/push", token: p.bearer, body: p.change(tt.body)})
			var doc struct{ Field string }
			if err := json.Unmarshal([]byte(r.body), &doc); err != nil || r.status != http.StatusBadRequest || doc.Field != tt.field {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if s := g.pushState(p.bearer); s.Subscribed {
			t.Errorf("%+v", s)
		}
		// It waits to be told to go on, else the refusal may cross its body.
		huge := call{method: "PUT", path: "/v1/push", token: p.bearer, body: strings.Repeat(" ", 65<<10), header: map[string]string{"Expect": "100-continue"}}
		if r := g.call(huge); r.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%d", r.status)
		}
		g.kv.SetDown(errors.New("away"))
		if r := g.call(call{method: "PUT", path: "/v1/push", token: p.bearer, body: p.change(`{"settings":{}}`)}); r.status != http.StatusServiceUnavailable {
			t.Errorf("%d %s", r.status, r.body)
		}
		g.kv.SetDown(nil)
	})
}
