package signed_test

import (
	"encoding/json"
	"testing"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

func signRules(t testing.TB, k *devicekey.Key, text, at, until string) hook.RulesSignature {
	t.Helper()
	s := hook.RulesSignature{SHA256: signed.Digest([]byte(text)), SignedAt: at, Until: until, PublicKey: k.JWK()}
	var err error
	if s.Signature, err = k.Sign(signed.RulesText(&s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// What fits is the text that was signed; a change of any part, or another key, does not fit.
func TestRulesFit(t *testing.T) {
	k, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	other, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	const text, at, until = "version: 1\n", "2026-11-28T06:00:00Z", "2027-02-26T06:00:00Z"
	good := signRules(t, k, text, at, until)
	if err := signed.RulesFit(text, &good); err != nil {
		t.Error(err)
	}
	if forever := signRules(t, k, text, at, ""); signed.RulesFit(text, &forever) != nil {
		t.Error("without an end it does not fit")
	}
	for i := range len(text) {
		changed := []byte(text)
		changed[i] ^= 1
		if signed.RulesFit(string(changed), &good) == nil {
			t.Errorf("it fits %q", changed)
		}
	}
	for name, change := range map[string]func(*hook.RulesSignature){
		"key":       func(s *hook.RulesSignature) { s.PublicKey = other.JWK() },
		"time":      func(s *hook.RulesSignature) { s.SignedAt = "2026-11-28T06:00:01Z" },
		"end":       func(s *hook.RulesSignature) { s.Until = "2028-02-26T06:00:00Z" },
		"no end":    func(s *hook.RulesSignature) { s.Until = "" },
		"digest":    func(s *hook.RulesSignature) { s.SHA256 = signed.Digest([]byte("version: 2\n")) },
		"signature": func(s *hook.RulesSignature) { s.Signature = signRules(t, k, "x", at, until).Signature },
		"of a decision": func(s *hook.RulesSignature) {
			s.Signature = must(k.Sign(signed.DecisionText(s.SHA256, hook.Decision{})))
		},
		"never":       func(s *hook.RulesSignature) { *s = signRules(t, k, text, "today", until) },
		"ends before": func(s *hook.RulesSignature) { *s = signRules(t, k, text, at, at) },
	} {
		s := good
		if change(&s); signed.RulesFit(text, &s) == nil {
			t.Errorf("with another %s it fits", name)
		}
	}
	if err := signed.RulesFit("", &hook.RulesSignature{}); err == nil {
		t.Error("nothing fits nothing")
	}
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// FuzzRulesFit: whatever comes as a signature, only what the key signed fits.
func FuzzRulesFit(f *testing.F) {
	k, err := devicekey.New()
	if err != nil {
		f.Fatal(err)
	}
	good := signRules(f, k, "version: 1\n", "2026-11-28T06:00:00Z", "")
	b, err := json.Marshal(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("version: 1\n", b)
	f.Add("version: 2\n", b)
	f.Fuzz(func(t *testing.T, text string, signature []byte) {
		var s hook.RulesSignature
		if json.Unmarshal(signature, &s) != nil || signed.RulesFit(text, &s) != nil || s.PublicKey != k.JWK() {
			return
		}
		if text != "version: 1\n" || s.SHA256 != good.SHA256 || s.SignedAt != good.SignedAt || s.Until != "" {
			t.Errorf("%q fits %+v", text, s)
		}
	})
}
