package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assent/internal/auth/passkey"
	"assent/internal/hook"
)

// Who can send text to agents, and allow what comes of it, has a shell on their machines. So the role
// operate, which admin includes, is given when a device is paired and at no other time: to the first
// device on the word of whoever may pair, to every further one on the signed word of a paired device of
// role admin. Whoever has the owner's token, as any agent of the same user may, cannot pair one more.
//
// A device has the role only if it can show for it: its id stands in the list of those that were first, or
// it was confirmed, and the signature fits its key and role. Else it is a device of role approve,
// whatever its entry in the store says.

// Errors of pairings that give the role operate.
var (
	ErrOperator        = errors.New("a device that may send text to agents is paired already, so a further one is let in by a paired device of role admin: open the page on the new device, and confirm the code that it shows there, under You, Devices")
	ErrNoAdministrator = errors.New("a device that may send text to agents is paired already, and no paired device is an administrator that could let a further one in: remove it first (assent device list, assent device revoke), then pair one with the role admin")
)

const operatorsKey = keyPrefix + "operators"

// operators is what operatorsKey holds.
type operators struct {
	// Devices are the ids of those that have the role operate on nobody's word: the first, and those that
	// were paired before there was a list.
	Devices []string `json:"devices"`
}

// Confirmation is an administrator's word for a device: kept with it, so that it can be verified again.
type Confirmation struct {
	By           hook.Approver      `json:"by"`   // a device
	Code         string             `json:"code"` // that the new device showed
	Name         string             `json:"name,omitempty"`
	Signature    string             `json:"signature"` // of By, over PairText
	PublicKey    hook.JWK           `json:"publicKey"` // of By
	Verification *hook.Verification `json:"verification,omitempty"`
}

// PairText is what a device of role admin signs to let another one in: the code that it shows, its key, the
// role, and the name that it is given, if any. A code is made for one pairing, so nobody is let in again
// by the same signature.
func PairText(code string, key hook.JWK, role Role, name string) []byte {
	return []byte(strings.Join([]string{"assent pair v1", code, key.X, key.Y, string(role), textDigest([]byte(name))}, "\n"))
}

// VouchPairing is p's word for the device that waits with a code, if p is a device of role admin that
// signed it, else ErrSignature.
func (p Principal) VouchPairing(w Waiting, role Role, name, signature string) (Confirmation, error) {
	if !p.isDevice() || !p.Role.Includes(RoleAdmin) || !verify(p.key.pub, PairText(w.Code, w.PublicKey, role, name), signature) {
		return Confirmation{}, ErrSignature
	}
	return Confirmation{By: p.Approver, Code: w.Code, Name: name, Signature: signature, PublicKey: p.key.jwk}, nil
}

// fits reports whether c is a word for a device with this key and role.
func (c *Confirmation) fits(key hook.JWK, role Role) bool {
	if c == nil || c.PublicKey == key {
		return false
	}
	pub, err := parseKey(c.PublicKey)
	text := PairText(c.Code, key, role, c.Name)
	return err == nil && verify(pub, text, c.Signature) && (c.Verification == nil || passkey.Fits(text, *c.Verification))
}

// deviceLocked is a device as it is to be seen and treated: with the role that it can show for.
func (a *Auth) deviceLocked(e *deviceEntry) Device {
	d := e.shown()
	if d.Role.Includes(RoleOperate) && !e.confirmed && !slices.Contains(a.operators.Devices, d.ID) {
		d.Role = RoleApprove
	}
	return d
}

// mayBeFirst is nil if no device has the role operate, so that one may be given it on the word of whoever
// may pair. ErrOperator, ErrNoAdministrator.
func (a *Auth) mayBeFirst() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	for _, e := range a.devices {
		switch role := a.deviceLocked(e).Role; {
		case role.Includes(RoleAdmin):
			return ErrOperator
		case role.Includes(RoleOperate):
			err = ErrNoAdministrator
		}
	}
	return err
}

// beFirst makes the device with this id, which is about to be kept, the first to have the role operate.
// The store decides between several. ErrOperator, ErrNoAdministrator, ErrUnavailable.
func (a *Auth) beFirst(ctx context.Context, id string) error {
	if err := a.mayBeFirst(); err != nil {
		return err
	}
	was, rev, err := a.cfg.KV.Get(ctx, operatorsKey)
	if err != nil {
		return fmt.Errorf("%w: read who may operate: %w", ErrUnavailable, err)
	}
	var list operators
	if err := json.Unmarshal(was, &list); err != nil {
		return fmt.Errorf("%w: read who may operate: %w", ErrUnavailable, err)
	}
	for _, other := range list.Devices {
		if _, _, err := a.cfg.KV.Get(ctx, devicePrefix+other); err == nil {
			return ErrNoAdministrator // another broker has just paired it
		}
	}
	value, err := json.Marshal(operators{Devices: []string{id}})
	if err != nil {
		return fmt.Errorf("encode who may operate: %w", err)
	}
	if rev, err = a.cfg.KV.Update(ctx, operatorsKey, value, rev); err != nil {
		return fmt.Errorf("%w: store who may operate: %w", ErrUnavailable, err)
	}
	a.kv.Offer(operatorsKey, value, rev)
	return nil
}

// listOperators makes the list of those that have the role operate on nobody's word, if there is none yet:
// the devices that were paired before there was one.
func (a *Auth) listOperators(ctx context.Context) error {
	a.mu.Lock()
	list, known := operators{Devices: []string{}}, a.operatorsKnown
	for _, e := range a.devices {
		if e.Role.Includes(RoleOperate) && e.Confirmed == nil {
			list.Devices = append(list.Devices, e.ID)
		}
	}
	a.mu.Unlock()
	if known {
		return nil
	}
	slices.Sort(list.Devices)
	value, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode who may operate: %w", err)
	}
	rev, err := a.cfg.KV.Create(ctx, operatorsKey, value)
	if err != nil {
		if value, rev, err = a.cfg.KV.Get(ctx, operatorsKey); err != nil { // else another broker was first
			return fmt.Errorf("%w: store who may operate: %w", ErrUnavailable, err)
		}
	}
	a.kv.Offer(operatorsKey, value, rev)
	return nil
}

func (a *Auth) applyOperatorsLocked(value []byte) {
	var list operators
	if err := json.Unmarshal(value, &list); err != nil {
		a.cfg.Logf("auth: %s is unreadable and ignored", operatorsKey)
		return
	}
	a.operators, a.operatorsKnown = list, true
}
