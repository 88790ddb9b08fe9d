package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/notify/notifytest"
)

// vendor is a push service of ours on loopback, and the flag with which the broker takes it.
func vendor(t *testing.T) (v *notifytest.Vendor, flag string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	origin := "http://" + server.Listener.Addr().String()
	v = notifytest.New(origin)
	server.Config.Handler = v
	server.Start()
	t.Cleanup(func() {
		server.Close()
		for _, w := range v.Wrong() {
			t.Errorf("the push service refused a message: %s", w)
		}
	})
	return v, "--push-allow=" + origin
}

// bareDevice is a paired device without a browser.
type bareDevice struct {
	d   *daemon
	id  string
	key *authtest.Key
}

// pairBare pairs one.
func (d *daemon) pairBare(role string) *bareDevice {
	d.t.Helper()
	var invited, made struct{ Code, ID string }
	d.must("POST", "/v1/pair", "", map[string]string{"role": role}, http.StatusCreated, &invited)
	b := &bareDevice{d: d, key: authtest.NewKey()}
	d.must("POST", "/v1/pair/redeem", "none", map[string]any{"code": invited.Code, "publicKey": b.key.JWK(), "name": "bare"}, http.StatusCreated, &made)
	b.id = made.ID
	return b
}

// must calls the API with a token ("": the owner's) and wants that status.
func (d *daemon) must(method, path, token string, in any, want int, out any) {
	d.t.Helper()
	switch token {
	case "":
		_, token = d.owner()
	case "none":
		token = ""
	}
	status, body, err := d.as(token, method, path, in)
	if err != nil || status != want {
		d.t.Fatalf("%s %s: %d %s %v", method, path, status, body, err)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			d.t.Fatal(err)
		}
	}
}

// bearer opens a session.
func (b *bareDevice) bearer() string {
	b.d.t.Helper()
	var nonce, session struct{ Nonce, Token string }
	b.d.must("POST", "/v1/auth/challenge", "none", map[string]string{"deviceId": b.id}, http.StatusOK, &nonce)
	b.d.must("POST", "/v1/auth/session", "none", map[string]string{
		"deviceId": b.id, "nonce": nonce.Nonce, "signature": b.key.Sign(auth.ChallengeText(b.id, nonce.Nonce)),
	}, http.StatusOK, &session)
	return session.Token
}

func (b *bareDevice) state() notify.State {
	b.d.t.Helper()
	var doc json.RawMessage
	b.d.must("GET", "/v1/push", b.bearer(), nil, http.StatusOK, &doc)
	valid(b.d.t, "Push", doc)
	var s notify.State
	if err := json.Unmarshal(doc, &s); err != nil {
		b.d.t.Fatal(err)
	}
	return s
}

// change is the body of PUT /v1/push, signed; nil is left out.
func (b *bareDevice) change(subscription, settings []byte) map[string]any {
	compact := func(text []byte) json.RawMessage { // as it is sent
		if text == nil {
			return nil
		}
		return json.RawMessage(object(b.d.t, json.RawMessage(text)))
	}
	sub, set := compact(subscription), compact(settings)
	body := map[string]any{"signature": b.key.Sign(auth.PushText(b.id, sub, set))}
	if sub != nil {
		body["subscription"] = sub
	}
	if set != nil {
		body["settings"] = set
	}
	return body
}

// subscribe subscribes a browser at v, which rings at once.
func (b *bareDevice) subscribe(v *notifytest.Vendor) *notifytest.Browser {
	b.d.t.Helper()
	browser := v.Subscribe(b.state().PublicKey)
	b.d.must("PUT", "/v1/push", b.bearer(), b.change(browser.JSON(), []byte(`{"afterSeconds":0}`)), http.StatusOK, nil)
	return browser
}

// arrived waits for the nth message and returns it.
func arrived(t *testing.T, v *notifytest.Vendor, n int) notify.Message {
	t.Helper()
	eventually(t, soon, "a push message", func() bool { return len(v.Got()) >= n })
	plain := v.Got()[n-1].Plain
	valid(t, "PushMessage", plain)
	if strings.Contains(string(plain), "secret") {
		t.Errorf("a push message holds the input: %s", plain)
	}
	var m notify.Message
	if err := json.Unmarshal(plain, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPhoneRings subscribes at a push service that decrypts what it gets, and checks the
// signature of who sent it.
func TestPhoneRings(t *testing.T) {
	t.Parallel()
	v, allow := vendor(t)
	d := newDaemon(t, allow)
	d.writeRules(someRules)
	d.start()
	phone := d.pairBare("approve")
	browser := phone.subscribe(v)

	// What a rule answers does not ring; what waits does, and its end replaces the notification.
	if out := d.hook(bash("s1", "git status")).wait(); out != allowed {
		t.Fatalf("the rule's answer is %q", out)
	}
	h := d.hook(bash("s1", "echo secret-command"))
	r := d.waitPending(1)[0]
	if m := arrived(t, v, 1); m.Type != "asked" || m.RequestID != r.ID || m.Waits != "permission" || m.Session != "" {
		t.Errorf("%+v", m)
	}
	d.allow(r)
	h.wait()
	if m := arrived(t, v, 2); m.Type != "settled" || len(m.Gone) != 1 || m.Gone[0].ID != r.ID || m.Gone[0].Outcome != "allowed" {
		t.Errorf("%+v", m)
	}
	d.must("POST", "/v1/push/test", phone.bearer(), nil, http.StatusNoContent, nil)
	if m := arrived(t, v, 3); m.Type != "test" {
		t.Errorf("%+v", m)
	}

	// The key and the subscription outlive a crash.
	key := phone.state().PublicKey
	d.kill()
	d.start()
	if s := phone.state(); s.PublicKey != key || !s.Subscribed {
		t.Errorf("after a crash: %+v", s)
	}
	h = d.hook(bash("s1", "echo secret-again"))
	r = d.waitPending(1)[0]
	if m := arrived(t, v, 4); m.RequestID != r.ID {
		t.Errorf("%+v", m)
	}

	// A browser that unsubscribed, and a device that was revoked, are told nothing more.
	other := d.pairBare("view")
	other.subscribe(v)
	v.Unsubscribe(browser)
	d.allow(r)
	h.wait()
	eventually(t, soon, "the dead subscription is gone", func() bool { return !phone.state().Subscribed })
	d.must("DELETE", "/v1/devices/"+phone.id, "", nil, http.StatusNoContent, nil)
	h = d.hook(bash("s1", "echo secret-third"))
	r = d.waitPending(1)[0]
	if m := arrived(t, v, 5); m.RequestID != r.ID {
		t.Errorf("%+v", m)
	}
	d.allow(r)
	h.wait()
	if said := d.out.tail(1 << 20); strings.Contains(said, "/send/") {
		t.Errorf("the log shows an endpoint:\n%s", said)
	}
}

// TestPushReachesNothingInside: without being told, the broker sends to public addresses only.
func TestPushReachesNothingInside(t *testing.T) {
	t.Parallel()
	v, _ := vendor(t)
	d := serve(t)
	phone := d.pairBare("approve")
	browser := v.Subscribe(phone.state().PublicKey)
	for _, endpoint := range []string{browser.Endpoint, strings.Replace(browser.Endpoint, "http", "https", 1), "https://localhost/x", "https://169.254.169.254/latest/meta-data"} {
		doc := strings.Replace(string(browser.JSON()), browser.Endpoint, endpoint, 1)
		d.must("PUT", "/v1/push", phone.bearer(), phone.change([]byte(doc), nil), http.StatusBadRequest, nil)
	}
	if phone.state().Subscribed {
		t.Error("it is subscribed")
	}
}
