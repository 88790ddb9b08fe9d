// Package digest is the form in which assent writes a hash: of a tool's input, of a certificate, of
// a secret that is kept only as its hash.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// Of returns the SHA-256 of b as 64 lower-case hex digits.
func Of(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
