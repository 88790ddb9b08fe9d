package auth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
)

// open returns an Auth on kv, closed at the end of the test, without an owner's token.
func open(t *testing.T, kv kvmirror.KV) *auth.Auth {
	t.Helper()
	a, err := auth.Open(context.Background(), auth.Config{KV: kv, NoOwnerToken: true, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func create(t *testing.T, a *auth.Auth, role auth.Role, name string, ttl time.Duration) (string, auth.Token) {
	t.Helper()
	secret, token, err := a.CreateToken(context.Background(), role, name, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return secret, token
}

func TestRoles(t *testing.T) {
	roles := []auth.Role{"", auth.RoleSubmit, auth.RoleView, auth.RoleApprove, auth.RoleOperate, auth.RoleAdmin}
	want := map[auth.Role]string{ // held → needed roles that it includes
		"": "", auth.RoleSubmit: "submit", auth.RoleView: "view",
		auth.RoleApprove: "view approve", auth.RoleOperate: "view approve operate", auth.RoleAdmin: "view approve operate admin",
	}
	for _, held := range roles {
		var got []string
		for _, need := range roles {
			if held.Includes(need) {
				got = append(got, string(need))
			}
		}
		if s := strings.Join(got, " "); s != want[held] {
			t.Errorf("%q includes %q, want %q", held, s, want[held])
		}
	}
}

func TestTokenLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		secret, token := create(t, a, auth.RoleApprove, "dashboard", time.Hour)
		if !regexp.MustCompile(`^assent_approve_[A-Za-z0-9_-]{43}$`).MatchString(secret) {
			t.Errorf("secret %q has not the documented form", secret)
		}
		for key, value := range kv.Values() {
			if strings.Contains(key+value, secret) || strings.Contains(key+value, secret[len("assent_approve_"):]) {
				t.Errorf("the store holds the secret: %s %s", key, value)
			}
		}
		p, err := a.Authenticate(secret)
		if err != nil {
			t.Fatal(err)
		}
		if want := (hook.Approver{Kind: "token", ID: token.ID, Name: "dashboard"}); p.Role != auth.RoleApprove || p.Approver != want {
			t.Errorf("principal %+v", p)
		}
		for _, wrong := range []string{"", secret + "x", secret[:len(secret)-1], "assent_admin_" + secret[len("assent_approve_"):]} {
			if _, err := a.Authenticate(wrong); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("Authenticate(%q) = %v", wrong, err)
			}
		}
		// A restart knows it still, and an hour is an hour.
		b := open(t, kv)
		if _, err := b.Authenticate(secret); err != nil {
			t.Errorf("after a restart: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := b.Authenticate(secret); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("after its time: %v", err)
		}
	})
}

func TestLastUsedIsWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		secret, _ := create(t, a, auth.RoleView, "x", 0)
		before := kv.Writes()
		for range 120 { // two minutes
			if _, err := a.Authenticate(secret); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := kv.Writes() - before; n != 2 {
			t.Errorf("%d writes in two minutes of use, want 2", n)
		}
		if got := a.Tokens()[0].LastUsed; time.Since(got) > 61*time.Second {
			t.Errorf("lastUsed %v ago", time.Since(got))
		}
	})
}

func TestRevokeReachesHoldersOnEveryReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a, b := open(t, kv), open(t, kv)
		secret, token := create(t, a, auth.RoleView, "x", 0)
		synctest.Wait()
		told := map[string]bool{}
		ch := make(chan string, 2)
		for name, each := range map[string]*auth.Auth{"a": a, "b": b} {
			p, err := each.Authenticate(secret)
			if err != nil {
				t.Fatal(name, err)
			}
			p.OnRevoke(func() { ch <- name })
		}
		other, _ := create(t, a, auth.RoleView, "other", 0)
		synctest.Wait() // the writes of lastUsed are on their way to both, before the revocation
		if err := a.RevokeToken(context.Background(), token.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Authenticate(secret); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("right after the revocation: %v", err)
		}
		told[<-ch], told[<-ch] = true, true
		if !told["a"] || !told["b"] {
			t.Errorf("told: %v", told)
		}
		synctest.Wait()
		for _, each := range []*auth.Auth{a, b, open(t, kv)} {
			if _, err := each.Authenticate(secret); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("after the revocation: %v", err)
			}
			if _, err := each.Authenticate(other); err != nil {
				t.Errorf("another token went with it: %v", err)
			}
		}
		if err := a.RevokeToken(context.Background(), token.ID); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("again: %v", err)
		}
	})
}

// News from the watch that is older than our own revocation brings nothing back.
func TestLateNewsDoesNotRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		kv.Delay(100)
		secret, token := create(t, a, auth.RoleView, "x", 0)
		if _, err := a.Authenticate(secret); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // lastUsed is written
		if err := a.RevokeToken(context.Background(), token.ID); err != nil {
			t.Fatal(err)
		}
		for late := 2; late >= 0; late-- {
			kv.Delay(late)
			synctest.Wait()
			if _, err := a.Authenticate(secret); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("with all but the last %d changes told: %v", late, err)
			}
		}
	})
}

func TestRevokeFailsLoudlyWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		secret, token := create(t, a, auth.RoleView, "x", 0)
		kv.SetDown(errors.New("gone"))
		if err := a.RevokeToken(context.Background(), token.ID); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("revoke: %v", err)
		}
		if _, _, err := a.CreateToken(context.Background(), auth.RoleView, "y", 0); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("create: %v", err)
		}
		if _, err := a.Authenticate(secret); err != nil {
			t.Errorf("what is known stays: %v", err)
		}
		if n := len(a.Tokens()); n != 1 {
			t.Errorf("%d tokens, want 1", n)
		}
	})
}

func TestOwnerToken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "owner.token")
	kv := kvtest.New()
	var before string
	for range 2 {
		a, err := auth.Open(context.Background(), auth.Config{KV: kv, StateDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(path); info.Mode() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		token := strings.TrimSpace(string(text))
		p, err := a.Authenticate(token)
		if err != nil || p.Role != auth.RoleAdmin || p.Approver.Kind != "owner-cli" {
			t.Errorf("principal %+v, %v", p, err)
		}
		if _, err := a.Authenticate(before); err == nil {
			t.Error("an earlier start's token works")
		}
		before = token
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after Close: %v", err)
		}
	}
	// Another broker's token is not ours to remove.
	a, err := auth.Open(context.Background(), auth.Config{KV: kv, StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("another's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("another's token: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	a := open(t, kvtest.New())
	ctx := context.Background()
	key := authtest.NewKey().JWK()
	redeem := func(k hook.JWK, name string) error {
		p, err := a.NewPairing(context.Background(), auth.RoleView, "", "http://x")
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Redeem(ctx, p.Code, k, name, "")
		return err
	}
	off := key
	off.Y = off.X // not on the curve
	zero := hook.JWK{Kty: "EC", Crv: "P-256", X: base64.RawURLEncoding.EncodeToString(make([]byte, 32)), Y: base64.RawURLEncoding.EncodeToString(make([]byte, 32))}
	tests := []struct {
		name, field string
		err         func() error
	}{
		{"role", "role", func() error { _, _, err := a.CreateToken(ctx, "root", "x", 0); return err }},
		{"no role", "role", func() error { _, _, err := a.CreateToken(ctx, "", "x", 0); return err }},
		{"no name", "name", func() error { _, _, err := a.CreateToken(ctx, auth.RoleView, "", 0); return err }},
		{"long name", "name", func() error {
			_, _, err := a.CreateToken(ctx, auth.RoleView, strings.Repeat("x", 101), 0)
			return err
		}},
		{"escape in name", "name", func() error { _, _, err := a.CreateToken(ctx, auth.RoleView, "\x1b[2J", 0); return err }},
		{"negative ttl", "ttl", func() error { _, _, err := a.CreateToken(ctx, auth.RoleView, "x", -1); return err }},
		{"pairing to submit without a name", "name", func() error {
			_, err := a.NewPairing(context.Background(), auth.RoleSubmit, "", "http://x")
			return err
		}},
		{"key off the curve", "publicKey", func() error { return redeem(off, "x") }},
		{"zero point", "publicKey", func() error { return redeem(zero, "x") }},
		{"no key", "publicKey", func() error { return redeem(hook.JWK{}, "x") }},
		{"other curve", "publicKey", func() error { k := key; k.Crv = "P-384"; return redeem(k, "x") }},
		{"device name", "name", func() error { return redeem(key, "a\nb") }},
	}
	for _, tt := range tests {
		var input *hook.FieldError
		if err := tt.err(); !errors.As(err, &input) || input.Field != tt.field {
			t.Errorf("%s: %v, want a FieldError about %s", tt.name, err, tt.field)
		}
	}
	if n := len(a.Tokens()) + len(a.Devices()); n != 0 {
		t.Errorf("%d credentials were made", n)
	}
}
