package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// starts runs f in a bubble with an Auth on a fresh store.
func starts(t *testing.T, name string, f func(t *testing.T, kv *kvtest.KV, a *auth.Auth)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			kv := kvtest.New()
			f(t, kv, open(t, kv))
		})
	})
}

var here = netip.MustParseAddr("192.0.2.1")

func start(t *testing.T, a *auth.Auth) auth.Start {
	t.Helper()
	s, err := a.StartPairing(context.Background(), authtest.NewKey().JWK(), "Safari on iPhone", auth.Caller{Addr: here})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func confirm(a *auth.Auth, code string) (auth.Device, error) {
	return a.ConfirmPairing(context.Background(), code, auth.RoleApprove, "", "", nil)
}

func gone(t *testing.T, a *auth.Auth, s auth.Start) {
	t.Helper()
	if _, _, err := a.PollPairing(context.Background(), s.Secret); !errors.Is(err, auth.ErrPairing) {
		t.Errorf("poll: %v, want ErrPairing", err)
	}
	if _, err := confirm(a, s.Code); !errors.Is(err, auth.ErrNoStart) {
		t.Errorf("confirm: %v, want ErrNoStart", err)
	}
	if err := a.RefusePairing(context.Background(), s.Code); !errors.Is(err, auth.ErrNoStart) {
		t.Errorf("refuse: %v, want ErrNoStart", err)
	}
}

func TestPairingFromTheDevice(t *testing.T) {
	ctx := context.Background()
	starts(t, "journey", func(t *testing.T, kv *kvtest.KV, a *auth.Auth) {
		key := authtest.NewKey()
		s, err := a.StartPairing(context.Background(), key.JWK(), "Safari on iPhone", auth.Caller{Addr: here})
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^[34679ACDEFGHJKMNPQRTVWXY]{4}-[34679ACDEFGHJKMNPQRTVWXY]{4}$`).MatchString(s.Code) || len(s.Secret) != 32 {
			t.Errorf("%+v", s)
		}
		w := a.WaitingDevices()
		want := auth.Waiting{Code: s.Code, PublicKey: key.JWK(), Name: "Safari on iPhone", From: "192.0.2.1", CodeOrigin: hook.CodeBroker, CreatedAt: s.ExpiresAt.Add(-5 * time.Minute), ExpiresAt: s.ExpiresAt}
		if len(w) != 1 || w[0] != want {
			t.Errorf("%+v", w)
		}
		if d, expires, err := a.PollPairing(context.Background(), s.Secret); d.ID != "" || !expires.Equal(s.ExpiresAt) || err != nil {
			t.Errorf("%+v %v %v", d, expires, err)
		}
		d, err := a.ConfirmPairing(ctx, strings.ToLower(strings.Replace(s.Code, "-", " ", 1)), auth.RoleView, "", "", nil)
		if err != nil || d.Name != "Safari on iPhone" || d.Role != auth.RoleView {
			t.Fatalf("%+v, %v", d, err)
		}
		for range 3 { // as often as it asks
			if got, _, err := a.PollPairing(context.Background(), s.Secret); err != nil || got != d {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if len(a.WaitingDevices()) != 0 {
			t.Error("it still waits")
		}
		if _, err := confirm(a, s.Code); !errors.Is(err, auth.ErrNoStart) {
			t.Errorf("again: %v", err)
		}
		if p, err := a.Authenticate(session(t, a, d, key)); err != nil || p.Role != auth.RoleView {
			t.Errorf("%+v, %v", p, err)
		}
		for k, v := range kv.Values() {
			if strings.Contains(k+v, s.Secret) {
				t.Errorf("the store holds the secret: %s %s", k, v)
			}
		}
		// What paired it is worth nothing once it is revoked.
		if err := a.RevokeDevice(ctx, d.ID, hook.Approver{}); err != nil {
			t.Fatal(err)
		}
		gone(t, a, s)
	})
	starts(t, "five minutes", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		s := start(t, a)
		time.Sleep(5*time.Minute - 1)
		if _, _, err := a.PollPairing(context.Background(), s.Secret); err != nil {
			t.Errorf("a moment before: %v", err)
		}
		time.Sleep(time.Nanosecond)
		gone(t, a, s)
		if len(a.WaitingDevices()) != 0 {
			t.Error("it is still listed")
		}
	})
	starts(t, "confirmed at the last moment", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		s := start(t, a)
		time.Sleep(5*time.Minute - 1)
		d, err := confirm(a, s.Code)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - 1)
		if got, _, err := a.PollPairing(context.Background(), s.Secret); err != nil || got.ID != d.ID {
			t.Errorf("%+v, %v", got, err)
		}
		time.Sleep(time.Nanosecond)
		gone(t, a, s)
	})
	starts(t, "refused", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		s, other := start(t, a), start(t, a)
		if err := a.RefusePairing(context.Background(), s.Code); err != nil {
			t.Fatal(err)
		}
		gone(t, a, s)
		if _, err := confirm(a, other.Code); err != nil {
			t.Errorf("the other one: %v", err)
		}
	})
	starts(t, "each its own", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		one, two := start(t, a), start(t, a)
		d, err := confirm(a, two.Code)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := a.PollPairing(context.Background(), one.Secret); err != nil || got.ID != "" {
			t.Errorf("the other one heard of %+v, %v", got, err)
		}
		if got, _, err := a.PollPairing(context.Background(), two.Secret); err != nil || got.ID != d.ID {
			t.Errorf("%+v, %v", got, err)
		}
	})
	starts(t, "guesses", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		s := start(t, a)
		for _, secret := range []string{"", s.Code, s.Secret[1:], s.Secret + "=", strings.ToLower(s.Secret) + "x"} {
			gone(t, a, auth.Start{Code: "", Secret: secret})
		}
		for _, code := range []string{"", "-", "    -    ", s.Code[:4], s.Code + "X", s.Secret, strings.Replace(s.Code, "-", "_", 1)} {
			if _, err := confirm(a, code); !errors.Is(err, auth.ErrNoStart) {
				t.Errorf("%q: %v", code, err)
			}
		}
	})
	starts(t, "one device, however many confirm", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		s := start(t, a)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _, _ = confirm(a, s.Code) }) // all but one are refused
		}
		wg.Wait()
		if n := len(a.Devices()); n != 1 {
			t.Errorf("%d devices", n)
		}
	})
	starts(t, "the store is away", func(t *testing.T, kv *kvtest.KV, a *auth.Auth) {
		s := start(t, a)
		kv.SetDown(errors.New("gone"))
		if _, err := confirm(a, s.Code); !errors.Is(err, auth.ErrUnavailable) {
			t.Fatal(err)
		}
		kv.SetDown(nil)
		if _, err := confirm(a, s.Code); err != nil {
			t.Errorf("it no longer waits: %v", err)
		}
	})
	starts(t, "a restart", func(t *testing.T, kv *kvtest.KV, a *auth.Auth) {
		s := start(t, a)
		b := open(t, kv)
		if _, expires, err := b.PollPairing(ctx, s.Secret); err != nil || !expires.Equal(s.ExpiresAt) {
			t.Errorf("%v, %v", expires, err)
		}
	})
	starts(t, "names", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		for _, bad := range []string{"a\nb", "\x1b[2J", "\u009b2J", "safe\u202etxt", "a\u200bb", "a\u3164", "\xff", strings.Repeat("x", 101)} {
			var input *hook.FieldError
			if _, err := a.StartPairing(context.Background(), authtest.NewKey().JWK(), bad, auth.Caller{Addr: here}); !errors.As(err, &input) || input.Field != "name" {
				t.Errorf("started as %q: %v", bad, err)
			}
			s := start(t, a)
			if _, err := a.ConfirmPairing(ctx, s.Code, auth.RoleView, bad, "", nil); !errors.As(err, &input) {
				t.Errorf("confirmed as %q: %v", bad, err)
			}
			if err := a.RefusePairing(context.Background(), s.Code); err != nil { // it waits still
				t.Error(err)
			}
		}
		for _, c := range []struct{ own, given, want string }{{"", "", "device"}, {"own", "", "own"}, {"own", "given", "given"}, {"Zoës 📱", "", "Zoës 📱"}} {
			s, err := a.StartPairing(context.Background(), authtest.NewKey().JWK(), c.own, auth.Caller{Addr: here})
			if err != nil {
				t.Fatal(err)
			}
			d, err := a.ConfirmPairing(ctx, s.Code, auth.RoleView, c.given, "", nil)
			if err != nil || d.Name != c.want {
				t.Errorf("%+v: %q, %v", c, d.Name, err)
			}
		}
	})
	starts(t, "bad keys and roles", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		var input *hook.FieldError
		if _, err := a.StartPairing(context.Background(), hook.JWK{Kty: "EC", Crv: "P-256", X: "AA", Y: "AA"}, "x", auth.Caller{Addr: here}); !errors.As(err, &input) || input.Field != "publicKey" {
			t.Errorf("%v", err)
		}
		s := start(t, a)
		for _, role := range []auth.Role{"", "root", auth.RoleSubmit} {
			if _, err := a.ConfirmPairing(ctx, s.Code, role, "", "", nil); !errors.As(err, &input) || input.Field != "role" {
				t.Errorf("role %q: %v", role, err)
			}
		}
		if len(a.Devices()) != 0 {
			t.Error("one of them was paired")
		}
	})
}

// A flood of starts fills what is set aside for it and pushes nobody out.
func TestStartsAreBounded(t *testing.T) {
	begin := func(a *auth.Auth, from string) (auth.Start, error) {
		addr, _ := netip.ParseAddr(from) // "" is the invalid one
		return a.StartPairing(context.Background(), authtest.NewKey().JWK(), "x", auth.Caller{Addr: addr})
	}
	starts(t, "by address", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		for _, same := range [][]string{
			{"192.0.2.1", "::ffff:192.0.2.1"}, // one address
			{"2001:db8::1", "2001:db8::ffff:1", "2001:db8::2"},
			{"fe80::1%eth0", "fe80::2%eth1"},
			{""},
		} {
			for i := range 4 {
				if _, err := begin(a, same[i%len(same)]); err != nil {
					t.Fatalf("%s: %v", same, err)
				}
			}
			for _, from := range same {
				if _, err := begin(a, from); !errors.Is(err, auth.ErrPairingFull) {
					t.Errorf("a fifth from %q: %v", from, err)
				}
			}
		}
		if _, err := begin(a, "2001:db8:0:1::1"); err != nil {
			t.Errorf("the next network: %v", err)
		}
		if _, err := begin(a, "192.0.2.2"); err != nil {
			t.Errorf("the next address: %v", err)
		}
	})
	starts(t, "through a relay", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		relayed := func(i int) error {
			from := auth.Caller{Addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), Relayed: true}
			_, err := a.StartPairing(context.Background(), authtest.NewKey().JWK(), "x", from)
			return err
		}
		for i := range 17 {
			if err := relayed(i); errors.Is(err, auth.ErrPairingFull) != (i == 16) {
				t.Fatalf("%d: %v", i, err)
			}
		}
		if _, err := begin(a, "192.0.2.1"); err != nil {
			t.Errorf("strangers at the relay keep a device out that needs none: %v", err)
		}
		for _, w := range a.WaitingDevices() {
			if claimed := strings.HasSuffix(w.From, " (by the relay's word)"); claimed != (w.From != "192.0.2.1") {
				t.Errorf("a device waits from %q", w.From)
			}
		}
	})
	starts(t, "claimed by a relay", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		mine := netip.MustParseAddr("192.0.2.1")
		for range 4 {
			if _, err := a.StartPairing(context.Background(), authtest.NewKey().JWK(), "x", auth.Caller{Addr: mine, Relayed: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := begin(a, "192.0.2.1"); err != nil {
			t.Errorf("what a relay claims counts against the address itself: %v", err)
		}
	})
	starts(t, "in all", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		first := start(t, a)
		for i := range 100 {
			_, err := begin(a, fmt.Sprintf("198.51.100.%d", i))
			if full := errors.Is(err, auth.ErrPairingFull); full != (i >= 31) {
				t.Fatalf("%d: %v", i, err)
			}
		}
		if _, err := confirm(a, first.Code); err != nil {
			t.Errorf("the first was pushed out: %v", err)
		}
		if _, err := begin(a, "203.0.113.1"); err != nil {
			t.Errorf("after one was confirmed: %v", err)
		}
		time.Sleep(5 * time.Minute)
		if _, err := begin(a, "203.0.113.2"); err != nil {
			t.Errorf("after five minutes: %v", err)
		}
		if n := len(a.WaitingDevices()); n != 1 {
			t.Errorf("%d wait", n)
		}
	})
	starts(t, "the same device again", func(t *testing.T, _ *kvtest.KV, a *auth.Auth) {
		key := authtest.NewKey().JWK()
		var last auth.Start
		for range 20 {
			s, err := a.StartPairing(context.Background(), key, "x", auth.Caller{Addr: here})
			if err != nil {
				t.Fatal(err)
			}
			if last.Code != "" {
				gone(t, a, last)
			}
			last = s
		}
		if _, err := confirm(a, last.Code); err != nil {
			t.Error(err)
		}
		// A confirmed one stays as it is.
		if _, err := a.StartPairing(context.Background(), key, "x", auth.Caller{Addr: here}); err != nil {
			t.Error(err)
		}
		if d, _, err := a.PollPairing(context.Background(), last.Secret); err != nil || d.ID == "" {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
