// Package authtest has a device as a browser would be, for tests.
package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"math/big"

	"assent/internal/hook"
)

// Key is a device's key pair, which a browser makes with WebCrypto and cannot export.
type Key struct{ private *ecdsa.PrivateKey }

// NewKey makes a key pair on P-256.
func NewKey() *Key {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil { // crypto/rand does not fail
		panic(err)
	}
	return &Key{k}
}

// JWK is the public key as crypto.subtle.exportKey("jwk") gives it.
func (k *Key) JWK() hook.JWK {
	b, err := k.private.PublicKey.Bytes() // 4, x, y
	if err != nil {
		panic(err)
	}
	return hook.JWK{
		Kty: "EC", Crv: "P-256",
		X: base64.RawURLEncoding.EncodeToString(b[1:33]),
		Y: base64.RawURLEncoding.EncodeToString(b[33:]),
	}
}

// Sign returns r and s as crypto.subtle.sign gives them, in base64url.
func (k *Key) Sign(text []byte) string {
	h := sha256.Sum256(text)
	r, s, err := ecdsa.Sign(rand.Reader, k.private, h[:])
	if err != nil {
		panic(err)
	}
	var raw [64]byte
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// Verify reports whether the key made the signature of text, as anybody can tell who knows the key.
func Verify(k hook.JWK, text []byte, signature string) bool {
	b := []byte{4}
	for _, part := range []string{k.X, k.Y, signature} {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return false
		}
		b = append(b, raw...)
	}
	if len(b) != 65+64 {
		return false
	}
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), b[:65])
	if err != nil {
		return false
	}
	h := sha256.Sum256(text)
	return ecdsa.Verify(pub, h[:], new(big.Int).SetBytes(b[65:97]), new(big.Int).SetBytes(b[97:]))
}
