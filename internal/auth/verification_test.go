package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/auth/passkey"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

var box = passkey.Site{ID: "box.example", Origins: []string{"https://box.example"}} // read-only

func originsOf(name string) []string {
	if name == box.ID {
		return box.Origins
	}
	return nil
}

// verifier is a paired device that verifies its owner.
type verifier struct {
	auth.Device
	key  *authtest.Key
	face *authtest.Authenticator
}

func begin(t *testing.T, a *auth.Auth, id string) (challenge string) {
	t.Helper()
	options, err := a.BeginVerification(id, box)
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Challenge string }
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatal(err)
	}
	return o.Challenge
}

func principal(t *testing.T, a *auth.Auth, d auth.Device, key *authtest.Key) auth.Principal {
	t.Helper()
	p, err := a.Authenticate(session(t, a, d, key))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func enrolled(t *testing.T, a *auth.Auth) (*verifier, auth.Principal) {
	t.Helper()
	d, key := pair(t, a, auth.RoleApprove)
	v := &verifier{d, key, authtest.NewAuthenticator(box.ID, box.Origins[0])}
	p := principal(t, a, d, key)
	doc := v.face.Create(begin(t, a, d.ID))
	d, err := a.FinishVerification(context.Background(), p, box, doc, key.Sign(auth.EnrolText(d.ID, doc)))
	if err != nil || !d.Verifies {
		t.Fatalf("%+v, %v", d, err)
	}
	return v, p
}

func TestVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		v, p := enrolled(t, a)
		state, err := a.Verification(v.ID)
		if err != nil || state.Credential != v.face.ID() || state.Site != box.ID {
			t.Fatalf("%+v, %v", state, err)
		}
		if !slices.ContainsFunc(a.Devices(), func(d auth.Device) bool { return d.ID == v.ID && d.Verifies }) {
			t.Error("the list does not say so")
		}
		text := []byte("allow one")
		sent := v.face.Get(text)
		proof, err := a.Verify(t.Context(), p, originsOf, text, sent, false)
		if err != nil || proof.PublicKey == "" || !passkey.Fits(text, *proof) {
			t.Fatalf("%+v, %v", proof, err)
		}
		if _, err := a.Verify(t.Context(), p, originsOf, text, sent, false); !errors.Is(err, auth.ErrVerification) {
			t.Errorf("the same again: %v", err)
		}
		// It is durable, and another broker knows what was counted here.
		b := open(t, kv)
		q := principal(t, b, v.Device, v.key)
		if _, err := b.Verify(t.Context(), q, originsOf, text, sent, false); !errors.Is(err, auth.ErrVerification) {
			t.Errorf("the same at another broker: %v", err)
		}
		if _, err := b.Verify(t.Context(), q, originsOf, []byte("two"), v.face.Get([]byte("two")), false); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		// A rename, and what is noted of its use, keep the credential.
		if _, err := a.RenameDevice(t.Context(), v.ID, "pocket"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		q = principal(t, b, v.Device, v.key)
		synctest.Wait()
		if state, err := b.Verification(v.ID); err != nil || state.Credential != v.face.ID() {
			t.Errorf("%+v, %v", state, err)
		}
		if _, err := a.EndVerification(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := b.Verify(t.Context(), q, originsOf, []byte("three"), v.face.Get([]byte("three")), false); !errors.Is(err, auth.ErrNoVerification) {
			t.Errorf("after its end: %v", err)
		}
		if _, err := a.EndVerification(t.Context(), v.ID); !errors.Is(err, auth.ErrNoVerification) {
			t.Errorf("twice: %v", err)
		}
	})
}

// What does not count is refused the second time all the same.
func TestVerificationOnceWithoutACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		v, p := enrolled(t, a)
		v.face.Counts = false
		text := []byte("allow one")
		sent := v.face.Get(text)
		for n, want := range []error{nil, auth.ErrVerification, auth.ErrVerification} {
			if _, err := a.Verify(t.Context(), p, originsOf, text, sent, false); !errors.Is(err, want) {
				t.Errorf("%d: %v", n, err)
			}
		}
		// Not even when it is signed anew: it is the same text.
		if _, err := a.Verify(t.Context(), p, originsOf, text, v.face.Get(text), false); !errors.Is(err, auth.ErrVerification) {
			t.Errorf("signed anew: %v", err)
		}
		if _, err := a.Verify(t.Context(), p, originsOf, text, sent, true); err != nil {
			t.Errorf("where the same may come again: %v", err)
		}
	})
}

func TestVerificationRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		v, p := enrolled(t, a)
		other, q := enrolled(t, a)
		text := []byte("allow")
		for name, c := range map[string]struct {
			by   auth.Principal
			v    hook.Verification
			from func(string) []string
			want error
		}{
			"another device's credential": {p, other.face.Get(text), originsOf, auth.ErrVerification},
			"one's own for another":       {q, v.face.Get(text), originsOf, auth.ErrVerification},
			"the page has moved":          {p, v.face.Get(text), func(string) []string { return []string{"https://new.example"} }, auth.ErrVerification},
		} {
			if _, err := a.Verify(t.Context(), c.by, c.from, text, c.v, false); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		d, key := pair(t, a, auth.RoleApprove)
		without := principal(t, a, d, key)
		if _, err := a.Verify(t.Context(), without, originsOf, text, v.face.Get(text), false); !errors.Is(err, auth.ErrNoVerification) {
			t.Errorf("a device without one: %v", err)
		}
		secret, _, err := a.CreateToken(t.Context(), auth.RoleAdmin, "bot", 0)
		if err != nil {
			t.Fatal(err)
		}
		bot, err := a.Authenticate(secret)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Verify(t.Context(), bot, originsOf, text, v.face.Get(text), false); !errors.Is(err, auth.ErrNoVerification) {
			t.Errorf("a token: %v", err)
		}
		if err := a.RevokeDevice(t.Context(), v.ID, hook.Approver{}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Verify(t.Context(), p, originsOf, text, v.face.Get(text), false); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("a removed device: %v", err)
		}
	})
}

// A credential is named by the device's key, once for a challenge, and only where there is none.
func TestEnrolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		d, key := pair(t, a, auth.RoleApprove)
		other, otherKey := pair(t, a, auth.RoleApprove)
		p := principal(t, a, d, key)
		face := authtest.NewAuthenticator(box.ID, box.Origins[0])
		finish := func(p auth.Principal, doc []byte, signature string) error {
			_, err := a.FinishVerification(t.Context(), p, box, doc, signature)
			return err
		}
		doc := face.Create(begin(t, a, d.ID))
		if err := finish(p, doc, otherKey.Sign(auth.EnrolText(d.ID, doc))); !errors.Is(err, auth.ErrSignature) {
			t.Errorf("a stolen bearer: %v", err)
		}
		if err := finish(p, doc, key.Sign(auth.EnrolText(other.ID, doc))); !errors.Is(err, auth.ErrSignature) {
			t.Errorf("signed for another device: %v", err)
		}
		var field *hook.FieldError
		theirs := face.Create(begin(t, a, other.ID))
		if err := finish(p, theirs, key.Sign(auth.EnrolText(d.ID, theirs))); !errors.As(err, &field) {
			t.Errorf("another device's challenge: %v", err)
		}
		unknown := face.Create("AAAAAAAAAAAAAAAAAAAAAA")
		if err := finish(p, unknown, key.Sign(auth.EnrolText(d.ID, unknown))); !errors.As(err, &field) {
			t.Errorf("a challenge of one's own: %v", err)
		}
		late := face.Create(begin(t, a, d.ID))
		time.Sleep(2 * time.Minute)
		if err := finish(p, late, key.Sign(auth.EnrolText(d.ID, late))); !errors.As(err, &field) {
			t.Errorf("too late: %v", err)
		}
		face.Known = false
		lie := face.Create(begin(t, a, d.ID))
		if err := finish(p, lie, key.Sign(auth.EnrolText(d.ID, lie))); !errors.Is(err, auth.ErrVerification) {
			t.Errorf("nobody was verified: %v", err)
		}
		face.Known = true
		if again := face.Create(challengeIn(t, lie)); !errors.As(finish(p, again, key.Sign(auth.EnrolText(d.ID, again))), &field) {
			t.Error("a challenge worked twice")
		}
		// Many challenges leave only the last few, and take none of another device.
		kept := face.Create(begin(t, a, other.ID))
		first := face.Create(begin(t, a, d.ID))
		for range 300 {
			begin(t, a, d.ID)
		}
		if err := finish(p, first, key.Sign(auth.EnrolText(d.ID, first))); !errors.As(err, &field) {
			t.Errorf("the first of many: %v", err)
		}
		if err := finish(principal(t, a, other, otherKey), kept, otherKey.Sign(auth.EnrolText(other.ID, kept))); err != nil {
			t.Errorf("the other device's: %v", err)
		}
		good := face.Create(begin(t, a, d.ID))
		spare := face.Create(begin(t, a, d.ID))
		if err := finish(p, good, key.Sign(auth.EnrolText(d.ID, good))); err != nil {
			t.Fatal(err)
		}
		if err := finish(p, spare, key.Sign(auth.EnrolText(d.ID, spare))); !errors.Is(err, auth.ErrVerifies) {
			t.Errorf("a second credential: %v", err)
		}
		if _, err := a.BeginVerification(d.ID, box); !errors.Is(err, auth.ErrVerifies) {
			t.Errorf("options for a second one: %v", err)
		}
		if _, err := a.BeginVerification("nobody", box); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func challengeIn(t *testing.T, doc []byte) string {
	t.Helper()
	r, err := passkey.ReadRegistration(doc)
	if err != nil {
		t.Fatal(err)
	}
	return r.Challenge
}

// Of many that send the same proof at once, one is verified.
func TestVerificationOnceOfMany(t *testing.T) {
	for _, counts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := open(t, kvtest.New())
			v, p := enrolled(t, a)
			v.face.Counts = counts
			if !counts {
				v.face.Count = 0
			}
			text := []byte("allow one")
			sent := v.face.Get(text)
			var good atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if _, err := a.Verify(t.Context(), p, originsOf, text, sent, false); err == nil {
						good.Add(1)
					} else if !errors.Is(err, auth.ErrVerification) && !errors.Is(err, auth.ErrUnavailable) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if good.Load() != 1 {
				t.Errorf("%d were verified", good.Load())
			}
		})
	}
}

// Where the count cannot be kept, nobody is verified: it could be used again.
func TestVerificationWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		v, p := enrolled(t, a)
		text := []byte("allow one")
		sent := v.face.Get(text)
		kv.SetDown(errors.New("no disk"))
		if _, err := a.Verify(t.Context(), p, originsOf, text, sent, false); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		kv.SetDown(nil)
		if _, err := a.Verify(t.Context(), p, originsOf, text, sent, false); err != nil {
			t.Errorf("the same, when the store is back: %v", err)
		}
	})
}
