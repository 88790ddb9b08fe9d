package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
)

// phone is a paired device with an open session.
type phone struct {
	auth.Device
	key    *authtest.Key
	bearer string
}

// paired is a phone of this role.
func (g *rig) paired(role auth.Role, name string) *phone {
	g.t.Helper()
	if role.Includes(auth.RoleOperate) && role != auth.RoleAdmin && g.chief == nil {
		g.paired(auth.RoleAdmin, "chief")
	}
	if role.Includes(auth.RoleOperate) && g.chief != nil {
		return g.letIn(role, name)
	}
	invited := decode[auth.Pairing](g.t, g.post("/v1/pair", g.tokens[auth.RoleAdmin], fields{"role": role, "name": name}).body)
	p := &phone{key: authtest.NewKey()}
	r := g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "publicKey": p.key.JWK()})
	if r.status != http.StatusCreated {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	p.Device = decode[auth.Device](g.t, r.body)
	g.signIn(p)
	if role == auth.RoleAdmin {
		g.chief = p
	}
	return p
}

// letIn is a phone of this role that the first administrator's device let in.
func (g *rig) letIn(role auth.Role, name string) *phone {
	g.t.Helper()
	p := &phone{key: authtest.NewKey()}
	started := decode[auth.Start](g.t, g.post("/v1/pair/start", "", fields{"publicKey": p.key.JWK()}).body)
	r := g.post("/v1/devices", g.chief.bearer, g.chief.lets(started.Code, p.key, role, name))
	if r.status != http.StatusCreated {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	p.Device = decode[auth.Device](g.t, r.body)
	g.signIn(p)
	return p
}

// lets is the signed body by which p lets in the device with this key, which shows code.
func (p *phone) lets(code string, key *authtest.Key, role auth.Role, name string) fields {
	return fields{"code": code, "role": role, "name": name, "signature": p.key.Sign(auth.PairText(code, key.JWK(), role, name))}
}

func (g *rig) signIn(p *phone) {
	g.t.Helper()
	nonce := decode[struct{ Nonce string }](g.t, g.post("/v1/auth/challenge", "", fields{"deviceId": p.ID}).body).Nonce
	r := g.post("/v1/auth/session", "", fields{"deviceId": p.ID, "nonce": nonce, "signature": p.key.Sign(auth.ChallengeText(p.ID, nonce))})
	if r.status != http.StatusOK {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
	p.bearer = decode[struct{ Token string }](g.t, r.body).Token
}

// signed is a decision's body, which the members end, with the phone's signature.
func (p *phone) signed(id string, d hook.Decision, members string) string {
	return `{"behavior":"` + string(d.Behavior) + `","inputSha256":"` + d.InputSHA256 + `"` + members +
		`,"signature":"` + p.key.Sign(auth.DecisionText(id, d)) + `"}`
}

// A phone: invited, paired, signed in, connected, deciding, thrown out.
func TestDeviceOverHTTP(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		admin := g.tokens[auth.RoleAdmin]
		r := g.post("/v1/pair", admin, fields{"role": "approve", "name": "phone"})
		valid(t, "Pairing", r.body)
		invited := decode[auth.Pairing](t, r.body)
		if r.status != http.StatusCreated || invited.URL != "https://box.example/#pair="+invited.Code {
			t.Fatalf("%d %s", r.status, r.body)
		}
		key := authtest.NewKey()
		if r := g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "publicKey": "x"}); r.status != http.StatusBadRequest || !strings.Contains(r.body, "publicKey") {
			t.Errorf("bad key: %d %s", r.status, r.body)
		}
		jwk := key.JWK() // with what WebCrypto adds
		r = g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "name": "Pixel", "publicKey": fields{"kty": jwk.Kty, "crv": jwk.Crv, "x": jwk.X, "y": jwk.Y, "ext": true, "key_ops": []string{"verify"}}})
		valid(t, "Device", r.body)
		d := decode[auth.Device](t, r.body)
		if r.status != http.StatusCreated || d.Name != "phone" || d.Role != auth.RoleApprove {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/pair/redeem", "", fields{"code": invited.Code, "publicKey": jwk}); r.status != http.StatusForbidden {
			t.Errorf("the code again: %d", r.status)
		}
		nonce := decode[struct{ Nonce string }](t, g.post("/v1/auth/challenge", "", fields{"deviceId": d.ID}).body).Nonce
		signed := fields{"deviceId": d.ID, "nonce": nonce, "signature": key.Sign(auth.ChallengeText(d.ID, nonce))}
		r = g.post("/v1/auth/session", "", signed)
		bearer := decode[struct{ Token, ExpiresAt string }](t, r.body)
		if r.status != http.StatusOK || bearer.Token == "" || bearer.ExpiresAt == "" {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := g.post("/v1/auth/session", "", signed); r.status != http.StatusBadRequest || !strings.Contains(r.body, "nonce") {
			t.Errorf("the nonce again: %d %s", r.status, r.body)
		}
		ticket := decode[struct{ Ticket string }](t, g.post("/v1/ws/ticket", bearer.Token, fields{}).body).Ticket
		conn, _, err := g.socket("?ticket="+ticket, "", http.Header{"Origin": {origin}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, res, err := g.socket("?ticket="+ticket, "", nil); err == nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the ticket again: %v", err)
		}
		w := g.raise(call{unix: true, body: bash("x")})
		sum := g.get(w.id).InputSHA256
		sig := key.Sign(auth.DecisionText(w.id, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: sum}))
		dec := g.post("/v1/requests/"+w.id+"/decision", bearer.Token, fields{"behavior": "allow", "inputSha256": sum, "signature": sig})
		if dec.status != http.StatusOK {
			t.Errorf("decision: %d %s", dec.status, dec.body)
		}
		<-w.reply
		if q := g.get(w.id); q.DecidedBy == nil || q.DecidedBy.Kind != "device" || q.DecidedBy.ID != d.ID || q.DecidedBy.Name != "phone" {
			t.Errorf("decided by %+v", q.DecidedBy)
		}
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: bearer.Token})
		if !strings.Contains(trace.body, `"signature":"`+sig+`","publicKey":{"kty":"EC"`) {
			t.Errorf("no signature in %s", trace.body)
		}
		if list := validList(t, "Device", g.call(call{path: "/v1/devices", token: admin}).body); len(list) != 1 {
			t.Errorf("%d devices", len(list))
		}
		if r := g.call(call{method: "DELETE", path: "/v1/devices/" + d.ID, token: admin}); r.status != http.StatusNoContent {
			t.Errorf("revoke: %d", r.status)
		}
		if code := closeCode(conn); code != 4401 {
			t.Errorf("the socket closed with %d, want 4401", code)
		}
		if r := g.call(call{path: "/v1/requests", token: bearer.Token}); r.status != http.StatusUnauthorized {
			t.Errorf("bearer of a revoked device: %d", r.status)
		}
		if r := g.post("/v1/auth/challenge", "", fields{"deviceId": d.ID}); r.status != http.StatusNotFound {
			t.Errorf("challenge for a revoked device: %d", r.status)
		}
	})
}

// closeCode reads until the server closes and says why.
func closeCode(conn *websocket.Conn) int {
	for {
		_, _, err := conn.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Code
		}
		if err != nil {
			return -1
		}
	}
}

// Who may remove whom. The connections of who is removed close at once.
func TestRemovingDevices(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		remove := func(token, id string) int {
			t.Helper()
			return g.call(call{method: "DELETE", path: "/v1/devices/" + id, token: token}).status
		}
		view, approve, admin := g.paired(auth.RoleView, "view"), g.paired(auth.RoleApprove, "approve"), g.paired(auth.RoleAdmin, "admin")
		peer := g.paired(auth.RoleApprove, "peer")
		for _, by := range []string{view.bearer, approve.bearer, g.tokens[auth.RoleView]} {
			if list := validList(t, "Device", g.call(call{path: "/v1/devices", token: by}).body); len(list) != 4 {
				t.Errorf("%d devices", len(list))
			}
		}
		for _, c := range []struct{ by, id string }{
			{view.bearer, peer.ID}, {view.bearer, admin.ID}, {approve.bearer, admin.ID},
			{g.tokens[auth.RoleView], view.ID}, {g.tokens[auth.RoleApprove], admin.ID}, {g.tokens[auth.RoleSubmit], view.ID},
		} {
			if got := remove(c.by, c.id); got != http.StatusForbidden {
				t.Errorf("%d", got)
			}
		}
		if got := remove("", view.ID); got != http.StatusUnauthorized {
			t.Errorf("nobody: %d", got)
		}
		if n := len(g.auth.Devices()); n != 4 {
			t.Fatalf("%d devices are left", n)
		}
		conn, _, err := g.socket("", peer.bearer, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := remove(approve.bearer, peer.ID); got != http.StatusNoContent {
			t.Errorf("a peer: %d", got)
		}
		if code := closeCode(conn); code != 4401 {
			t.Errorf("its socket closed with %d", code)
		}
		if got := remove(peer.bearer, approve.ID); got != http.StatusUnauthorized {
			t.Errorf("by a removed one: %d", got)
		}
		for by, id := range map[string]string{view.bearer: view.ID, approve.bearer: approve.ID, g.tokens[auth.RoleAdmin]: admin.ID} {
			if got := remove(by, id); got != http.StatusNoContent {
				t.Errorf("itself, or by an administrator: %d", got)
			}
		}
		if n := len(g.auth.Devices()); n != 0 {
			t.Errorf("%d devices are left", n)
		}
		if got := remove(g.tokens[auth.RoleAdmin], admin.ID); got != http.StatusNotFound {
			t.Errorf("again: %d", got)
		}
		g.kv.SetDown(errors.New("gone"))
		if got := remove(g.tokens[auth.RoleAdmin], admin.ID); got != http.StatusNotFound {
			t.Errorf("without the store: %d", got)
		}
	})
}

// A device's bearer may have been stolen: it must not be traded for a credential that decides.
func TestDevicesGiveOutNoCredentials(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		p := g.paired(auth.RoleAdmin, "phone")
		started := decode[auth.Start](t, g.post("/v1/pair/start", "", fields{"publicKey": authtest.NewKey().JWK()}).body)
		for path, body := range map[string]fields{
			"/v1/tokens": {"role": "approve", "name": "x"}, "/v1/pair": {}, "/v1/devices": {"code": started.Code},
		} {
			if r := g.post(path, p.bearer, body); r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
		}
		if n := len(g.auth.Tokens()); n != 5 {
			t.Errorf("%d tokens", n)
		}
		if n := len(g.auth.Devices()); n != 1 {
			t.Errorf("%d devices", n)
		}
		// It administers all the same.
		if r := g.call(call{path: "/v1/pair", token: p.bearer}); r.status != http.StatusOK {
			t.Errorf("%d", r.status)
		}
		if r := g.call(call{method: "DELETE", path: "/v1/pair/" + started.Code, token: p.bearer}); r.status != http.StatusNoContent {
			t.Errorf("%d", r.status)
		}
	})
}

// Whoever holds a body back until the credential is revoked does nothing with it.
func TestRevokedWhileTheBodyComes(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		body, err := json.Marshal(fields{"role": "admin", "name": "x"})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := g.tcp.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		head := "POST /v1/tokens HTTP/1.1\r\nHost: 127.0.0.1:7717\r\nConnection: close\r\nAuthorization: Bearer " + g.tokens[auth.RoleAdmin] +
			"\r\nContent-Length: " + "27" + "\r\n\r\n"
		if len(body) != 27 {
			t.Fatalf("the body has %d bytes", len(body))
		}
		if _, err := io.WriteString(conn, head+string(body[:5])); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := g.auth.RevokeToken(t.Context(), g.ids[auth.RoleAdmin]); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(body[5:]); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401 ") {
			t.Errorf("%v %s", err, answer)
		}
		if n := len(g.auth.Tokens()); n != 4 {
			t.Errorf("%d tokens, want the 4 others", n)
		}
	})
}

func TestDeviceIsRenamed(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		phone, tablet, viewer := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleAdmin, "tablet"), g.paired(auth.RoleView, "wall")
		rename := func(id, name, token string) reply {
			t.Helper()
			return g.call(call{method: "PATCH", path: "/v1/devices/" + id, token: token, body: mustJSON(fields{"name": name})})
		}
		for _, tt := range []struct {
			what, id, name, token string
			want                  int
		}{
			{"itself", phone.ID, "Anna's phone", phone.bearer, 200},
			{"to what it is called", phone.ID, "Anna's phone", phone.bearer, 200},
			{"a lower role", viewer.ID, "hall", phone.bearer, 200},
			{"itself, with the least role", viewer.ID, "kitchen", viewer.bearer, 200},
			{"a higher role", tablet.ID, "x", phone.bearer, 403},
			{"another, with the least role", phone.ID, "x", viewer.bearer, 403},
			{"to another's name", tablet.ID, "kitchen", tablet.bearer, 409},
			{"to nothing", tablet.ID, "", tablet.bearer, 400},
			{"to what cannot be seen", tablet.ID, "a\u200bb", tablet.bearer, 400},
			{"nobody", "x", "y", tablet.bearer, 404},
		} {
			r := rename(tt.id, tt.name, tt.token)
			if r.status != tt.want {
				t.Errorf("%s: %d %s", tt.what, r.status, r.body)
			} else if r.status == 200 {
				valid(t, "Device", r.body)
				if d := decode[auth.Device](t, r.body); d.Name != tt.name {
					t.Errorf("%s: %+v", tt.what, d)
				}
			}
		}
		// Its key and its bearer go on, and what it decides bears the new name.
		w := g.raise(call{unix: true, body: bash("x")})
		d := hook.Decision{Behavior: "deny", InputSHA256: g.get(w.id).InputSHA256}
		if r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: phone.bearer, body: phone.signed(w.id, d, "")}); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if q := g.get(w.id); q.DecidedBy == nil || q.DecidedBy.Name != "Anna's phone" {
			t.Errorf("%+v", q.DecidedBy)
		}
	})
}

// TestRevokedKey: the record says who removed a device, and its key is not paired again.
func TestRevokedKey(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		chief, p := g.paired(auth.RoleAdmin, "desk"), g.paired(auth.RoleApprove, "phone")
		if r := g.call(call{method: "DELETE", path: "/v1/devices/" + p.ID, token: chief.bearer}); r.status != http.StatusNoContent {
			t.Fatalf("%d %s", r.status, r.body)
		}
		synctest.Wait()
		records, err := g.log.Records(t.Context(), hook.KeyEntry(p.Thumbprint))
		if err != nil || len(records) != 1 || records[0].By == nil || records[0].By.ID != chief.ID || records[0].Revoked == nil || records[0].Revoked.DeviceID != p.ID {
			t.Errorf("the record has %+v, %v", records, err)
		}
		if r := g.post("/v1/pair/start", "", fields{"publicKey": p.key.JWK()}); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"revoked"`) {
			t.Errorf("it is paired again: %d %s", r.status, r.body)
		}
	})
}
