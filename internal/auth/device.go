package auth

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/auth/passkey"
	"assent/internal/hook"
)

// Device is a paired browser (schema Device).
type Device struct {
	ID        string    `json:"id"` // UUID
	Name      string    `json:"name"`
	Role      Role      `json:"role"` // frozen at pairing
	CreatedAt time.Time `json:"createdAt"`
	LastUsed  time.Time `json:"lastUsed,omitzero"` // exact to a minute
	// Thumbprint names its key, see Thumbprint: a host accepts orders by it.
	Thumbprint string `json:"thumbprint,omitempty"`
	// Verifies says that it confirms what is dangerous by verifying its owner.
	Verifies bool `json:"verifies,omitempty"`
	// CodeOrigin is where the code comes from that signs with its key, as was said when it was paired.
	CodeOrigin hook.CodeOrigin `json:"codeOrigin,omitempty"`
}

type storedDevice struct {
	Device
	PublicKey hook.JWK            `json:"publicKey"`
	Passkey   *passkey.Credential `json:"passkey,omitempty"`   // never changed, only replaced
	Confirmed *Confirmation       `json:"confirmed,omitempty"` // the word by which it was let in, if a device gave it
}

// shown is the device as the API has it: what is stored does not say its key twice.
func (d *storedDevice) shown() Device {
	s := d.Device
	s.Thumbprint = Thumbprint(d.PublicKey)
	s.CodeOrigin = cmp.Or(s.CodeOrigin, hook.CodeBroker) // who says nothing, or was paired before it was asked
	return s
}

// deviceEntry is a device in memory; guarded by Auth.mu.
type deviceEntry struct {
	storedDevice
	pub       *ecdsa.PublicKey
	confirmed bool // Confirmed is there, and fits
	entry
}

// bearer is the short-lived credential of a page, held by it in memory.
type bearer struct{ device string }

const (
	challengeLife = 60 * time.Second
	bearerLife    = 15 * time.Minute
	ticketLife    = 30 * time.Second

	maxChallenges       = 1024
	maxDeviceChallenges = 8
	maxBearers          = 4096
	maxTickets          = 1024
)

// principalLocked is who calls with a credential of e.
func (a *Auth) principalLocked(e *deviceEntry) Principal {
	return Principal{
		Role:     a.deviceLocked(e).Role,
		Approver: hook.Approver{Kind: "device", ID: e.ID, Name: e.Name, CodeOrigin: cmp.Or(e.CodeOrigin, hook.CodeBroker)},
		gone:     e.gone,
		uses:     e.uses,
		key:      &signingKey{jwk: e.PublicKey, pub: e.pub},
	}
}

// Devices lists the paired devices, oldest first.
func (a *Auth) Devices() []Device {
	a.mu.Lock()
	list := make([]Device, 0, len(a.devices))
	for _, e := range a.devices {
		list = append(list, a.deviceLocked(e))
	}
	a.mu.Unlock()
	slices.SortFunc(list, func(x, y Device) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return list
}

// Device returns a paired device.
func (a *Auth) Device(id string) (Device, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.devices[id]; e != nil {
		return a.deviceLocked(e), true
	}
	return Device{}, false
}

// RenameDevice gives a device another name. ErrNotFound, ErrNameTaken; *hook.FieldError.
func (a *Auth) RenameDevice(ctx context.Context, id, name string) (Device, error) {
	if err := checkName(name); err != nil {
		return Device{}, err
	}
	return a.changeDevice(ctx, id, func(d *storedDevice) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, other := range a.devices {
			if other.ID != id && other.Name == name {
				return ErrNameTaken
			}
		}
		d.Name = name
		return nil
	})
}

// changeDevice has change change what is kept of a device, and keeps it, unless nothing changed. It is
// asked again when somebody else changed the device at the same time; its error is returned as it is.
// ErrNotFound, ErrUnavailable.
func (a *Auth) changeDevice(ctx context.Context, id string, change func(*storedDevice) error) (Device, error) {
	const attempts = 5 // against the writes of lastUsed
	var last error
	for range attempts {
		a.mu.Lock()
		e := a.devices[id]
		var d storedDevice
		var key string
		var rev uint64
		if e != nil {
			d, key, rev = e.storedDevice, e.key, e.rev
		}
		a.mu.Unlock()
		if e == nil {
			return Device{}, ErrNotFound
		}
		was := d
		if err := change(&d); err != nil {
			return Device{}, err
		}
		if d == was {
			return d.shown(), nil
		}
		value, err := json.Marshal(d)
		if err != nil {
			return Device{}, fmt.Errorf("encode device: %w", err)
		}
		if rev, err = a.cfg.KV.Update(ctx, key, value, rev); err == nil {
			a.kv.Offer(key, value, rev)
			return d.shown(), nil
		}
		last = err
		if value, rev, err = a.cfg.KV.Get(ctx, key); err == nil {
			a.kv.Offer(key, value, rev) // somebody else was first
		}
	}
	return Device{}, fmt.Errorf("%w: change a device: %w", ErrUnavailable, last)
}

// ChallengeText is what a device signs to open a session: ECDSA on P-256 over the SHA-256 of
// these bytes. The first line keeps a signature made for one purpose from serving another.
func ChallengeText(deviceID, nonce string) []byte {
	return []byte("assent session v1\n" + deviceID + "\n" + nonce)
}

// Challenge returns a nonce for a device to sign, valid once and for a minute. ErrNotFound
// means that the device is unknown or was revoked. A device has few nonces at a time; a new one
// never replaces one of another device.
func (a *Auth) Challenge(deviceID string) (nonce string, expires time.Time, err error) {
	now := time.Now()
	nonce = secret(24)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.devices[deviceID] == nil {
		return "", time.Time{}, ErrNotFound
	}
	if a.challenges.count(now, func(d string) bool { return d == deviceID }) >= maxDeviceChallenges {
		a.challenges.drop(func(d string) bool { return d == deviceID })
	}
	return nonce, a.challenges.put(nonce, deviceID, now).UTC(), nil
}

// OpenSession gives a bearer to the device that signed the nonce. signature is unpadded
// base64url of r and s, 32 bytes each, as WebCrypto gives them. An *hook.FieldError about the nonce
// says that a new one may help; ErrUnauthenticated, that nothing will.
func (a *Auth) OpenSession(deviceID, nonce, signature string) (token string, expires time.Time, err error) {
	now := time.Now()
	a.mu.Lock()
	forDevice, fresh := a.challenges.take(nonce, now)
	e := a.devices[deviceID]
	a.mu.Unlock()
	if e == nil {
		return "", time.Time{}, ErrUnauthenticated
	}
	if !fresh || forDevice != deviceID {
		return "", time.Time{}, hook.BadField("nonce", "unknown, used or expired; take a new one")
	}
	if !verify(e.pub, ChallengeText(deviceID, nonce), signature) {
		return "", time.Time{}, ErrUnauthenticated
	}
	token = "assent_session_" + secret(32)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.devices[deviceID] != e { // revoked meanwhile
		return "", time.Time{}, ErrUnauthenticated
	}
	a.usedLocked(e.key, &e.usedAt, now)
	return token, a.bearers.put(token, bearer{deviceID}, now).UTC(), nil
}

// NewTicket returns a ticket that opens one WebSocket for p within 30 seconds.
func (a *Auth) NewTicket(p Principal) (ticket string, expires time.Time) {
	ticket = secret(24)
	a.mu.Lock()
	defer a.mu.Unlock()
	return ticket, a.tickets.put(ticket, p, time.Now()).UTC()
}

// RedeemTicket returns the caller whom the ticket was made for. A ticket works once; then, and for an
// unknown or expired one, it is ErrUnauthenticated.
func (a *Auth) RedeemTicket(ticket string) (Principal, error) {
	now := time.Now()
	a.mu.Lock()
	p, ok := a.tickets.take(ticket, now)
	a.mu.Unlock()
	if !ok || p.Revoked() || !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt) {
		return Principal{}, ErrUnauthenticated
	}
	return p, nil
}
