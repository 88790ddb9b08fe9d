package auth_test

import (
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
	"assent/schemas"
)

const requestID = "0b7bd5d4-5a3c-4a44-9f2e-3d0f4e1c9a11"

// full has every member, though no agent takes them together.
func full() hook.Decision {
	return hook.Decision{
		Behavior: hook.BehaviorAllow, InputSHA256: strings.Repeat("0f", 32), Message: "words", Interrupt: true,
		UpdatedInput: hook.JSON(`{"a": 1}`), UpdatedPermissions: hook.JSON(`[{"type":"x"}]`),
		Shown: `{"risk": "danger"}`, SignedAt: "2026-11-22T10:00:00Z",
	}
}

func device(t *testing.T) (auth.Principal, *authtest.Key) {
	t.Helper()
	a := open(t, kvtest.New())
	d, key := pair(t, a, auth.RoleApprove)
	p, err := a.Authenticate(session(t, a, d, key))
	if err != nil {
		t.Fatal(err)
	}
	return p, key
}

func TestSignedDecision(t *testing.T) {
	p, key := device(t)
	for name, d := range map[string]hook.Decision{
		"full": full(), "shown only": {Behavior: hook.BehaviorDeny, InputSHA256: strings.Repeat("0", 64), Shown: "{}"}, "least": {Behavior: hook.BehaviorDeny, InputSHA256: strings.Repeat("0", 64)}} {
		d.Signature = key.Sign(auth.DecisionText(requestID, d))
		vouched, err := p.Vouch(requestID, d)
		if err != nil || vouched.PublicKey == nil || *vouched.PublicKey != key.JWK() || vouched.Signature != d.Signature {
			t.Fatalf("%s: %+v, %v", name, vouched, err)
		}
		if !auth.VerifyDecision(requestID, vouched) {
			t.Errorf("%s: does not verify from the record", name)
		}
		if auth.VerifyDecision(requestID, d) {
			t.Errorf("%s: verifies without a key", name)
		}
	}
}

// Whatever is changed after the signature, the decision is refused, and a record of it does
// not verify.
func TestSignatureCoversEverything(t *testing.T) {
	p, key := device(t)
	_, otherKey := device(t)
	good := full()
	good.Signature = key.Sign(auth.DecisionText(requestID, good))
	raw, err := base64.RawURLEncoding.DecodeString(good.Signature)
	if err != nil {
		t.Fatal(err)
	}
	n := elliptic.P256().Params().N
	// with returns the signature with r and s as given.
	with := func(r, s *big.Int) string {
		b := make([]byte, 64)
		r.FillBytes(b[:32])
		s.FillBytes(b[32:])
		return base64.RawURLEncoding.EncodeToString(b)
	}
	r, s := new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])
	high := new(big.Int).Sub(n, s)

	// The other root is as valid a signature; it says nothing else.
	again := good
	again.Signature = with(r, high)
	if _, err := p.Vouch(requestID, again); err != nil {
		t.Errorf("the other s: %v", err)
	}

	changes := map[string]func(d *hook.Decision){
		"behavior":              func(d *hook.Decision) { d.Behavior = hook.BehaviorDeny },
		"digest":                func(d *hook.Decision) { d.InputSHA256 = strings.Repeat("1f", 32) },
		"message":               func(d *hook.Decision) { d.Message = "wordz" },
		"no message":            func(d *hook.Decision) { d.Message = "" },
		"no interrupt":          func(d *hook.Decision) { d.Interrupt = false },
		"input":                 func(d *hook.Decision) { d.UpdatedInput = hook.JSON(`{"a": 2}`) },
		"input, white space":    func(d *hook.Decision) { d.UpdatedInput = hook.JSON(`{"a":1}`) },
		"no input":              func(d *hook.Decision) { d.UpdatedInput = nil },
		"permissions":           func(d *hook.Decision) { d.UpdatedPermissions = hook.JSON(`[]`) },
		"what was shown":        func(d *hook.Decision) { d.Shown = `{"risk":"danger"}` },
		"nothing shown":         func(d *hook.Decision) { d.Shown = "" },
		"when":                  func(d *hook.Decision) { d.SignedAt = "2026-11-22T10:00:01Z" },
		"the first form":        func(d *hook.Decision) { d.Shown, d.SignedAt = "", "" },
		"no permissions":        func(d *hook.Decision) { d.UpdatedPermissions = nil },
		"input and permissions": func(d *hook.Decision) { d.UpdatedInput, d.UpdatedPermissions = d.UpdatedPermissions, d.UpdatedInput },
		"no signature":          func(d *hook.Decision) { d.Signature = "" },
		"another device's":      func(d *hook.Decision) { d.Signature = otherKey.Sign(auth.DecisionText(requestID, *d)) },
		"of a session":          func(d *hook.Decision) { d.Signature = key.Sign(auth.ChallengeText(requestID, "nonce")) },
		"padded":                func(d *hook.Decision) { d.Signature += "==" },
		"line break":            func(d *hook.Decision) { d.Signature = d.Signature[:40] + "\n" + d.Signature[40:] },
		"stray bits":            func(d *hook.Decision) { d.Signature = stray(d.Signature) },
		"plain base64":          func(d *hook.Decision) { d.Signature = base64.StdEncoding.EncodeToString(raw) },
		"short":                 func(d *hook.Decision) { d.Signature = base64.RawURLEncoding.EncodeToString(raw[:63]) },
		"long": func(d *hook.Decision) {
			d.Signature = base64.RawURLEncoding.EncodeToString(append(raw[:64:64], 0))
		},
		"all zero": func(d *hook.Decision) { d.Signature = with(new(big.Int), new(big.Int)) },
		"r zero":   func(d *hook.Decision) { d.Signature = with(new(big.Int), s) },
		"s zero":   func(d *hook.Decision) { d.Signature = with(r, new(big.Int)) },
		"r is n":   func(d *hook.Decision) { d.Signature = with(n, s) },
		"s is n":   func(d *hook.Decision) { d.Signature = with(r, n) },
		"r beyond": func(d *hook.Decision) {
			d.Signature = with(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)), s)
		},
		"r, s one": func(d *hook.Decision) { d.Signature = with(big.NewInt(1), big.NewInt(1)) },
		"swapped":  func(d *hook.Decision) { d.Signature = with(s, r) },
		"one bit":  func(d *hook.Decision) { d.Signature = with(new(big.Int).Xor(r, big.NewInt(1)), s) },
		"DER": func(d *hook.Decision) {
			d.Signature = base64.RawURLEncoding.EncodeToString(append([]byte{0x30, 0x44, 2, 32}, raw...))
		},
		"not bytes": func(d *hook.Decision) { d.Signature = strings.Repeat("*", 86) },
	}
	for name, change := range changes {
		d := good
		change(&d)
		if got, err := p.Vouch(requestID, d); !errors.Is(err, auth.ErrSignature) || got.Behavior != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		jwk := key.JWK()
		d.PublicKey = &jwk
		if auth.VerifyDecision(requestID, d) {
			t.Errorf("%s: verifies in a record", name)
		}
	}
	if _, err := p.Vouch("6ba7b810-9dad-11d1-80b4-00c04fd430c8", good); !errors.Is(err, auth.ErrSignature) {
		t.Errorf("another request: %v", err)
	}
	// A key that comes with the decision counts for nothing.
	d := full()
	jwk := otherKey.JWK()
	d.PublicKey, d.Signature = &jwk, otherKey.Sign(auth.DecisionText(requestID, d))
	if _, err := p.Vouch(requestID, d); !errors.Is(err, auth.ErrSignature) {
		t.Errorf("its own key: %v", err)
	}
}

// stray sets bits of the last character that stand for no byte.
func stray(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, s[len(s)-1])
	return s[:len(s)-1] + string(alphabet[last|1])
}

// No two decisions have the same text.
func TestDecisionTextIsUnambiguous(t *testing.T) {
	sum := strings.Repeat("0", 64)
	texts := map[string]string{}
	for name, d := range map[string]hook.Decision{
		"allow":       {Behavior: "allow", InputSHA256: sum},
		"deny":        {Behavior: "deny", InputSHA256: sum},
		"interrupt":   {Behavior: "deny", InputSHA256: sum, Interrupt: true},
		"words":       {Behavior: "deny", InputSHA256: sum, Message: "interrupt"},
		"lines":       {Behavior: "deny", InputSHA256: sum, Message: "\n\n"},
		"input":       {Behavior: "deny", InputSHA256: sum, UpdatedInput: hook.JSON("interrupt")},
		"permissions": {Behavior: "deny", InputSHA256: sum, UpdatedPermissions: hook.JSON("interrupt")},
		"shown":       {Behavior: "deny", InputSHA256: sum, Shown: "interrupt"},
		"when":        {Behavior: "deny", InputSHA256: sum, SignedAt: "2026-11-22T10:00:00Z"},
	} {
		text := string(auth.DecisionText(requestID, d))
		if other, ok := texts[text]; ok {
			t.Errorf("%s and %s", name, other)
		}
		lines := 8
		if d.Shown+d.SignedAt != "" {
			lines = 10
		}
		if strings.Count(text, "\n") != lines-1 {
			t.Errorf("%s: %q", name, text)
		}
		texts[text] = name
	}
}

// A token has no key: a signature that comes with its decision is nobody's.
func TestTokensDoNotSign(t *testing.T) {
	a := open(t, kvtest.New())
	secret, _ := create(t, a, auth.RoleApprove, "x", 0)
	p, err := a.Authenticate(secret)
	if err != nil {
		t.Fatal(err)
	}
	d := full()
	jwk := authtest.NewKey().JWK()
	d.Signature, d.PublicKey = "x", &jwk
	got, err := p.Vouch(requestID, d)
	if err != nil || got.Signature != "" || got.PublicKey != nil || got.Message != "words" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The example of the schema is a real one.
func TestExampleRecordVerifies(t *testing.T) {
	doc, err := schemas.Example("Record")
	if err != nil {
		t.Fatal(err)
	}
	var rec struct {
		hook.Record
		Signed struct{ UpdatedInput string }
	}
	if err := json.Unmarshal(doc, &rec); err != nil {
		t.Fatal(err)
	}
	rec.Decision.UpdatedInput = hook.JSON(rec.Signed.UpdatedInput)
	if !auth.VerifyDecision(rec.RequestID, *rec.Decision) {
		t.Error("it does not verify")
	}
}

// So is the worked example for those who write an approver of their own.
func TestProtocolExampleVerifies(t *testing.T) {
	doc, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	part := func(title string) string {
		t.Helper()
		m := regexp.MustCompile("(?s)" + regexp.QuoteMeta(title) + ":\n\n```[a-z]*\n(.*?)\n```").FindSubmatch(doc)
		if m == nil {
			t.Fatalf("no %q in docs/protocol.md", title)
		}
		return string(m[1])
	}
	var d hook.Decision
	body := part("The body to send")
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	if err := schemas.Validate("Decision", []byte(body)); err != nil {
		t.Error(err)
	}
	id := part("The request")
	if want := string(auth.DecisionText(id, d)); part("The text to sign") != want {
		t.Errorf("the text to sign is\n%s", want)
	}
	var key hook.JWK
	if err := json.Unmarshal([]byte(part("The device's public key")), &key); err != nil {
		t.Fatal(err)
	}
	d.PublicKey = &key
	if !auth.VerifyDecision(id, d) {
		t.Error("the signature does not verify")
	}
}

func FuzzVerifyDecision(f *testing.F) {
	key := authtest.NewKey()
	jwk := key.JWK()
	f.Add(key.Sign(auth.DecisionText(requestID, full())), jwk.X, jwk.Y)
	f.Add("", "", "")
	f.Add(strings.Repeat("A", 86), strings.Repeat("A", 43), strings.Repeat("_", 43))
	f.Fuzz(func(t *testing.T, signature, x, y string) {
		d := full()
		d.Signature, d.PublicKey = signature, &hook.JWK{Kty: "EC", Crv: "P-256", X: x, Y: y}
		if !auth.VerifyDecision(requestID, d) {
			return
		}
		d.Message += "!"
		if auth.VerifyDecision(requestID, d) {
			t.Error("a signature for two decisions")
		}
	})
}
