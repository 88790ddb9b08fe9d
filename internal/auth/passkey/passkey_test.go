package passkey_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assent/internal/auth/authtest"
	"assent/internal/auth/passkey"
	"assent/internal/hook"
)

var site = passkey.Site{ID: "box.example", Origins: []string{"https://box.example", "https://box.example:8443"}} // read-only

const device = "5b0f6a0e-1b1c-4f0e-8d0a-6d7b8f1c2a3e"

func enrol(t *testing.T, a *authtest.Authenticator) (passkey.Credential, error) {
	t.Helper()
	options, challenge, err := passkey.Begin(site, device, "phone")
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Challenge string
		RP        struct{ ID string }
		User      struct{ ID string }
		Selection struct {
			Attachment   string `json:"authenticatorAttachment"`
			Verification string `json:"userVerification"`
		} `json:"authenticatorSelection"`
		Attestation string
	}
	if err := json.Unmarshal(options, &o); err != nil || o.Challenge != challenge || o.RP.ID != site.ID || o.Selection.Verification != "required" || o.Selection.Attachment != "platform" || o.Attestation != "none" {
		t.Fatalf("%s: %v", options, err)
	}
	r, err := passkey.ReadRegistration(a.Create(challenge))
	if err != nil {
		return passkey.Credential{}, err
	}
	if r.Challenge != challenge {
		t.Errorf("challenge %q, want %q", r.Challenge, challenge)
	}
	return passkey.Finish(site, device, r, challenge)
}

func mustEnrol(t *testing.T, a *authtest.Authenticator) passkey.Credential {
	t.Helper()
	c, err := enrol(t, a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVerify(t *testing.T) {
	for _, counts := range []bool{true, false} {
		a := authtest.NewAuthenticator(site.ID, site.Origins[0])
		a.Counts, a.Synced = counts, !counts
		c := mustEnrol(t, a)
		if c.ID != a.ID() || c.Site != site.ID || c.Synced == counts {
			t.Errorf("%+v", c)
		}
		for n := range uint32(3) {
			text := []byte("allow " + string('a'+rune(n)))
			v := a.Get(text)
			next, err := passkey.Verify(site, c, device, text, v)
			if err != nil {
				t.Fatal(err)
			}
			if counts && next.SignCount != n+1 || !counts && next.SignCount != 0 {
				t.Errorf("count %d", next.SignCount)
			}
			v.PublicKey = encoded(c.PublicKey)
			if !passkey.Fits(text, v) || passkey.Fits([]byte("allow z"), v) {
				t.Error("what stands in the record is not told apart")
			}
			c = next
		}
		// From another port of the same name.
		a.Origin = site.Origins[1]
		if _, err := passkey.Verify(site, c, device, []byte("x"), a.Get([]byte("x"))); err != nil {
			t.Error(err)
		}
	}
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// TestVerifyRefuses: everything that differs in one thing from what would hold.
func TestVerifyRefuses(t *testing.T) {
	text := []byte("allow this")
	for name, lie := range map[string]func(a *authtest.Authenticator) hook.Verification{
		"nobody was verified": func(a *authtest.Authenticator) hook.Verification { a.Known = false; return a.Get(text) },
		"nobody is there":     func(a *authtest.Authenticator) hook.Verification { a.Person = false; return a.Get(text) },
		"another text":        func(a *authtest.Authenticator) hook.Verification { return a.Get([]byte("allow that")) },
		"another origin": func(a *authtest.Authenticator) hook.Verification {
			a.Origin = "https://evil.example"
			return a.Get(text)
		},
		"a name below": func(a *authtest.Authenticator) hook.Verification {
			a.Origin = "https://x.box.example"
			return a.Get(text)
		},
		"plain http": func(a *authtest.Authenticator) hook.Verification { a.Origin = "http://box.example"; return a.Get(text) },
		"another port": func(a *authtest.Authenticator) hook.Verification {
			a.Origin = "https://box.example:1"
			return a.Get(text)
		},
		"another site":   func(a *authtest.Authenticator) hook.Verification { a.Site = "evil.example"; return a.Get(text) },
		"within a frame": func(a *authtest.Authenticator) hook.Verification { a.Crossed = true; return a.Get(text) },
		"a registration": func(a *authtest.Authenticator) hook.Verification {
			return a.GetFor("webauthn.create", passkey.ChallengeOf(text))
		},
		"a payment": func(a *authtest.Authenticator) hook.Verification {
			return a.GetFor("payment.get", passkey.ChallengeOf(text))
		},
		"the count stands still": func(a *authtest.Authenticator) hook.Verification {
			a.Count = 4
			return a.Get(text)
		},
		"the count goes back": func(a *authtest.Authenticator) hook.Verification { a.Count = 1; return a.Get(text) },
		"it counts no more":   func(a *authtest.Authenticator) hook.Verification { a.Count, a.Counts = 0, false; return a.Get(text) },
		"it is synced now":    func(a *authtest.Authenticator) hook.Verification { a.Synced = true; return a.Get(text) },
		"another key under its id": func(a *authtest.Authenticator) hook.Verification {
			v := authtest.NewAuthenticator(site.ID, site.Origins[0])
			v.Count = 10
			got := v.Get(text)
			got.Credential = a.ID()
			return got
		},
		"another credential": func(a *authtest.Authenticator) hook.Verification {
			v := authtest.NewAuthenticator(site.ID, site.Origins[0])
			v.Count = 10
			return v.Get(text)
		},
		"another signature": func(a *authtest.Authenticator) hook.Verification {
			v := a.Get(text)
			v.Signature = a.Get(text).Signature
			return v
		},
		"nothing": func(*authtest.Authenticator) hook.Verification { return hook.Verification{} },
		"half":    func(a *authtest.Authenticator) hook.Verification { v := a.Get(text); v.ClientData = ""; return v },
		"nonsense": func(a *authtest.Authenticator) hook.Verification {
			v := a.Get(text)
			v.AuthenticatorData = "AAAA"
			return v
		},
		"large": func(a *authtest.Authenticator) hook.Verification {
			v := a.Get(text)
			v.ClientData = strings.Repeat("A", 1<<16)
			return v
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := authtest.NewAuthenticator(site.ID, site.Origins[0])
			c := mustEnrol(t, a)
			c.SignCount, a.Count = 5, 5
			if _, err := passkey.Verify(site, c, device, text, lie(a)); !errors.Is(err, passkey.ErrRefused) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestFinishRefuses: what makes a credential that would prove nothing.
func TestFinishRefuses(t *testing.T) {
	for name, lie := range map[string]func(a *authtest.Authenticator){
		"nobody was verified": func(a *authtest.Authenticator) { a.Known = false },
		"nobody is there":     func(a *authtest.Authenticator) { a.Person = false },
		"another origin":      func(a *authtest.Authenticator) { a.Origin = "https://evil.example" },
		"another site":        func(a *authtest.Authenticator) { a.Site = "evil.example" },
		"within a frame":      func(a *authtest.Authenticator) { a.Crossed = true },
	} {
		t.Run(name, func(t *testing.T) {
			a := authtest.NewAuthenticator(site.ID, site.Origins[0])
			lie(a)
			if _, err := enrol(t, a); !errors.Is(err, passkey.ErrRefused) {
				t.Errorf("%v", err)
			}
		})
	}
	a := authtest.NewAuthenticator(site.ID, site.Origins[0])
	_, challenge, err := passkey.Begin(site, device, "phone")
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := passkey.Begin(site, device, "phone")
	if err != nil {
		t.Fatal(err)
	}
	r, err := passkey.ReadRegistration(a.Create(other))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := passkey.Finish(site, device, r, challenge); !errors.Is(err, passkey.ErrRefused) {
		t.Errorf("another challenge: %v", err)
	}
	if _, err := passkey.ReadRegistration(make([]byte, 1<<20)); !errors.Is(err, passkey.ErrRefused) {
		t.Errorf("large: %v", err)
	}
}

func TestAllowed(t *testing.T) {
	for origin, want := range map[string]string{
		"https://box.example": "box.example", "https://Box.Example:8443": "box.example",
		"http://localhost:7717": "localhost", "https://localhost": "localhost",
		"http://box.example": "", "http://127.0.0.1:7717": "", "https://127.0.0.1": "", "https://[::1]:7717": "", "https://10.0.0.5": "", "http://[::1]": "",
		"http://localhost.evil.example": "", "": "", "null": "", "box.example": "",
		"https://box": "", // the library takes no name without a dot
	} {
		got, why := passkey.Allowed(origin)
		if got != want || (why == "") != (want != "") {
			t.Errorf("%s: %q, %q", origin, got, why)
		}
	}
}

// FuzzVerify: foreign bytes verify nobody and break nothing.
func FuzzVerify(f *testing.F) {
	a := authtest.NewAuthenticator(site.ID, site.Origins[0])
	v := a.Get([]byte("x"))
	f.Add(v.AuthenticatorData, v.ClientData, v.Signature, []byte(`{"id":"x"}`))
	f.Add("", "", "", a.Create("AAAAAAAAAAAAAAAAAAAAAA"))
	f.Fuzz(func(t *testing.T, data, client, signature string, made []byte) {
		c := passkey.Credential{ID: a.ID(), PublicKey: made, Site: site.ID}
		v := hook.Verification{Credential: a.ID(), AuthenticatorData: data, ClientData: client, Signature: signature, PublicKey: encoded(made)}
		if _, err := passkey.Verify(site, c, device, []byte("y"), v); err == nil {
			t.Error("verified")
		}
		if passkey.Fits([]byte("y"), v) {
			t.Error("fits")
		}
		if r, err := passkey.ReadRegistration(made); err == nil {
			_, _ = passkey.Finish(site, device, r, "AAAAAAAAAAAAAAAAAAAAAA")
		}
	})
}
