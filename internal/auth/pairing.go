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
	maxPairings  = 32
)

// pairing is an open invitation. A code is "<id>.<secret>": the id finds the invitation, so
// that wrong secrets are counted against the one they were meant for and a stranger, who does
// not know the id, cannot use up anybody's tries.
type pairing struct {
	role    Role
	name    string
	digest  secretHash // of the secret
	expires time.Time
	tries   int
}

// NewPairing makes a one-time code, valid for five minutes and few tries. The device gets
// role, frozen, and name, which wins over the device's own. With RoleSubmit it is for a machine, see
// Join, which needs a name. base is the page's address. ErrOperator, ErrNoAdministrator: no link gives
// this role any more.
func (a *Auth) NewPairing(role Role, name, base string) (Pairing, error) {
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
	now := time.Now()
	p := &pairing{role: role, name: name, digest: sha256.Sum256([]byte(key)), expires: now.Add(pairingLife)}
	a.mu.Lock()
	defer a.mu.Unlock()
	oldest := ""
	for k, q := range a.pairings {
		if !now.Before(q.expires) {
			delete(a.pairings, k)
		} else if oldest == "" || q.expires.Before(a.pairings[oldest].expires) {
			oldest = k
		}
	}
	if len(a.pairings) >= maxPairings {
		delete(a.pairings, oldest)
	}
	a.pairings[id] = p
	code := id + "." + key
	return Pairing{URL: strings.TrimRight(base, "/") + "/#" + word + "=" + code, Code: code, ExpiresAt: p.expires.UTC()}, nil
}

// Redeem pairs the device that holds the private part of key, once for a code. ErrPairing;
// *hook.FieldError, ErrOperator and ErrNoAdministrator,
// which leave the code valid while it has tries left.
func (a *Auth) Redeem(ctx context.Context, code string, key hook.JWK, name string) (Device, error) {
	p, back, err := a.spend(code, false)
	if err != nil {
		return Device{}, err
	}
	d, err := a.addDevice(ctx, p.role, cmp.Or(p.name, name), key, nil)
	if err != nil {
		back()
	}
	return d, err
}

// Join makes the token of a machine that was invited, once for a code, and returns its secret. ErrPairing;
// ErrUnavailable, which leaves the code valid while it has tries left.
func (a *Auth) Join(ctx context.Context, code string) (string, Token, error) {
	p, back, err := a.spend(code, true)
	if err != nil {
		return "", Token{}, err
	}
	text, t, err := a.CreateToken(ctx, RoleSubmit, p.name, 0)
	if err != nil {
		back()
	}
	return text, t, err
}

// spend takes the invitation of a code, of a machine or of a device; it is good once. back makes it good
// again, unless its tries are used up.
func (a *Auth) spend(code string, machine bool) (p *pairing, back func(), err error) {
	id, text, _ := strings.Cut(code, ".")
	h := sha256.Sum256([]byte(text))
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	p = a.pairings[id]
	if p == nil || !now.Before(p.expires) || (p.role == RoleSubmit) != machine {
		return nil, nil, ErrPairing
	}
	p.tries++
	right := subtle.ConstantTimeCompare(h[:], p.digest[:]) == 1
	if p.tries >= pairingTries || right {
		delete(a.pairings, id)
	}
	if !right {
		return nil, nil, ErrPairing
	}
	return p, func() {
		if a.mu.Lock(); p.tries < pairingTries {
			a.pairings[id] = p
		}
		a.mu.Unlock()
	}, nil
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
func (a *Auth) addDevice(ctx context.Context, role Role, name string, key hook.JWK, word *Confirmation) (Device, error) {
	name = cmp.Or(name, "device")
	if err := checkName(name); err != nil {
		return Device{}, err
	}
	if _, err := parseKey(key); err != nil {
		return Device{}, err
	}
	d := storedDevice{
		Device:    Device{ID: uuid.NewString(), Name: a.freeName(name), Role: role, CreatedAt: time.Now().UTC()},
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
