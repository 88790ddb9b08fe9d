// Package audit tells who allowed what, from the record, for people who have to account for it.
package audit

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// Signature is what became of verifying, again, what a step of a record says was signed.
type Signature string

// The values of a Signature.
const (
	Unsigned   Signature = ""           // nobody's key signs that: a rule that nobody signed, the owner, a token that is bound to none
	Rules      Signature = "rules"      // a rule decided, of rules whose signature fits the key beside it
	RulesOver  Signature = "rules over" // the same, and by then the signature counted no more
	NoKey      Signature = "no key"     // a device's, recorded without its key by an earlier version: not verified
	Good       Signature = "good"       // it fits the step and the key beside it
	Confirmed  Signature = "confirmed"  // good, and so is the proof that the device's owner was verified for it
	Bad        Signature = "BAD"        // it does not fit: the record was changed, or nobody signed this
	Unverified Signature = "UNVERIFIED" // it fits, but the proof that the device's owner was verified does not
)

// Fits is false where something that was signed does not fit what the record says.
func (s Signature) Fits() bool { return s != Bad && s != Unverified }

// Verify verifies the signature of one step with the key that the record holds.
func Verify(r *api.Record) Signature {
	if r.Message != nil && r.Message.Sent != nil {
		return verifySent(r.RequestID, r.By, r.Message.Sent)
	}
	d, back := r.Decision, r.HandBack
	if d != nil && d.Rules != nil {
		return rules(r, d.Rules)
	}
	if d == nil && back == nil || r.By == nil || r.By.Kind != hook.KindDevice && r.By.Kind != hook.KindToken {
		return Unsigned
	}
	if r.By.Kind == hook.KindToken && !carriesSignature(d, back) {
		return Unsigned
	}
	if back != nil {
		if auth.VerifyHandBack(r.RequestID, *back) {
			return Good
		}
		return Bad
	}
	if d.PublicKey == nil && r.By.Kind == hook.KindDevice {
		return NoKey
	}
	var sent api.Signed
	if r.Signed != nil {
		sent = *r.Signed
	}
	exact := *d
	exact.UpdatedInput, exact.UpdatedPermissions = hook.JSON(sent.UpdatedInput), hook.JSON(sent.UpdatedPermissions)
	switch {
	case !auth.VerifyDecision(r.RequestID, exact) || !sameJSON(exact.UpdatedInput, d.UpdatedInput) || !sameJSON(exact.UpdatedPermissions, d.UpdatedPermissions):
		return Bad
	case d.Verification == nil:
		return Good
	case !auth.VerifiedDecision(r.RequestID, exact):
		return Unverified
	}
	return Confirmed
}

// carriesSignature says whether something was signed, or is said to have been.
func carriesSignature(d *hook.Decision, back *hook.HandBack) bool {
	if back != nil {
		return back.Signature != "" || back.PublicKey != nil
	}
	return d.Signature != "" || d.PublicKey != nil || d.Verification != nil
}

// sameJSON compares two texts as they look inside of other JSON.
func sameJSON(x, y hook.JSON) bool {
	a, errA := json.Marshal(x)
	b, errB := json.Marshal(y)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// lastRules are the signed rules that were verified last: one file answers many requests.
var lastRules atomic.Pointer[hook.RulesSignature]

// rules verifies the signature of the rules that decided. Only a rule has some.
func rules(r *api.Record, s *hook.RulesSignature) Signature {
	if r.By == nil || r.By.Kind != hook.KindRule {
		return Bad
	}
	if last := lastRules.Load(); last == nil || *last != *s {
		if !signed.VerifyRules(s) {
			return Bad
		}
		good := *s
		lastRules.Store(&good)
	}
	if signed.RulesOver(s, r.Time) {
		return RulesOver
	}
	return Rules
}
