package signed_test

import (
	"testing"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// What is verified is what was signed: a change of any part of it, or another key, does not fit.
func TestVerify(t *testing.T) {
	key, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: "ab", UpdatedInput: hook.JSON(`{ "a": 1 }`), UpdatedPermissions: hook.JSON(`[]`), Shown: "{}", SignedAt: "2026-11-28T06:00:00Z"}
	d.Signature, err = key.Sign(signed.DecisionText("id", d))
	if err != nil {
		t.Fatal(err)
	}
	pub, err := signed.Key(key.JWK())
	if err != nil {
		t.Fatal(err)
	}
	if !signed.Verify(pub, signed.DecisionText("id", d), d.Signature) {
		t.Error("what was signed does not fit")
	}
	for name, change := range map[string]func(*hook.Decision){
		"behavior":    func(d *hook.Decision) { d.Behavior = hook.BehaviorDeny },
		"digest":      func(d *hook.Decision) { d.InputSHA256 = "ac" },
		"message":     func(d *hook.Decision) { d.Message = "x" },
		"interrupt":   func(d *hook.Decision) { d.Interrupt = true },
		"input":       func(d *hook.Decision) { d.UpdatedInput = hook.JSON(`{"a":1}`) },
		"permissions": func(d *hook.Decision) { d.UpdatedPermissions = nil },
		"shown":       func(d *hook.Decision) { d.Shown = "" },
		"time":        func(d *hook.Decision) { d.SignedAt = "2026-11-28T06:00:01Z" },
		"signature":   func(d *hook.Decision) { d.Signature = d.Signature[:85] + "!" },
	} {
		other := d
		change(&other)
		if signed.Verify(pub, signed.DecisionText("id", other), other.Signature) {
			t.Errorf("another %s fits", name)
		}
	}
	if signed.Verify(pub, signed.DecisionText("other", d), d.Signature) {
		t.Error("it fits another request")
	}
	other, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	if pub, err = signed.Key(other.JWK()); err != nil || signed.Verify(pub, signed.DecisionText("id", d), d.Signature) {
		t.Errorf("it fits another key (%v)", err)
	}
	off := key.JWK()
	off.X = off.Y
	if _, err := signed.Key(off); err == nil {
		t.Error("a point beside the curve is a key")
	}
}
