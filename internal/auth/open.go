package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"assent/internal/hook"
)

// What of pairing is under way stands in one key of the KV, so that an invitation that was made at one broker is
// redeemed at any, once: whoever changes it names the revision that it changed. The bounds on invitations and on
// devices that wait bound its size. Its times are those of Config.Now, which all brokers share.

const (
	openPrefix = "pairing."
	openKey    = openPrefix + "open"

	// openTime bounds a change, and openTries how often it is tried against other brokers.
	openTime  = 5 * time.Second
	openTries = 16
)

// openPairings is what openKey holds.
type openPairings struct {
	Links  map[string]*link  `json:"links,omitempty"`  // by the id in the code
	Starts map[string]*start `json:"starts,omitempty"` // by the digest of the secret, in hex
	Over   map[string]*over  `json:"over,omitempty"`   // links that were used or have expired, by the same id
}

// link is an open invitation. A code is "<id>.<secret>": the id finds the invitation, so
// that wrong secrets are counted against the one they were meant for and a stranger, who does
// not know the id, cannot use up anybody's tries.
type link struct {
	Role    Role      `json:"role"`
	Name    string    `json:"name,omitempty"`
	Digest  []byte    `json:"digest"` // of the secret
	Expires time.Time `json:"expires"`
	Tries   int       `json:"tries,omitempty"`
}

// over is what is left of an invitation for a while: whoever comes with its code too late is told why. It lets
// nobody in. Kept apart from the open ones, so that a broker that knows nothing of it cannot take it for one.
type over struct {
	Machine bool      `json:"machine,omitempty"`
	Digest  []byte    `json:"digest"`
	Used    bool      `json:"used,omitempty"` // else it has expired
	Until   time.Time `json:"until"`
}

// bury keeps of the invitation id, which is no longer open, what it was.
func (o *openPairings) bury(id string, l *link, used bool) {
	delete(o.Links, id)
	o.Over[id] = &over{Machine: l.Role == RoleSubmit, Digest: l.Digest, Used: used, Until: l.Expires.Add(pairingKnown)}
	for len(o.Over) > maxPairings {
		oldest := ""
		for k, v := range o.Over {
			if oldest == "" || v.Until.Before(o.Over[oldest].Until) {
				oldest = k
			}
		}
		delete(o.Over, oldest)
	}
}

// start is a Start as it is kept.
//
// The code is no secret: all it can do is to be shown by the one device and confirmed by an
// administrator. It is ours and random, so nobody can make a device show another's.
type start struct {
	Code    string    `json:"code"`
	Name    string    `json:"name,omitempty"`
	Key     hook.JWK  `json:"key"`
	From    Caller    `json:"from"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Again   int       `json:"again,omitempty"`  // how often its device began anew
	Device  string    `json:"device,omitempty"` // the id it is to have: it is confirmed
	Stored  bool      `json:"stored,omitempty"` // the device is
}

// sweep forgets what has expired, and what cannot be read.
func (o *openPairings) sweep(now time.Time) {
	for id, l := range o.Links {
		switch {
		case l == nil:
			delete(o.Links, id)
		case !now.Before(l.Expires):
			o.bury(id, l, false)
		}
	}
	for id, v := range o.Over {
		if !now.Before(v.Until) {
			delete(o.Over, id)
		}
	}
	for h, s := range o.Starts {
		if s == nil || !now.Before(s.Expires) {
			delete(o.Starts, h)
		}
	}
}

// readOpen reads the key; what cannot be read is nothing, and is written over.
func readOpen(value []byte) openPairings {
	var o openPairings
	if json.Unmarshal(value, &o) != nil {
		o = openPairings{}
	}
	if o.Links == nil {
		o.Links = map[string]*link{}
	}
	if o.Starts == nil {
		o.Starts = map[string]*start{}
	}
	for id, v := range o.Over {
		if v == nil {
			delete(o.Over, id)
		}
	}
	if o.Over == nil {
		o.Over = map[string]*over{}
	}
	return o
}

// applyOpen takes a change of the key into memory, see kvmirror.Config.
func (a *Auth) applyOpen(_ string, value []byte, _ uint64) func() {
	o := readOpen(value)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open, a.openThere = o, value != nil
	return nil
}

// changeOpen has change change what is under way, as it is now, and keeps that if change says so. Then it
// returns change's error. change is called again when another broker was first. ErrUnavailable.
func (a *Auth) changeOpen(ctx context.Context, change func(o *openPairings, now time.Time) (keep bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	select {
	case a.openTurn <- struct{}{}: // one change of this broker at a time: they would only hinder each other
		defer func() { <-a.openTurn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: pairings: %w", ErrUnavailable, context.Cause(ctx))
	}
	var last error
	for range openTries {
		value, rev, err := a.cfg.KV.Get(ctx, openKey)
		missing := err != nil // or the store is away
		if missing && a.openSeen() {
			last = err
			break
		}
		o := readOpen(value)
		now := a.cfg.Now()
		o.sweep(now)
		keep, result := change(&o, now)
		if !keep {
			return result
		}
		if value, err = json.Marshal(o); err != nil {
			return fmt.Errorf("encode pairings: %w", err)
		}
		if missing {
			rev, err = a.cfg.KV.Create(ctx, openKey, value)
		} else {
			rev, err = a.cfg.KV.Update(ctx, openKey, value, rev)
		}
		if err == nil {
			a.openKV.Offer(openKey, value, rev)
			return result
		}
		if last = err; ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("%w: pairings: %w", ErrUnavailable, last)
}

// openSeen reports whether the key is there, as far as is known.
func (a *Auth) openSeen() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.openThere
}

// findOpen returns what find finds in memory, or else in the store: another broker may have made it just now.
// find is called with the lock and must return a copy.
func findOpen[T any](ctx context.Context, a *Auth, find func(o openPairings, now time.Time) (T, bool)) (found T, ok bool) {
	look := func() (T, bool) {
		now := a.cfg.Now()
		a.mu.Lock()
		defer a.mu.Unlock()
		return find(a.open, now)
	}
	if found, ok = look(); ok {
		return found, true
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	value, rev, err := a.cfg.KV.Get(ctx, openKey)
	if err != nil {
		return found, false
	}
	a.openKV.Offer(openKey, value, rev) // the watch may have been quicker, after the first look
	return look()
}

// local is a time of Config.Now as a clock of this machine shows it.
func (a *Auth) local(t time.Time) time.Time {
	return time.Now().Add(t.Sub(a.cfg.Now())).Round(time.Millisecond).UTC()
}
