package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// What a token that is bound to a key decides, saves, hands back and stops has to be signed with that key.
func TestBoundToken(t *testing.T) {
	ctx := context.Background()
	kv := kvtest.New()
	a := open(t, kv)
	key, other := authtest.NewKey(), authtest.NewKey()
	secret, token, err := a.CreateBoundToken(ctx, auth.RoleApprove, "bot", 0, key.JWK())
	if err != nil || token.Role != auth.RoleApprove || token.Thumbprint != auth.Thumbprint(key.JWK()) {
		t.Fatalf("%+v, %v", token, err)
	}
	if list := a.Tokens(); len(list) != 1 || list[0] != token {
		t.Errorf("listed as %+v", list)
	}
	p, err := a.Authenticate(secret)
	if err != nil || p.Role != auth.RoleApprove || p.Approver.Kind != hook.KindToken {
		t.Fatalf("%+v, %v", p, err)
	}
	const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: "ab"}
	saved := hook.Saved{RequestID: id, InputSHA256: "ab", Digest: "cd", Kind: hook.SavedGrant, Count: 1}
	halt := hook.HaltAct{Act: hook.HaltStop, Basis: 3}
	back := hook.HandBack{InputSHA256: "ab"}
	for name, by := range map[string]*authtest.Key{"nobody": nil, "another key": other, "its key": key} {
		d.Signature, back.Signature, saved.Signature, halt.Signature = "", "", "", ""
		if by != nil {
			d.Signature, back.Signature = by.Sign(auth.DecisionText(id, d)), by.Sign(auth.HandBackText(id, "ab"))
			saved.Signature = by.Sign(auth.AlwaysText(id, "ab", "cd", hook.SavedGrant, "", 1))
			halt.Signature = by.Sign(auth.HaltText(hook.HaltStop, 3, 0))
		}
		got, err1 := p.Vouch(id, d)
		_, err2 := p.VouchAlways(saved)
		_, err3 := p.VouchHalt(halt)
		_, err4 := p.VouchHandBack(id, back)
		for i, err := range []error{err1, err2, err3, err4} {
			if by == key && err != nil || by != key && !errors.Is(err, auth.ErrTokenSignature) {
				t.Errorf("signed by %s, %d: %v", name, i, err)
			}
		}
		if by == key && (got.PublicKey == nil || *got.PublicKey != key.JWK() || !auth.VerifyDecision(id, got)) {
			t.Errorf("vouched: %+v", got)
		}
	}
	// It is no device: it has nobody to verify, and is told of nothing.
	if err := p.VouchPush(nil, nil, key.Sign(auth.PushText(token.ID, nil, nil))); !errors.Is(err, auth.ErrSignature) {
		t.Errorf("push: %v", err)
	}
	if _, err := a.Verify(ctx, p, func(string) []string { return nil }, nil, hook.Verification{}, false); !errors.Is(err, auth.ErrNoVerification) {
		t.Errorf("verification: %v", err)
	}

	// Only what is signed can be bound, and only to a key.
	for _, role := range []auth.Role{auth.RoleSubmit, auth.RoleHost, auth.RoleView, auth.RoleOperate, auth.RoleAdmin} {
		if _, _, err := a.CreateBoundToken(ctx, role, "x", 0, key.JWK()); err == nil {
			t.Errorf("a token of role %s is bound", role)
		}
	}
	off := key.JWK()
	off.X = off.Y
	if _, _, err := a.CreateBoundToken(ctx, auth.RoleApprove, "x", 0, off); err == nil {
		t.Error("bound to a point beside the curve")
	}
}

// Who writes to the store, or a broker that does not know of keys and loses one, makes no token that decides by itself.
func TestBoundTokenStaysBound(t *testing.T) {
	ctx := context.Background()
	key := authtest.NewKey()
	for name, change := range map[string]func(string) string{
		"the key is lost":    func(v string) string { return v[:strings.Index(v, `,"publicKey"`)] + "}" },
		"the role is a role": func(v string) string { return strings.Replace(v, "approve with key", "approve", 1) },
		"both": func(v string) string {
			return strings.Replace(v[:strings.Index(v, `,"publicKey"`)]+"}", "approve with key", "approve", 1)
		},
		"another key": func(v string) string {
			return strings.Replace(v, key.JWK().X, authtest.NewKey().JWK().X, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			kv := kvtest.New()
			a := open(t, kv)
			secret, _, err := a.CreateBoundToken(ctx, auth.RoleApprove, "bot", 0, key.JWK())
			if err != nil {
				t.Fatal(err)
			}
			var at, was string
			for k, v := range kv.Values() {
				if strings.Contains(v, `"publicKey"`) { // the owner's stands there, too
					at, was = k, v
				}
			}
			_, rev, err := kv.Get(ctx, at)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kv.Update(ctx, at, []byte(change(was)), rev); err != nil {
				t.Fatal(err)
			}
			decides := func(a *auth.Auth) bool {
				p, err := a.Authenticate(secret)
				if err != nil || !p.Role.Includes(auth.RoleApprove) {
					return false
				}
				_, err = p.Vouch("id", hook.Decision{Behavior: hook.BehaviorAllow})
				return err == nil
			}
			if decides(a) {
				t.Error("the broker that runs lets it decide unsigned")
			}
			if name != "both" && decides(open(t, kv)) { // who writes to the store can make tokens anyway
				t.Error("after a start it decides unsigned")
			}
		})
	}
}
