package hook

import (
	"strings"
	"time"
)

// RevokedKey is the key of a device that was revoked. What it signs counts no more from where its entry stands in the record.
type RevokedKey struct {
	DeviceID   string `json:"deviceId"`
	DeviceName string `json:"deviceName"`
	PublicKey  JWK    `json:"publicKey"`
	// At is when the brokers began to refuse it; the entry may have been recorded later.
	At time.Time `json:"at"`
}

const keyEntryPrefix = "key-"

// KeyEntry is what stands in place of a request's id where the record has an entry about a key, by its thumbprint. The id of a
// request is a UUID, so no request is called that.
func KeyEntry(thumbprint string) string { return keyEntryPrefix + thumbprint }

// KeyOfEntry is the thumbprint in a KeyEntry; false of every other id.
func KeyOfEntry(id string) (thumbprint string, ok bool) {
	thumbprint, ok = strings.CutPrefix(id, keyEntryPrefix)
	return thumbprint, ok && thumbprint != ""
}
