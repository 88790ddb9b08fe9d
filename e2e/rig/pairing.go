package rig

import (
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/notify/notifytest"
)

// Pair lets a browser in from its own page.
func (b *Browser) Pair(d *Daemon) {
	b.t.Helper()
	url, _ := d.Owner()
	b.Do(chromedp.Navigate(url))
	b.Tap(PairHere)
	d.LetIn(b.Code(""))
	b.See("[data-ui=link]", Word("link.live"))
}

// PairAs is Pair for a role that has to be asked for.
func (b *Browser) PairAs(d *Daemon, role string) {
	b.t.Helper()
	url, _ := d.Owner()
	b.Do(chromedp.Navigate(url))
	b.Tap(PairHere)
	d.Command("pair", b.Code(""), "--role", role)
	b.See("[data-ui=link]", Word("link.live"))
}

// Box is where an element is on the screen, in CSS pixels.
type Box struct{ X, Y, Width, Height float64 }

// Box is where an element is.
func (b *Browser) Box(selector string) Box {
	b.t.Helper()
	return Value(b, chromedp.Evaluate[Box](`(() => { const r = document.querySelector(`+JSString(selector)+`).getBoundingClientRect();
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height} })()`))
}

// Keeps holds the page's database to have these keys, in order and with commas.
func (b *Browser) Keeps(want string) {
	b.t.Helper()
	got := Value(b, chromedp.Evaluate[string](`new Promise((resolve, reject) => {
		const open = indexedDB.open("assent", 1);
		open.onerror = () => reject(open.error);
		open.onsuccess = () => {
			const all = open.result.transaction("device").objectStore("device").getAllKeys();
			all.onsuccess = () => { open.result.close(); resolve(all.result.join()); };
		};
	})`, chromedp.EvalAwaitPromise))
	if got != want {
		b.t.Errorf("the browser keeps %q, want %q", got, want)
	}
}

// Sockets waits until so many WebSockets are open.
func (d *Daemon) Sockets(n int) {
	d.T.Helper()
	want := "\nassent_websockets " + strconv.Itoa(n) + "\n"
	Eventually(d.T, Soon, strconv.Itoa(n)+" open WebSockets", func() bool {
		_, body, err := d.Try("GET", "/metrics", nil)
		return err == nil && strings.Contains(string(body), want)
	})
}

// Everything is all of the broker's state that a page could want to change, but for the times
// at which the paired page itself called.
func (d *Daemon) Everything() string {
	d.T.Helper()
	var all []any
	for _, path := range []string{"/v1/requests?state=pending", "/v1/requests?state=ended", "/v1/pair", "/v1/tokens", "/v1/sessions"} {
		var v any
		d.Get(path, &v)
		all = append(all, v)
	}
	b, err := json.MarshalIndent(append(all, d.Devices()), "", " ")
	if err != nil {
		d.T.Fatal(err)
	}
	return string(b)
}

// The button that asks for a code, and the code.
const (
	PairHere  = "main > [data-action=pair]"
	shownCode = "main [role=img]"
)

var codePattern = regexp.MustCompile(`^[34679ACDEFGHJKMNPQRTVWXY]{4}-[34679ACDEFGHJKMNPQRTVWXY]{4}$`)

// Code waits until the page shows a code other than not, and returns it.
func (b *Browser) Code(not string) string {
	b.t.Helper()
	var code string
	Eventually(b.t, Soon, "a code on the page", func() bool {
		code = strings.TrimSpace(b.Text(shownCode))
		return code != "" && code != not
	})
	if !codePattern.MatchString(code) {
		b.t.Errorf("the page shows the code %q", code)
	}
	return code
}

// LetIn types the code on the machine.
func (d *Daemon) LetIn(code string) {
	d.T.Helper()
	d.Command("pair", code)
}

// Refuse refuses, on the machine, the device that shows code.
func (d *Daemon) Refuse(code string) {
	d.T.Helper()
	status, body, err := d.Try("DELETE", "/v1/pair/"+code, nil)
	if err != nil || status != http.StatusNoContent {
		d.T.Fatalf("refuse %s: %d %s %v", code, status, body, err)
	}
}

// StartPairing is a device that asks to be let in.
func (d *Daemon) StartPairing() {
	d.T.Helper()
	status, body, err := d.As("", "POST", "/v1/pair/start", map[string]any{"publicKey": authtest.NewKey().JWK()})
	if err != nil || status != http.StatusCreated {
		d.T.Fatalf("start a pairing: %d %s %v", status, body, err)
	}
}

// Signed holds the record of a decision to have been signed by its device.
func (d *Daemon) Signed(id string) {
	d.T.Helper()
	if out := d.Command("trace", id); !strings.Contains(out, "signature verified") {
		d.T.Errorf("no verified signature in the trace of request %s:\n%s", id, out)
	}
}

// WaitingDevice shows a code and wants to be let in.
type WaitingDevice struct{ Code, Name, From string }

// WaitingDevices are those that show a code and want to be let in.
func (d *Daemon) WaitingDevices() (list []WaitingDevice) {
	d.T.Helper()
	d.Get("/v1/pair", &list)
	return list
}

// Device is one that is paired.
type Device struct{ ID, Name, Role, Thumbprint string }

// Devices are those that are paired.
func (d *Daemon) Devices() (list []Device) {
	d.T.Helper()
	d.Get("/v1/devices", &list)
	return list
}

// started is what POST /v1/pair/start answers.
type started struct{ Code, Secret string }

// StartsAs begins a pairing as a device of this name would.
func (d *Daemon) StartsAs(name string, code ...hook.CodeOrigin) started {
	d.T.Helper()
	asks := map[string]any{"publicKey": authtest.NewKey().JWK(), "name": name}
	if len(code) > 0 {
		asks["codeOrigin"] = code[0]
	}
	status, body, err := d.As("", "POST", "/v1/pair/start", asks)
	if err != nil || status != http.StatusCreated {
		d.T.Fatalf("%d %s %v", status, body, err)
	}
	Valid(d.T, "PairingStart", body)
	var s started
	if err := json.Unmarshal(body, &s); err != nil {
		d.T.Fatal(err)
	}
	return s
}

// Polls returns the status of a poll.
func (d *Daemon) Polls(s started) int {
	d.T.Helper()
	status, body, err := d.As("", "POST", "/v1/pair/poll", map[string]string{"secret": s.Secret})
	if err != nil {
		d.T.Fatalf("%s %v", body, err)
	}
	return status
}

// Refused runs an assent command that must end with this code, and returns what it said.
func (d *Daemon) Refused(code int, args ...string) string {
	d.T.Helper()
	cmd := exec.Command(Program("assent"), append(args, "--state-dir", d.State)...)
	cmd.Env = d.Env()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		d.T.Errorf("assent %s: %v, want code %d\n%s", strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

// StolenBearer is what a thief with a look at the page's traffic would have.
func (b *Browser) StolenBearer() string {
	b.t.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => { const real = fetch; window.fetch = (u, o) => { window.stolen = o?.headers?.authorization ?? window.stolen; return real(u, o) } })()`))
	// The page asks for a ticket when it connects anew.
	b.Do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("offline")); dispatchEvent(new Event("online")); dispatchEvent(new Event("focus")); document.dispatchEvent(new Event("visibilitychange"))`))
	var stolen string
	Eventually(b.t, Soon, "a bearer in the page's traffic", func() bool {
		stolen = Value(b, chromedp.Evaluate[string](`window.stolen ?? ""`))
		return stolen != ""
	})
	return strings.TrimPrefix(stolen, "Bearer ")
}

// Vendor is a push service of ours on loopback, and the flag with which the broker takes it.
func Vendor(t *testing.T) (v *notifytest.Vendor, flag string) {
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

// BareDevice is a paired device without a browser.
type BareDevice struct {
	d   *Daemon
	ID  string
	key *authtest.Key
}

// PairBare pairs one, by a link: see LetInBare.
func (d *Daemon) PairBare(role string) *BareDevice {
	d.T.Helper()
	var invited, made struct{ Code, ID string }
	d.Must("POST", "/v1/pair", "", map[string]string{"role": role}, http.StatusCreated, &invited)
	b := &BareDevice{d: d, key: authtest.NewKey()}
	d.Must("POST", "/v1/pair/redeem", "none", map[string]any{"code": invited.Code, "publicKey": b.key.JWK(), "name": "bare"}, http.StatusCreated, &made)
	b.ID = made.ID
	return b
}

// LetInBare pairs one that b, of role admin, lets in.
func (b *BareDevice) LetInBare(role string) *BareDevice {
	b.d.T.Helper()
	other := &BareDevice{d: b.d, key: authtest.NewKey()}
	var started struct{ Code string }
	var made struct{ ID string }
	b.d.Must("POST", "/v1/pair/start", "none", map[string]any{"publicKey": other.key.JWK()}, http.StatusCreated, &started)
	text := auth.PairText(started.Code, other.key.JWK(), auth.Role(role), "")
	b.d.Must("POST", "/v1/devices", b.Bearer(), map[string]string{"code": started.Code, "role": role, "signature": b.key.Sign(text)}, http.StatusCreated, &made)
	other.ID = made.ID
	return other
}

// Must calls the API with a token ("": the owner's) and wants that status.
func (d *Daemon) Must(method, path, token string, in any, want int, out any) {
	d.T.Helper()
	switch token {
	case "":
		_, token = d.Owner()
	case "none":
		token = ""
	}
	status, body, err := d.As(token, method, path, in)
	if err != nil || status != want {
		d.T.Fatalf("%s %s: %d %s %v", method, path, status, body, err)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			d.T.Fatal(err)
		}
	}
}

// TryBearer opens a session, if the broker is there; "" if not.
func (b *BareDevice) TryBearer() string {
	var nonce, session struct{ Nonce, Token string }
	_, body, err := b.d.As("", "POST", "/v1/auth/challenge", map[string]string{"deviceId": b.ID})
	if err != nil || json.Unmarshal(body, &nonce) != nil {
		return ""
	}
	_, body, err = b.d.As("", "POST", "/v1/auth/session", map[string]string{
		"deviceId": b.ID, "nonce": nonce.Nonce, "signature": b.key.Sign(auth.ChallengeText(b.ID, nonce.Nonce)),
	})
	if err != nil || json.Unmarshal(body, &session) != nil {
		return ""
	}
	return session.Token
}

// Bearer opens a session.
func (b *BareDevice) Bearer() string {
	b.d.T.Helper()
	var nonce, session struct{ Nonce, Token string }
	b.d.Must("POST", "/v1/auth/challenge", "none", map[string]string{"deviceId": b.ID}, http.StatusOK, &nonce)
	b.d.Must("POST", "/v1/auth/session", "none", map[string]string{
		"deviceId": b.ID, "nonce": nonce.Nonce, "signature": b.key.Sign(auth.ChallengeText(b.ID, nonce.Nonce)),
	}, http.StatusOK, &session)
	return session.Token
}

// State is what the broker says about notifications to the device.
func (b *BareDevice) State() notify.State {
	b.d.T.Helper()
	var doc json.RawMessage
	b.d.Must("GET", "/v1/push", b.Bearer(), nil, http.StatusOK, &doc)
	Valid(b.d.T, "Push", doc)
	var s notify.State
	if err := json.Unmarshal(doc, &s); err != nil {
		b.d.T.Fatal(err)
	}
	return s
}

// Change is the body of PUT /v1/push, signed; nil is left out.
func (b *BareDevice) Change(subscription, settings []byte) map[string]any {
	compact := func(text []byte) json.RawMessage { // as it is sent
		if text == nil {
			return nil
		}
		return json.RawMessage(Object(b.d.T, json.RawMessage(text)))
	}
	sub, set := compact(subscription), compact(settings)
	body := map[string]any{"signature": b.key.Sign(auth.PushText(b.ID, sub, set))}
	if sub != nil {
		body["subscription"] = sub
	}
	if set != nil {
		body["settings"] = set
	}
	return body
}

// Subscribe subscribes a browser at v, which rings at once.
func (b *BareDevice) Subscribe(v *notifytest.Vendor) *notifytest.Browser {
	b.d.T.Helper()
	browser := v.Subscribe(b.State().PublicKey)
	b.d.Must("PUT", "/v1/push", b.Bearer(), b.Change(browser.JSON(), []byte(`{"afterSeconds":0}`)), http.StatusOK, nil)
	return browser
}

// Arrived waits for the nth message and returns it.
func Arrived(t *testing.T, v *notifytest.Vendor, n int) notify.Message {
	t.Helper()
	Eventually(t, Soon, "a push message", func() bool { return len(v.Got()) >= n })
	plain := v.Got()[n-1].Plain
	Valid(t, "PushMessage", plain)
	if strings.Contains(string(plain), "secret") {
		t.Errorf("a push message holds the input: %s", plain)
	}
	var m notify.Message
	if err := json.Unmarshal(plain, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
