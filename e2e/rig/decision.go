package rig

import (
	"encoding/json"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
)

// Thumbprint names the device's key.
func (b *BareDevice) Thumbprint() string { return auth.Thumbprint(b.key.JWK()) }

// Sign signs a text as the device does.
func (b *BareDevice) Sign(text []byte) string { return b.key.Sign(text) }

// JWK is the device's public key.
func (b *BareDevice) JWK() hook.JWK { return b.key.JWK() }

// Allows is an allow of r, signed by the device, which showed r as its payload has it. It has the key, as a record has.
func (b *BareDevice) Allows(r Request) hook.Decision {
	b.d.T.Helper()
	var seen struct {
		Tool string `json:"tool_name"`
		CWD  string `json:"cwd"`
	}
	if err := json.Unmarshal([]byte(b.d.Request(r.ID).Raw), &seen); err != nil {
		b.d.T.Fatal(err)
	}
	shown, err := json.Marshal(map[string]string{"tool": seen.Tool, "cwd": seen.CWD})
	if err != nil {
		b.d.T.Fatal(err)
	}
	key := b.key.JWK()
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: r.InputSHA256, Shown: string(shown), SignedAt: time.Now().UTC().Format(time.RFC3339Nano), PublicKey: &key}
	d.Signature = b.key.Sign(auth.DecisionText(r.ID, d))
	return d
}
