package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"assent/internal/hook"
)

// Errors of pairings that start at the device.
var (
	ErrPairingFull = errors.New("too many devices wait to be paired; try again in five minutes, or make a link with: assent pair")
	ErrNoStart     = errors.New("no device that waits shows this code: it is mistyped, used, refused or expired; begin again at the device")
)

const (
	maxStarts        = 32
	maxRelayedStarts = 16 // of them through a relay, so that others can still begin
	maxAddressStarts = 4
	startGrace       = time.Minute // after a confirmation, in which the device can collect it

	// startLetters are those that nobody takes for another one: of 0 O, 1 I L, 2 Z, 5 S, 8 B
	// and U V only V is there.
	startLetters = "34679ACDEFGHJKMNPQRTVWXY"
	startLength  = 8
)

// Start is a pairing that began at the device (schema PairingStart). The device shows Code,
// which an administrator repeats, and polls with Secret.
type Start struct {
	Code      string    `json:"code"`
	Secret    string    `json:"secret"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Waiting is a device that waits to be let in (schema PairingWaiting).
type Waiting struct {
	Code      string   `json:"code"`
	PublicKey hook.JWK `json:"publicKey"`
	Name      string   `json:"name,omitempty"` // what the device calls itself
	// From is the address that it called from, and whether only a relay says so; empty if it is not known.
	From      string    `json:"from,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// start is a Start as the broker keeps it, under the hash of its secret; guarded by Auth.mu.
//
// The code is no secret: all it can do is to be shown by the one device and confirmed by an
// administrator. It is ours and random, so nobody can make a device show another's.
type start struct {
	code, name       string
	key              hook.JWK
	from             Caller
	created, expires time.Time
	confirming       bool   // being stored, or stored
	device           string // the id, once stored
}

// Caller is where a call came from.
type Caller struct {
	Addr netip.Addr // the invalid one: unknown
	// Relayed says that a relay passed the call on. Addr is the relay's claim then, which nothing confirms.
	Relayed bool
}

// String is the address, and whose word it is; empty: unknown.
func (c Caller) String() string {
	text := ""
	if c.Addr.IsValid() {
		text = c.Addr.String()
	}
	if c.Relayed {
		text = strings.TrimSpace(text + " (by the relay's word)")
	}
	return text
}

// StartPairing begins a pairing at the device that holds the private part of key. from is its
// address; the invalid one is an address like any other. Few may be open, and those of others
// are never pushed out, so that nobody can keep a device from being confirmed: ErrPairingFull.
// A second start with the same key takes the place of the first.
func (a *Auth) StartPairing(key hook.JWK, name string, from Caller) (Start, error) {
	if _, err := parseKey(key); err != nil {
		return Start{}, err
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return Start{}, err
		}
	}
	text := secret(24)
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweepStartsLocked(now)
	all, here, relayed := 0, 0, 0
	for h, s := range a.starts {
		switch {
		case s.confirming: // an administrator bounds these
		case s.key == key:
			delete(a.starts, h)
		default:
			all++
			if s.from.Relayed {
				relayed++
			}
			if s.from.Relayed == from.Relayed && network(s.from.Addr) == network(from.Addr) {
				here++
			}
		}
	}
	if all >= maxStarts || here >= maxAddressStarts || from.Relayed && relayed >= maxRelayedStarts {
		return Start{}, ErrPairingFull
	}
	s := &start{code: a.newCodeLocked(), name: name, key: key, from: from, created: now, expires: now.Add(pairingLife)}
	a.starts[sha256.Sum256([]byte(text))] = s
	return Start{Code: s.code, Secret: text, ExpiresAt: s.expires.UTC()}, nil
}

// PollPairing returns the device of a start that was confirmed, else when the wait ends.
// ErrPairing means that the start was refused, has expired or never was.
func (a *Auth) PollPairing(secret string) (d Device, expires time.Time, err error) {
	h := sha256.Sum256([]byte(secret))
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.starts[h]
	if s == nil || !now.Before(s.expires) {
		return Device{}, time.Time{}, ErrPairing
	}
	if s.device == "" {
		return Device{}, s.expires.UTC(), nil
	}
	e := a.devices[s.device]
	if e == nil { // revoked already
		return Device{}, time.Time{}, ErrPairing
	}
	return a.deviceLocked(e), time.Time{}, nil
}

// WaitingDevices lists the starts that can be confirmed, oldest first.
func (a *Auth) WaitingDevices() []Waiting {
	now := time.Now()
	list := []Waiting{}
	a.mu.Lock()
	a.sweepStartsLocked(now)
	for _, s := range a.starts {
		if s.confirming {
			continue
		}
		list = append(list, Waiting{Code: s.code, PublicKey: s.key, Name: s.name, From: s.from.String(), CreatedAt: s.created.UTC(), ExpiresAt: s.expires.UTC()})
	}
	a.mu.Unlock()
	slices.SortFunc(list, func(x, y Waiting) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.Code, y.Code))
	})
	return list
}

// WaitingDevice is the start that shows code, or ErrNoStart.
func (a *Auth) WaitingDevice(code string) (Waiting, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, s := a.findStartLocked(code, time.Now())
	if s == nil {
		return Waiting{}, ErrNoStart
	}
	return Waiting{Code: s.code, PublicKey: s.key, Name: s.name, From: s.from.String(), CreatedAt: s.created.UTC(), ExpiresAt: s.expires.UTC()}, nil
}

// ConfirmPairing pairs the device that shows code, once. It gets role, frozen, and name, or
// where that is empty its own. word is that of a device of role admin, nil if the caller has no key.
// ErrNoStart; an error of another kind leaves it waiting, such as ErrOperator and ErrNoAdministrator.
func (a *Auth) ConfirmPairing(ctx context.Context, code string, role Role, name string, word *Confirmation) (Device, error) {
	if err := checkDeviceRole(role); err != nil {
		return Device{}, err
	}
	a.mu.Lock()
	_, s := a.findStartLocked(code, time.Now())
	if s == nil {
		a.mu.Unlock()
		return Device{}, ErrNoStart
	}
	s.confirming = true
	key, name := s.key, cmp.Or(name, s.name)
	a.mu.Unlock()

	d, err := a.addDevice(ctx, role, name, key, word)

	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		s.confirming = false
		return Device{}, err
	}
	s.device = d.ID
	if heard := time.Now().Add(startGrace); s.expires.Before(heard) {
		s.expires = heard
	}
	return d, nil
}

// RefusePairing ends the start that shows code. ErrNoStart.
func (a *Auth) RefusePairing(code string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, s := a.findStartLocked(code, time.Now())
	if s == nil {
		return ErrNoStart
	}
	delete(a.starts, h)
	return nil
}

// findStartLocked finds what can be confirmed or refused. Codes match in either case, and
// with any separators between the letters.
func (a *Auth) findStartLocked(code string, now time.Time) (secretHash, *start) {
	want := plainCode(code)
	for h, s := range a.starts {
		if !s.confirming && now.Before(s.expires) && plainCode(s.code) == want {
			return h, s
		}
	}
	return secretHash{}, nil
}

func plainCode(code string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
}

// sweepStartsLocked forgets what has expired. One that is being stored stays until it is.
func (a *Auth) sweepStartsLocked(now time.Time) {
	for h, s := range a.starts {
		if !now.Before(s.expires) && (!s.confirming || s.device != "") {
			delete(a.starts, h)
		}
	}
}

// newCodeLocked returns a code that no other start has.
func (a *Auth) newCodeLocked() string {
	for {
		b := make([]byte, 0, startLength+1)
		for len(b) < startLength+1 {
			if len(b) == startLength/2 {
				b = append(b, '-')
			}
			b = append(b, startLetters[randomBelow(len(startLetters))])
		}
		code := string(b)
		taken := false
		for _, s := range a.starts {
			taken = taken || s.code == code
		}
		if !taken {
			return code
		}
	}
}

// randomBelow returns a random number below n, which is at most 256, each as likely as the next.
func randomBelow(n int) int {
	var b [1]byte
	for {
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		if int(b[0]) < 256/n*n {
			return int(b[0]) % n
		}
	}
}

// network is what one caller can choose its address from: the whole of IPv4, a /64 of IPv6.
func network(a netip.Addr) netip.Prefix {
	bits := 32
	if a = a.Unmap(); a.Is6() {
		bits = 64
	}
	p, err := a.WithZone("").Prefix(bits)
	if err != nil { // the invalid address
		return netip.Prefix{}
	}
	return p
}
