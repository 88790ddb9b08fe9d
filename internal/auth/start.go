package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

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
	maxAgain         = 64          // of one device within its five minutes
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
	From string `json:"from,omitempty"`
	// CodeOrigin is where its code comes from, by its own word.
	CodeOrigin hook.CodeOrigin `json:"codeOrigin,omitempty"`
	CreatedAt  time.Time       `json:"createdAt"`
	ExpiresAt  time.Time       `json:"expiresAt"`
}

// Caller is where a call came from.
type Caller struct {
	Addr netip.Addr `json:"addr,omitzero"` // the invalid one: unknown
	// Relayed says that a relay passed the call on. Addr is the relay's claim then, which nothing confirms.
	Relayed bool `json:"relayed,omitempty"`
	// CodeOrigin is what it says of where its code comes from.
	CodeOrigin hook.CodeOrigin `json:"code,omitempty"`
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
func (a *Auth) StartPairing(ctx context.Context, key hook.JWK, name string, from Caller) (Start, error) {
	if _, err := parseKey(key); err != nil {
		return Start{}, err
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return Start{}, err
		}
	}
	if err := from.CodeOrigin.Check(); err != nil {
		return Start{}, err
	}
	if a.isRevoked(key) {
		return Start{}, ErrKeyRevoked
	}
	text := secret(24)
	var s *start
	if err := a.changeOpen(ctx, func(o *openPairings, now time.Time) (bool, error) {
		all, here, relayed, again := 0, 0, 0, 0
		for h, s := range o.Starts {
			switch {
			case s.Device != "": // an administrator bounds these
			case s.Key == key:
				again = s.Again + 1
				delete(o.Starts, h)
			default:
				all++
				if s.From.Relayed {
					relayed++
				}
				if s.From.Relayed == from.Relayed && network(s.From.Addr) == network(from.Addr) {
					here++
				}
			}
		}
		if all >= maxStarts || here >= maxAddressStarts || from.Relayed && relayed >= maxRelayedStarts || again > maxAgain {
			return false, ErrPairingFull
		}
		s = &start{Code: o.newCode(), Name: name, Key: key, From: from, Created: now, Expires: now.Add(pairingLife), Again: again}
		o.Starts[startID(text)] = s
		return true, nil
	}); err != nil {
		return Start{}, err
	}
	return Start{Code: s.Code, Secret: text, ExpiresAt: a.local(s.Expires)}, nil
}

// startID is under which a start is kept.
func startID(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

// PollPairing returns the device of a start that was confirmed, else when the wait ends.
// ErrPairing means that the start was refused, has expired or never was.
func (a *Auth) PollPairing(ctx context.Context, secret string) (d Device, expires time.Time, err error) {
	id := startID(secret)
	s, ok := findOpen(ctx, a, func(o openPairings, now time.Time) (start, bool) {
		s := o.Starts[id]
		if s == nil || !now.Before(s.Expires) {
			return start{}, false
		}
		return *s, true
	})
	if !ok {
		return Device{}, time.Time{}, ErrPairing
	}
	if d, ok := a.Device(s.Device); ok && s.Device != "" {
		return d, time.Time{}, nil
	}
	if s.Stored {
		if _, _, err := a.cfg.KV.Get(ctx, devicePrefix+s.Device); err != nil { // it was revoked already
			return Device{}, time.Time{}, ErrPairing
		}
	}
	return Device{}, a.local(s.Expires), nil // or another broker has just stored it
}

// waiting is a start as it is shown.
func (a *Auth) waiting(s *start) Waiting {
	return Waiting{Code: s.Code, PublicKey: s.Key, Name: s.Name, From: s.From.String(), CodeOrigin: cmp.Or(s.From.CodeOrigin, hook.CodeBroker), CreatedAt: a.local(s.Created), ExpiresAt: a.local(s.Expires)}
}

// WaitingDevices lists the starts that can be confirmed, oldest first.
func (a *Auth) WaitingDevices() []Waiting {
	now := a.cfg.Now()
	list := []Waiting{}
	a.mu.Lock()
	for _, s := range a.open.Starts {
		if s.confirmable(now) {
			list = append(list, a.waiting(s))
		}
	}
	a.mu.Unlock()
	slices.SortFunc(list, func(x, y Waiting) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.Code, y.Code))
	})
	return list
}

// WaitingDevice is the start that shows code, or ErrNoStart.
func (a *Auth) WaitingDevice(ctx context.Context, code string) (Waiting, error) {
	w, ok := findOpen(ctx, a, func(o openPairings, now time.Time) (Waiting, bool) {
		if _, s := o.find(code, now); s != nil {
			return a.waiting(s), true
		}
		return Waiting{}, false
	})
	if !ok {
		return Waiting{}, ErrNoStart
	}
	return w, nil
}

// ConfirmPairing pairs the device that shows code, once. It gets role, frozen, and name, or
// where that is empty its own; and origin, or what it said of its code. word is that of a device of role admin, nil if the caller has no key.
// ErrNoStart; an error of another kind leaves it waiting, such as ErrOperator and ErrNoAdministrator.
func (a *Auth) ConfirmPairing(ctx context.Context, code string, role Role, name string, origin hook.CodeOrigin, word *Confirmation) (Device, error) {
	if err := checkDeviceRole(role); err != nil {
		return Device{}, err
	}
	device := uuid.NewString()
	var id string
	var s start
	if err := a.changeOpen(ctx, func(o *openPairings, now time.Time) (bool, error) {
		h, found := o.find(code, now)
		if found == nil {
			return false, ErrNoStart
		}
		id, s = h, *found
		found.Device = device
		if heard := now.Add(startGrace); found.Expires.Before(heard) {
			found.Expires = heard
		}
		return true, nil
	}); err != nil {
		return Device{}, err
	}
	d, err := a.addDevice(ctx, device, role, cmp.Or(name, s.Name), s.Key, cmp.Or(origin, s.From.CodeOrigin), word)
	// If this is not kept, the device hears all the same that it is paired; one that is not waits for nothing.
	_ = a.changeOpen(context.WithoutCancel(ctx), func(o *openPairings, _ time.Time) (bool, error) {
		found := o.Starts[id]
		switch {
		case found == nil || found.Device != device:
			return false, nil
		case err != nil:
			o.Starts[id] = &s
		default:
			found.Stored = true
		}
		return true, nil
	})
	return d, err
}

// RefusePairing ends the start that shows code. ErrNoStart.
func (a *Auth) RefusePairing(ctx context.Context, code string) error {
	return a.changeOpen(ctx, func(o *openPairings, now time.Time) (bool, error) {
		h, s := o.find(code, now)
		if s == nil {
			return false, ErrNoStart
		}
		delete(o.Starts, h)
		return true, nil
	})
}

// confirmable reports whether a start can be confirmed or refused.
func (s *start) confirmable(now time.Time) bool {
	return s != nil && s.Device == "" && now.Before(s.Expires)
}

// find finds what can be confirmed or refused. Codes match in either case, and
// with any separators between the letters.
func (o *openPairings) find(code string, now time.Time) (string, *start) {
	want := plainCode(code)
	for h, s := range o.Starts {
		if s.confirmable(now) && plainCode(s.Code) == want {
			return h, s
		}
	}
	return "", nil
}

func plainCode(code string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
}

// newCode returns a code that no other start has.
func (o *openPairings) newCode() string {
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
		for _, s := range o.Starts {
			taken = taken || s.Code == code
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
