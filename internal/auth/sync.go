package auth

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"assent/internal/hook"
)

// apply takes a change of one key of the store into memory, see kvmirror.Config.
func (a *Auth) apply(key string, value []byte, rev uint64) (after func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case value == nil:
		return a.removeLocked(key)
	case strings.HasPrefix(key, tokenPrefix):
		a.applyTokenLocked(key, value, rev)
	case strings.HasPrefix(key, devicePrefix):
		a.applyDeviceLocked(key, value, rev)
	case strings.HasPrefix(key, revokedPrefix):
		return a.applyRevokedLocked(key, value, rev)
	case key == operatorsKey:
		a.applyOperatorsLocked(value)
	}
	return nil
}

func (a *Auth) applyTokenLocked(key string, value []byte, rev uint64) {
	var t storedToken
	h, ok := tokenDigest(key)
	if !ok || json.Unmarshal(value, &t) != nil {
		a.cfg.Logf("auth: %s is unreadable and ignored", key)
		return
	}
	signs, err := t.bound()
	e := a.tokens[h]
	switch {
	case e != nil && (e.Role != t.Role || !sameKey(e.PublicKey, t.PublicKey)):
		e.rev = rev // the next write puts it right
		a.cfg.Logf("auth: another role or key of %s is in the store than it was made with, and is ignored; revoke that token, if nobody here did this", key)
	case err != nil:
		a.cfg.Logf("auth: %s is unreadable and ignored: %v", key, err)
	case e == nil && signs != nil && a.isRevokedLocked(signs.jwk, key):
	case e == nil:
		a.tokens[h] = &tokenEntry{storedToken: t, signs: signs, entry: newEntry(key, rev)}
	default:
		e.storedToken, e.rev = t, rev
	}
}

func sameKey(x, y *hook.JWK) bool { return x == y || x != nil && y != nil && *x == *y }

func (a *Auth) applyDeviceLocked(key string, value []byte, rev uint64) {
	var d storedDevice
	if json.Unmarshal(value, &d) != nil || key != devicePrefix+d.ID {
		a.cfg.Logf("auth: %s is unreadable and ignored", key)
		return
	}
	pub, err := parseKey(d.PublicKey)
	if err != nil {
		a.cfg.Logf("auth: %s is unreadable and ignored: %v", key, err)
		return
	}
	e := a.devices[d.ID]
	switch {
	case e == nil && a.isRevokedLocked(d.PublicKey, key):
	case e == nil:
		a.devices[d.ID] = &deviceEntry{storedDevice: d, pub: pub, confirmed: d.Confirmed.fits(d.PublicKey, d.Role), entry: newEntry(key, rev)}
	case e.Role != d.Role || e.PublicKey != d.PublicKey || e.CodeOrigin != d.CodeOrigin:
		e.rev = rev // the next write puts it right
		a.cfg.Logf("auth: another role, key or origin of the code of %s is in the store than it was paired with, and is ignored; remove that device, if nobody here did this", key)
	default:
		e.storedDevice, e.rev = d, rev
		e.confirmed = d.Confirmed.fits(d.PublicKey, d.Role)
	}
}

// removeLocked forgets a credential and all that was made from it. revoke, unless nil, is to be called
// without the lock: it runs what Principal.OnRevoke was given.
func (a *Auth) removeLocked(key string) (revoke func()) {
	if h, ok := tokenDigest(key); ok {
		if e := a.tokens[h]; e != nil {
			delete(a.tokens, h)
			if e.PublicKey != nil {
				a.endingLocked(*e.PublicKey, e.uses)
			}
			revoke = e.revoke
		}
	}
	if id, ok := strings.CutPrefix(key, devicePrefix); ok {
		if e := a.devices[id]; e != nil {
			delete(a.devices, id)
			a.endingLocked(e.PublicKey, e.uses)
			a.bearers.drop(func(b bearer) bool { return b.device == id })
			a.challenges.drop(func(d string) bool { return d == id })
			a.enrolments.drop(func(d string) bool { return d == id })
			revoke = e.revoke
		}
	}
	return revoke
}

// endingLocked lets nothing begin any more that would be recorded with a signature by key, as far as this credential goes, and
// notes when what began is over.
func (a *Auth) endingLocked(key hook.JWK, uses *inUse) {
	thumbprint := Thumbprint(key)
	a.ending[thumbprint] = append(a.ending[thumbprint], uses.finish())
}

func tokenDigest(key string) (h secretHash, ok bool) {
	text, ok := strings.CutPrefix(key, tokenPrefix)
	if !ok || len(text) != 2*len(h) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(text))
	return h, err == nil
}

// usage asks for lastUsed to be written.
type usage struct {
	key string
	at  time.Time
}

// usedLocked asks for lastUsed to be written, at most once a minute a credential. When the
// writer is behind, the time is dropped; the next one follows in a minute.
func (a *Auth) usedLocked(key string, usedAt *time.Time, now time.Time) {
	if now.Sub(*usedAt) < time.Minute {
		return
	}
	*usedAt = now
	select {
	case a.used <- usage{key, now}:
	default:
	}
}

// writeUsage writes lastUsed until ctx is done. A write that loses against another's is
// dropped: lastUsed is information only, and a write must never bring back a revoked credential.
func (a *Auth) writeUsage(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-a.used:
			value, rev, ok := a.withUsage(u)
			if !ok {
				continue
			}
			call, cancel := context.WithTimeout(ctx, 5*time.Second)
			rev, err := a.cfg.KV.Update(call, u.key, value, rev)
			cancel()
			if err == nil {
				a.kv.Offer(u.key, value, rev)
			}
		}
	}
}

func (a *Auth) withUsage(u usage) (value []byte, rev uint64, ok bool) {
	a.mu.Lock()
	var v any
	if h, ok := tokenDigest(u.key); ok {
		if e := a.tokens[h]; e != nil {
			t := e.storedToken
			t.LastUsed = u.at.UTC()
			v, rev = t, e.rev
		}
	} else if e := a.devices[strings.TrimPrefix(u.key, devicePrefix)]; e != nil {
		d := e.storedDevice
		d.LastUsed = u.at.UTC()
		v, rev = d, e.rev
	}
	a.mu.Unlock()
	if v == nil {
		return nil, 0, false
	}
	value, err := json.Marshal(v)
	return value, rev, err == nil
}
