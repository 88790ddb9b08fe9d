// Package signed is what a device signs of a decision and how that is verified, by whoever holds the key
// in hand: the broker before it records a decision, and a hook before it prints one.
package signed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/text/digest"
)

// DecisionText is what a device signs for a decision: the request, the input that it saw, and every
// part of the decision. ECDSA on P-256 over the SHA-256 of these bytes.
//
// Texts of any length come in as lower-case hex of their SHA-256, an empty or absent one as
// nothing. The JSON ones are taken byte for byte as they were sent. The first line keeps a
// signature made for one purpose from serving another.
//
// A decision that says what was shown, or when it was signed, is signed in the second form, which has a
// line for each. Pages of before sign the first.
func DecisionText(requestID string, d hook.Decision) []byte {
	interrupt := ""
	if d.Interrupt {
		interrupt = "interrupt"
	}
	version, more := "assent decision v1", []string(nil)
	if d.Shown != "" || d.SignedAt != "" {
		version, more = "assent decision v2", []string{Digest([]byte(d.Shown)), d.SignedAt}
	}
	return []byte(strings.Join(append([]string{
		version,
		requestID,
		d.InputSHA256,
		string(d.Behavior),
		interrupt,
		Digest([]byte(d.Message)),
		Digest(d.UpdatedInput),
		Digest(d.UpdatedPermissions),
	}, more...), "\n"))
}

// Digest is lower-case hex of the SHA-256 of a text, and nothing for an empty one.
func Digest(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	return digest.Of(text)
}

// Thumbprint names a device's key: the SHA-256 of its JWK as RFC 7638 has it, unpadded base64url.
func Thumbprint(k hook.JWK) string {
	sum := sha256.Sum256([]byte(`{"crv":"` + k.Crv + `","kty":"` + k.Kty + `","x":"` + k.X + `","y":"` + k.Y + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Key returns the key of a JWK or an *hook.FieldError; a point that is not on the curve is one.
func Key(k hook.JWK) (*ecdsa.PublicKey, error) {
	bad := hook.BadField("publicKey", "want a JWK of an EC public key on P-256")
	if k.Kty != "EC" || k.Crv != "P-256" {
		return nil, bad
	}
	x, errX := Decode(k.X)
	y, errY := Decode(k.Y)
	if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
		return nil, bad
	}
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
	if err != nil {
		return nil, bad
	}
	return pub, nil
}

// Verify checks r and s, 32 bytes each in base64url, as WebCrypto gives them.
func Verify(pub *ecdsa.PublicKey, text []byte, signature string) bool {
	sig, err := Decode(signature)
	if err != nil || len(sig) != 64 {
		return false
	}
	h := sha256.Sum256(text)
	r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])
	return ecdsa.Verify(pub, h[:], r, s)
}

// Decode reads unpadded base64url in its one spelling: line breaks and stray bits, which
// Go would skip, are errors.
func Decode(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, base64.CorruptInputError(0)
	}
	return base64.RawURLEncoding.Strict().DecodeString(s)
}
