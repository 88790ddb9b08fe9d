package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

func pair(t *testing.T, a *auth.Auth, role auth.Role) (auth.Device, *authtest.Key) {
	t.Helper()
	p, err := a.NewPairing(context.Background(), role, "phone", "https://box.example/")
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != "https://box.example/#pair="+p.Code {
		t.Errorf("URL %q", p.URL)
	}
	key := authtest.NewKey()
	d, err := a.Redeem(context.Background(), p.Code, key.JWK(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return d, key
}

func session(t *testing.T, a *auth.Auth, d auth.Device, key *authtest.Key) string {
	t.Helper()
	nonce, _, err := a.Challenge(d.ID)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := a.OpenSession(d.ID, nonce, key.Sign(auth.ChallengeText(d.ID, nonce)))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestDeviceJourney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		d, key := pair(t, a, auth.RoleApprove)
		if d.Name != "phone" || d.Role != auth.RoleApprove {
			t.Errorf("device %+v", d)
		}
		token := session(t, a, d, key)
		p, err := a.Authenticate(token)
		if err != nil || p.Role != auth.RoleApprove || p.Approver.Kind != "device" || p.Approver.ID != d.ID {
			t.Fatalf("principal %+v, %v", p, err)
		}
		time.Sleep(15 * time.Minute)
		if _, err := a.Authenticate(token); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("after a quarter of an hour: %v", err)
		}
		// Another replica knows the device too, and revoking it here ends it there.
		b := open(t, kv)
		there := session(t, b, d, key)
		nonce, _, err := b.Challenge(d.ID)
		if err != nil {
			t.Fatal(err)
		}
		q, err := b.Authenticate(there)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.RevokeDevice(context.Background(), d.ID, hook.Approver{Kind: hook.KindOwner, Name: "owner"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !q.Revoked() {
			t.Error("the principal is not told")
		}
		if _, err := b.Authenticate(there); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("bearer of a revoked device: %v", err)
		}
		if _, _, err := b.OpenSession(d.ID, nonce, key.Sign(auth.ChallengeText(d.ID, nonce))); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("challenge of a revoked device: %v", err)
		}
		if _, _, err := b.Challenge(d.ID); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("challenge for a revoked device: %v", err)
		}
	})
}

func TestOpenSessionRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		d, key := pair(t, a, auth.RoleApprove)
		other, otherKey := pair(t, a, auth.RoleApprove)
		challenge := func() string {
			nonce, _, err := a.Challenge(d.ID)
			if err != nil {
				t.Fatal(err)
			}
			return nonce
		}
		used := challenge()
		if _, _, err := a.OpenSession(d.ID, used, key.Sign(auth.ChallengeText(d.ID, used))); err != nil {
			t.Fatal(err)
		}
		late := challenge()
		time.Sleep(time.Minute)
		fresh := func() (string, string) { n := challenge(); return n, key.Sign(auth.ChallengeText(d.ID, n)) }

		tests := []struct {
			name  string
			try   func() error
			nonce bool // an error about the nonce, which a new one fixes
		}{
			{"used nonce", func() error {
				_, _, err := a.OpenSession(d.ID, used, key.Sign(auth.ChallengeText(d.ID, used)))
				return err
			}, true},
			{"old nonce", func() error {
				_, _, err := a.OpenSession(d.ID, late, key.Sign(auth.ChallengeText(d.ID, late)))
				return err
			}, true},
			{"another's nonce", func() error {
				n, _ := fresh()
				_, _, err := a.OpenSession(other.ID, n, otherKey.Sign(auth.ChallengeText(other.ID, n)))
				return err
			}, true},
			{"another's key", func() error {
				n, _ := fresh()
				_, _, err := a.OpenSession(d.ID, n, otherKey.Sign(auth.ChallengeText(d.ID, n)))
				return err
			}, false},
			{"signature without the domain", func() error {
				n, _ := fresh()
				_, _, err := a.OpenSession(d.ID, n, key.Sign([]byte(n)))
				return err
			}, false},
			{"truncated signature", func() error {
				n, s := fresh()
				_, _, err := a.OpenSession(d.ID, n, s[:len(s)-2])
				return err
			}, false},
			{"zero signature", func() error {
				n, _ := fresh()
				_, _, err := a.OpenSession(d.ID, n, strings.Repeat("A", 86))
				return err
			}, false},
			{"padded signature", func() error {
				n, s := fresh()
				_, _, err := a.OpenSession(d.ID, n, s+"==")
				return err
			}, false},
			{"no such device", func() error {
				n, s := fresh()
				_, _, err := a.OpenSession("nobody", n, s)
				return err
			}, false},
		}
		for _, tt := range tests {
			err := tt.try()
			var input *hook.FieldError
			if got := errors.As(err, &input); err == nil || got != tt.nonce || !got && !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	})
}

func TestPairingCode(t *testing.T) {
	ctx := context.Background()
	key := authtest.NewKey().JWK()
	invite := func(t *testing.T, a *auth.Auth) auth.Pairing {
		p, err := a.NewPairing(context.Background(), auth.RoleView, "", "http://x")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	refused := func(t *testing.T, a *auth.Auth, code string) {
		t.Helper()
		if _, err := a.Redeem(ctx, code, key, "x", ""); !errors.Is(err, auth.ErrPairing) {
			t.Errorf("Redeem(%q) = %v, want ErrPairing", code, err)
		}
	}
	bubble := func(name string, f func(t *testing.T, kv *kvtest.KV, a *auth.Auth)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := kvtest.New()
				f(t, kv, open(t, kv))
			})
		})
	}
	bubble("once", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		p := invite(t, a)
		if _, err := a.Redeem(ctx, p.Code, key, "x", ""); err != nil {
			t.Fatal(err)
		}
		refused(t, a, p.Code)
	})
	bubble("says why it is over, to who has the whole code", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		tells := func(code string, want error) {
			t.Helper()
			if _, err := a.Redeem(ctx, code, key, "x", ""); err != want {
				t.Errorf("Redeem(%q) = %v, want %v", code, err, want)
			}
		}
		used, late, machine := invite(t, a), invite(t, a), invite(t, a)
		if _, err := a.Redeem(ctx, used.Code, key, "x", ""); err != nil {
			t.Fatal(err)
		}
		tells(used.Code, auth.ErrPairingUsed)
		tells(late.Code[:len(late.Code)-1]+"!", auth.ErrPairing)
		time.Sleep(5 * time.Minute)
		tells(used.Code, auth.ErrPairingUsed)
		tells(late.Code, auth.ErrPairingExpired)
		tells(late.Code, auth.ErrPairingExpired)
		tells(late.Code[:len(late.Code)-1]+"!", auth.ErrPairing)
		if _, _, err := a.Join(ctx, machine.Code); err != auth.ErrPairing {
			t.Errorf("a machine was told of a device's link: %v", err)
		}
		for range 40 { // they do not grow without end, and take no place of those that are open
			if _, err := a.Redeem(ctx, invite(t, a).Code, key, "x", ""); err != nil {
				t.Fatal(err)
			}
		}
		tells(late.Code, auth.ErrPairing)
		kept, again := invite(t, a), invite(t, a)
		if _, err := a.Redeem(ctx, kept.Code, key, "x", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		tells(kept.Code, auth.ErrPairing)
		tells(again.Code, auth.ErrPairing)
	})
	bubble("five minutes", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		p := invite(t, a)
		time.Sleep(5 * time.Minute)
		refused(t, a, p.Code)
	})
	bubble("few tries, for that code only", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		p, other := invite(t, a), invite(t, a)
		id, _, _ := strings.Cut(p.Code, ".")
		for range 5 {
			refused(t, a, id+".wrong")
		}
		refused(t, a, p.Code)
		for range 100 { // a stranger without the id
			refused(t, a, "wrong.wrong")
		}
		if _, err := a.Redeem(ctx, other.Code, key, "x", ""); err != nil {
			t.Errorf("another code: %v", err)
		}
	})
	bubble("a slip leaves it valid", func(t *testing.T, kv *kvtest.KV, a *auth.Auth) {
		p := invite(t, a)
		var input *hook.FieldError
		if _, err := a.Redeem(ctx, p.Code, hook.JWK{}, "x", ""); !errors.As(err, &input) {
			t.Fatal(err)
		}
		kv.SetDown(errors.New("gone"))
		if _, err := a.Redeem(ctx, p.Code, key, "x", ""); !errors.Is(err, auth.ErrUnavailable) {
			t.Fatal(err)
		}
		kv.SetDown(nil)
		if _, err := a.Redeem(ctx, p.Code, key, "x", ""); err != nil {
			t.Error(err)
		}
	})
	bubble("bounded", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		first := invite(t, a)
		for range 32 {
			time.Sleep(time.Millisecond)
			invite(t, a)
		}
		refused(t, a, first.Code)
	})
}

func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		secret, token := create(t, a, auth.RoleView, "x", 0)
		p, err := a.Authenticate(secret)
		if err != nil {
			t.Fatal(err)
		}
		ticket := func() string {
			t.Helper()
			x, _ := a.NewTicket(p)
			return x
		}
		// Each by itself, while the credential is good: none must be refused for another reason.
		no := func(name, ticket string) {
			t.Helper()
			if _, err := a.RedeemTicket(ticket); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("%s: %v", name, err)
			}
		}
		yes := func(name, ticket string) {
			t.Helper()
			if got, err := a.RedeemTicket(ticket); err != nil || got.Approver != p.Approver {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		no("none", "")
		once := ticket()
		yes("new", once)
		no("used", once)
		late, almost := ticket(), ticket()
		time.Sleep(30*time.Second - 1)
		yes("almost late", almost)
		time.Sleep(time.Nanosecond)
		no("late", late)
		pushed := ticket()
		for range 1024 {
			time.Sleep(time.Microsecond)
			ticket()
		}
		no("pushed out", pushed)
		revoked := ticket()
		if err := a.RevokeToken(context.Background(), token.ID); err != nil {
			t.Fatal(err)
		}
		no("revoked", revoked)
	})
}

// TestJoin: an invitation of a machine makes one token that may only submit, once, and pairs no device.
func TestJoin(t *testing.T) {
	ctx := context.Background()
	a := open(t, kvtest.New())
	p, err := a.NewPairing(context.Background(), auth.RoleSubmit, "laptop", "https://box.example.net")
	if err != nil || !strings.HasPrefix(p.URL, "https://box.example.net/#join=") {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := a.Redeem(ctx, p.Code, authtest.NewKey().JWK(), "x", ""); !errors.Is(err, auth.ErrPairing) {
		t.Errorf("a device used a machine's invitation: %v", err)
	}
	id, _, _ := strings.Cut(p.Code, ".")
	for _, code := range []string{"", id, id + ".x", "x." + p.Code} {
		if _, _, err := a.Join(ctx, code); !errors.Is(err, auth.ErrPairing) {
			t.Errorf("Join(%q) = %v", code, err)
		}
	}
	secret, token, err := a.Join(ctx, p.Code)
	if err != nil || token.Name != "laptop" || token.Role != auth.RoleSubmit {
		t.Fatalf("%+v, %v", token, err)
	}
	if who, err := a.Authenticate(secret); err != nil || who.Role != auth.RoleSubmit {
		t.Errorf("%+v, %v", who, err)
	}
	if _, _, err := a.Join(ctx, p.Code); !errors.Is(err, auth.ErrPairing) {
		t.Errorf("the code was good twice: %v", err)
	}
	device, err := a.NewPairing(context.Background(), auth.RoleApprove, "phone", "https://x")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Join(ctx, device.Code); !errors.Is(err, auth.ErrPairing) {
		t.Errorf("a machine used a device's invitation: %v", err)
	}
	guessed, _ := a.NewPairing(context.Background(), auth.RoleSubmit, "laptop", "https://x")
	id, _, _ = strings.Cut(guessed.Code, ".")
	for range 5 {
		_, _, _ = a.Join(ctx, id+".guess")
	}
	if _, _, err := a.Join(ctx, guessed.Code); !errors.Is(err, auth.ErrPairing) {
		t.Errorf("after five guesses the code was good: %v", err)
	}
}
