package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Pairing is an invitation for one device (schema Pairing). Code goes into the fragment of a
// URL, #pair=CODE, which browsers do not send.
type Pairing struct {
	URL       string    `json:"url"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expiresAt"`
}

const (
	pairingLife  = 5 * time.Minute
	pairingTries = 5
	pairingKnown = 10 * time.Minute // how long it is told that a link has expired or was used
	maxPairings  = 32
)

// NewPairing makes a one-time code, valid for five minutes and few tries. The device gets
// role, frozen, and name, which wins over the device's own. With RoleSubmit it is for a machine, see
// Join, which needs a name. base is the page's address. ErrOperator, ErrNoAdministrator: no link gives
// this role any more; ErrUnavailable.
func (a *Auth) NewPairing(ctx context.Context, role Role, name, base string) (Pairing, error) {
	word := "pair"
	if role == RoleSubmit {
		word = "join"
		if name == "" {
			return Pairing{}, hook.BadField("name", "say which machine joins: its requests are shown under this name")
		}
	} else if err := checkDeviceRole(role); err != nil {
		return Pairing{}, err
	} else if role.Includes(RoleOperate) {
		if err := a.mayBeFirst(); err != nil {
			return Pairing{}, err
		}
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return Pairing{}, err
		}
	}
	id, key := secret(6), secret(24)
	digest := sha256.Sum256([]byte(key))
	var expires time.Time
	if err := a.changeOpen(ctx, func(o *openPairings, now time.Time) (bool, error) {
		oldest := ""
		for k, l := range o.Links {
			if oldest == "" || l.Expires.Before(o.Links[oldest].Expires) {
				oldest = k
			}
		}
		if len(o.Links) >= maxPairings {
			delete(o.Links, oldest)
		}
		expires = now.Add(pairingLife)
		o.Links[id] = &link{Role: role, Name: name, Digest: digest[:], Expires: expires}
		return true, nil
	}); err != nil {
		return Pairing{}, err
	}
	code := id + "." + key
	return Pairing{URL: strings.TrimRight(base, "/") + "/#" + word + "=" + code, Code: code, ExpiresAt: a.local(expires)}, nil
}

// Redeem pairs the device that holds the private part of key, once for a code, at whichever broker.
// origin is what it says of its code. ErrPairing, also as ErrPairingUsed and ErrPairingExpired; *hook.FieldError, ErrOperator and ErrNoAdministrator,
// which leave the code valid while it has tries left.
func (a *Auth) Redeem(ctx context.Context, code string, key hook.JWK, name string, origin hook.CodeOrigin) (Device, error) {
	l, back, err := a.spend(ctx, code, false)
	if err != nil {
		return Device{}, err
	}
	d, err := a.addDevice(ctx, uuid.NewString(), l.Role, cmp.Or(l.Name, name), key, origin, nil)
	if err != nil {
		back()
	}
	return d, err
}

// Join makes the token of a machine that was invited, once for a code, and returns its secret. ErrPairing;
// ErrUnavailable, which leaves the code valid while it has tries left.
func (a *Auth) Join(ctx context.Context, code string) (string, Token, error) {
	l, back, err := a.spend(ctx, code, true)
	if err != nil {
		return "", Token{}, err
	}
	text, t, err := a.CreateToken(ctx, RoleSubmit, l.Name, 0)
	if err != nil {
		back()
	}
	return text, t, err
}

// spend takes the invitation of a code, of a machine or of a device; it is good once. back makes it good
// again, unless its tries are used up or the store is away: then it is spent.
func (a *Auth) spend(ctx context.Context, code string, machine bool) (l *link, back func(), err error) {
	id, text, _ := strings.Cut(code, ".")
	digest := sha256.Sum256([]byte(text))
	if err := a.changeOpen(ctx, func(o *openPairings, _ time.Time) (bool, error) {
		l = o.Links[id]
		if l == nil || (l.Role == RoleSubmit) != machine {
			return false, o.whyOver(id, digest[:], machine)
		}
		l.Tries++
		switch {
		case subtle.ConstantTimeCompare(digest[:], l.Digest) == 1:
			o.bury(id, l, true)
			return true, nil
		case l.Tries >= pairingTries:
			delete(o.Links, id)
		}
		return true, ErrPairing
	}); err != nil {
		return nil, nil, err
	}
	return l, func() {
		if l.Tries >= pairingTries {
			return
		}
		_ = a.changeOpen(context.WithoutCancel(ctx), func(o *openPairings, _ time.Time) (bool, error) {
			o.Links[id] = l
			delete(o.Over, id)
			return true, nil
		})
	}, nil
}

// whyOver says why an invitation is not open, to those only who have its secret.
func (o *openPairings) whyOver(id string, digest []byte, machine bool) error {
	v := o.Over[id]
	switch {
	case v == nil || v.Machine != machine || subtle.ConstantTimeCompare(digest, v.Digest) != 1:
		return ErrPairing
	case v.Used:
		return ErrPairingUsed
	default:
		return ErrPairingExpired
	}
}

func checkDeviceRole(role Role) error {
	if !role.Includes(RoleView) {
		return hook.BadField("role", "want view, approve, operate or admin")
	}
	return nil
}

// freeName returns name, with a number behind it if another device has that name: the second
// "Chrome on Linux" is "Chrome on Linux 2". Two devices that are paired at the same moment may still
// share a name.
func (a *Auth) freeName(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := make(map[string]bool, len(a.devices))
	for _, e := range a.devices {
		taken[e.Name] = true
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s %d", name, n)
	}
	return free
}

// addDevice keeps a device; word, unless nil, is by which it is let in.
func (a *Auth) addDevice(ctx context.Context, id string, role Role, name string, key hook.JWK, origin hook.CodeOrigin, word *Confirmation) (Device, error) {
	name = cmp.Or(name, "device")
	if err := checkName(name); err != nil {
		return Device{}, err
	}
	if _, err := parseKey(key); err != nil {
		return Device{}, err
	}
	if err := origin.Check(); err != nil {
		return Device{}, err
	}
	if err := a.mayComeIn(ctx, key); err != nil {
		return Device{}, err
	}
	d := storedDevice{
		Device:    Device{ID: id, Name: a.freeName(name), Role: role, CreatedAt: time.Now().UTC(), CodeOrigin: cmp.Or(origin, hook.CodeBroker)},
		PublicKey: key,
		Confirmed: word,
	}
	if word != nil && !word.fits(key, role) {
		return Device{}, ErrSignature
	}
	if word == nil && role.Includes(RoleOperate) {
		if err := a.beFirst(ctx, d.ID); err != nil {
			return Device{}, err
		}
	}
	value, err := json.Marshal(d)
	if err != nil {
		return Device{}, fmt.Errorf("encode device: %w", err)
	}
	storeKey := devicePrefix + d.ID
	rev, err := a.cfg.KV.Create(ctx, storeKey, value)
	if err != nil {
		return Device{}, fmt.Errorf("%w: store device: %w", ErrUnavailable, err)
	}
	a.kv.Offer(storeKey, value, rev)
	return d.shown(), nil
}
