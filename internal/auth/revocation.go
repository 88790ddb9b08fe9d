package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// A device that is removed leaves its key behind as revoked, in the store: no device and no token comes in with that key again,
// and where it was revoked stands in the record, so that whoever verifies that knows it without being told. The store comes
// first, and refuses the key at once; see revocationrecord.go for the record.

// ErrKeyRevoked is the error of pairing, or of binding a token, with a key that was revoked.
var ErrKeyRevoked = errors.New("this key was revoked: it cannot be paired, or bound to a token, again; make a new one")

const revokedPrefix = keyPrefix + "revoked." // and the thumbprint

// storedRevocation is what stands under revokedPrefix.
type storedRevocation struct {
	// Entry is what the record has to say of it, but for the time when it does.
	Entry hook.Record `json:"entry"`
	// Recorded is where that stands in the record; 0: not yet.
	Recorded uint64 `json:"recorded,omitempty"`
}

// revocation is one in memory; guarded by Auth.mu.
type revocation struct {
	storedRevocation
	rev      uint64 // in the store; 0: it is not there yet
	heard    time.Time
	leftover []string // keys of the store that have to go
}

// RevokeDevice ends a device and its key for good, its bearers with it. by is who wants that, for the record. ErrNotFound;
// ErrUnavailable, and then nothing has changed.
func (a *Auth) RevokeDevice(ctx context.Context, id string, by hook.Approver) error {
	a.mu.Lock()
	e := a.devices[id]
	if e == nil {
		a.mu.Unlock()
		return ErrNotFound
	}
	d, storeKey := e.storedDevice, e.key
	a.mu.Unlock()
	now, thumbprint := time.Now().UTC(), Thumbprint(d.PublicKey)
	r := storedRevocation{Entry: hook.Record{
		ID: uuid.NewString(), RequestID: hook.KeyEntry(thumbprint), Step: hook.StepRevoked, By: &by,
		Revoked: &hook.RevokedKey{DeviceID: d.ID, DeviceName: d.Name, PublicKey: d.PublicKey, At: now},
	}}
	rev, kept := a.keepRevocation(ctx, &r)
	if kept == nil {
		a.offerRevocation(&r, rev) // it is refused from here on
	}
	gone := a.revoke(ctx, storeKey)
	switch {
	case kept != nil && gone != nil:
		return gone
	case kept != nil:
		a.cfg.Logf("auth: device %s is removed; that its key was revoked could not be kept yet, and is tried again: %v", d.ID, kept)
		a.offerRevocation(&r, 0)
	case gone != nil:
		a.cfg.Logf("auth: the key of device %s is revoked; the device could not be taken out of the store yet, and is tried again: %v", d.ID, gone)
	}
	return nil
}

// keepRevocation keeps it in the store, or finds the one that is there.
func (a *Auth) keepRevocation(ctx context.Context, r *storedRevocation) (rev uint64, err error) {
	value, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode what was revoked: %w", err)
	}
	key := revokedPrefix + Thumbprint(r.Entry.Revoked.PublicKey)
	if rev, err = a.cfg.KV.Create(ctx, key, value); err == nil {
		return rev, nil
	}
	have, rev, getErr := a.cfg.KV.Get(ctx, key)
	var there storedRevocation
	if getErr != nil || json.Unmarshal(have, &there) != nil {
		return 0, fmt.Errorf("%w: keep what was revoked: %w", ErrUnavailable, err)
	}
	*r = there
	return rev, nil
}

// offerRevocation takes into memory what was kept, or, where rev is 0, what is to be.
func (a *Auth) offerRevocation(r *storedRevocation, rev uint64) {
	key := revokedPrefix + Thumbprint(r.Entry.Revoked.PublicKey)
	if rev > 0 {
		if value, err := json.Marshal(r); err == nil {
			a.kv.Offer(key, value, rev)
		}
		return
	}
	a.mu.Lock()
	after := a.takeRevocationLocked(*r, 0)
	a.mu.Unlock()
	after()
}

// applyRevokedLocked takes what the store has of a revoked key. Nothing takes that back.
func (a *Auth) applyRevokedLocked(key string, value []byte, rev uint64) (after func()) {
	var r storedRevocation
	if json.Unmarshal(value, &r) != nil || r.Entry.Revoked == nil || key != revokedPrefix+Thumbprint(r.Entry.Revoked.PublicKey) {
		a.cfg.Logf("auth: %s is unreadable and ignored", key)
		return nil
	}
	return a.takeRevocationLocked(r, rev)
}

// takeRevocationLocked ends what is left of a key. after is to be called without the lock.
func (a *Auth) takeRevocationLocked(r storedRevocation, rev uint64) (after func()) {
	thumbprint := Thumbprint(r.Entry.Revoked.PublicKey)
	x := a.revoked[thumbprint]
	if x == nil {
		x = &revocation{heard: time.Now()}
		a.revoked[thumbprint] = x
	}
	if rev >= x.rev {
		x.storedRevocation, x.rev = r, rev
	}
	var all []func()
	for _, e := range a.devices {
		if Thumbprint(e.PublicKey) == thumbprint {
			x.leftover = append(x.leftover, e.key)
			all = append(all, a.removeLocked(e.key))
		}
	}
	for _, e := range a.tokens {
		if e.PublicKey != nil && Thumbprint(*e.PublicKey) == thumbprint {
			x.leftover = append(x.leftover, e.key)
			all = append(all, a.removeLocked(e.key))
		}
	}
	return func() {
		for _, revoke := range all {
			revoke()
		}
		a.wakeRecorder()
	}
}

// isRevokedLocked says whether a key was revoked. What the store still has of it goes.
func (a *Auth) isRevokedLocked(key hook.JWK, storeKey string) bool {
	x := a.revoked[Thumbprint(key)]
	if x == nil {
		return false
	}
	x.leftover = append(x.leftover, storeKey)
	a.wakeRecorder()
	return true
}

func (a *Auth) isRevoked(key hook.JWK) bool {
	thumbprint := Thumbprint(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revoked[thumbprint] != nil
}

// mayComeIn is nil, or ErrKeyRevoked. The store is asked too: another broker may just have revoked it.
func (a *Auth) mayComeIn(ctx context.Context, key hook.JWK) error {
	if a.isRevoked(key) {
		return ErrKeyRevoked
	}
	if _, _, err := a.cfg.KV.Get(ctx, revokedPrefix+Thumbprint(key)); err == nil {
		return ErrKeyRevoked
	}
	return nil
}
