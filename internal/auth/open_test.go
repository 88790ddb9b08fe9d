package auth_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/store/kvmirror/kvtest"
)

// two runs f in a bubble with two brokers on one store.
func two(t *testing.T, name string, f func(t *testing.T, kv *kvtest.KV, a, b *auth.Auth)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			kv := kvtest.New()
			f(t, kv, open(t, kv), open(t, kv))
		})
	})
}

// TestPairingOnAnyBroker: what was begun at one broker is ended at another, once, and under the same bounds.
func TestPairingOnAnyBroker(t *testing.T) {
	ctx := context.Background()
	link := func(t *testing.T, a *auth.Auth, role auth.Role) auth.Pairing {
		t.Helper()
		p, err := a.NewPairing(ctx, role, "x", "https://box.example")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	two(t, "a link", func(t *testing.T, kv *kvtest.KV, a, b *auth.Auth) {
		p := link(t, a, auth.RoleApprove)
		for key, value := range kv.Values() {
			if _, secret, _ := strings.Cut(p.Code, "."); strings.Contains(value, secret) {
				t.Errorf("%s holds the secret", key)
			}
		}
		kv.Delay(kv.Writes()) // no watch is as quick as the person with the link
		d, err := b.Redeem(ctx, p.Code, authtest.NewKey().JWK(), "", "")
		if err != nil || d.Name != "x" {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, again := range []*auth.Auth{a, b} {
			if _, err := again.Redeem(ctx, p.Code, authtest.NewKey().JWK(), "", ""); !errors.Is(err, auth.ErrPairing) {
				t.Errorf("again: %v", err)
			}
		}
	})
	two(t, "a link, by many at once", func(t *testing.T, _ *kvtest.KV, a, b *auth.Auth) {
		p := link(t, a, auth.RoleApprove)
		var paired atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := []*auth.Auth{a, b}[i%2].Redeem(ctx, p.Code, authtest.NewKey().JWK(), "", ""); err == nil {
					paired.Add(1)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if n := len(a.Devices()); n != 1 || paired.Load() != 1 {
			t.Errorf("%d devices, %d were told so", n, paired.Load())
		}
	})
	two(t, "tries count together", func(t *testing.T, _ *kvtest.KV, a, b *auth.Auth) {
		p := link(t, a, auth.RoleApprove)
		id, _, _ := strings.Cut(p.Code, ".")
		for i := range 5 {
			if _, err := []*auth.Auth{a, b}[i%2].Redeem(ctx, id+".guess", authtest.NewKey().JWK(), "", ""); !errors.Is(err, auth.ErrPairing) {
				t.Error(err)
			}
		}
		if _, err := b.Redeem(ctx, p.Code, authtest.NewKey().JWK(), "", ""); !errors.Is(err, auth.ErrPairing) {
			t.Errorf("after five guesses: %v", err)
		}
	})
	two(t, "a machine", func(t *testing.T, _ *kvtest.KV, a, b *auth.Auth) {
		p := link(t, a, auth.RoleSubmit)
		secret, _, err := b.Join(ctx, p.Code)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if who, err := a.Authenticate(secret); err != nil || who.Role != auth.RoleSubmit {
			t.Errorf("%+v, %v", who, err)
		}
		if _, _, err := a.Join(ctx, p.Code); !errors.Is(err, auth.ErrPairing) {
			t.Errorf("again: %v", err)
		}
	})
	two(t, "a code", func(t *testing.T, kv *kvtest.KV, a, b *auth.Auth) {
		s := start(t, a)
		kv.Delay(kv.Writes())
		if w, err := b.WaitingDevice(ctx, s.Code); err != nil || w.From != "192.0.2.1" {
			t.Errorf("%+v, %v", w, err)
		}
		if d, _, err := b.PollPairing(ctx, s.Secret); err != nil || d.ID != "" {
			t.Errorf("%+v, %v", d, err)
		}
		kv.Delay(0)
		d, err := confirm(b, s.Code)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := confirm(a, s.Code); !errors.Is(err, auth.ErrNoStart) {
			t.Errorf("again: %v", err)
		}
		synctest.Wait()
		if got, _, err := a.PollPairing(ctx, s.Secret); err != nil || got.ID != d.ID {
			t.Errorf("%+v, %v", got, err)
		}
	})
	two(t, "a code, when the other broker has not heard of the device yet", func(t *testing.T, kv *kvtest.KV, a, b *auth.Auth) {
		s := start(t, a)
		synctest.Wait()
		before := kv.Writes()
		if _, err := confirm(b, s.Code); err != nil {
			t.Fatal(err)
		}
		kv.Delay(kv.Writes() - before)
		if _, _, err := a.PollPairing(ctx, s.Secret); err != nil {
			t.Errorf("it was sent away: %v", err)
		}
	})
	two(t, "bounds", func(t *testing.T, _ *kvtest.KV, a, b *auth.Auth) {
		for i := range 6 {
			_, err := []*auth.Auth{a, b}[i%2].StartPairing(ctx, authtest.NewKey().JWK(), "", auth.Caller{Addr: here})
			if full := errors.Is(err, auth.ErrPairingFull); full != (i >= 4) {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
	two(t, "the device begins anew without end", func(t *testing.T, kv *kvtest.KV, a, b *auth.Auth) {
		key, before := authtest.NewKey().JWK(), kv.Writes()
		for i := range 200 {
			_, _ = []*auth.Auth{a, b}[i%2].StartPairing(ctx, key, "", auth.Caller{Addr: here})
		}
		if n := kv.Writes() - before; n > 70 {
			t.Errorf("%d writes by somebody whom nobody knows", n)
		}
		time.Sleep(5 * time.Minute)
		if _, err := a.StartPairing(ctx, key, "", auth.Caller{Addr: here}); err != nil {
			t.Errorf("after five minutes: %v", err)
		}
	})
}

// A clock that is ten minutes wrong neither ends a link nor prolongs it: the record's time counts.
func TestPairingByTheTimeOfTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		skewed := func(by time.Duration) *auth.Auth {
			a, err := auth.Open(t.Context(), auth.Config{KV: kv, NoOwnerToken: true, Now: func() time.Time { return time.Now().Add(by) }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = a.Close() })
			return a
		}
		// Both see the same record, whose time is an hour from this machine's.
		a, b := skewed(time.Hour), skewed(time.Hour)
		p, err := a.NewPairing(t.Context(), auth.RoleApprove, "", "https://box.example")
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(p.ExpiresAt); left != 5*time.Minute {
			t.Errorf("it is said to be good for %v", left)
		}
		time.Sleep(4 * time.Minute)
		if _, err := b.Redeem(t.Context(), p.Code, authtest.NewKey().JWK(), "", ""); err != nil {
			t.Error(err)
		}
	})
}
