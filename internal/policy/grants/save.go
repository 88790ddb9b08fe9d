package grants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assent/internal/hook"
)

// Save keeps x, whose Kind, Sentence, Rule, Tests, RequestID, InputSHA256, Digest, By and bounds
// are filled in, and returns it as it is kept. It is in force when Save returns. What a device
// signed is saved once: while it is in force it is returned again, after that it is ErrBefore.
func (s *Store) Save(ctx context.Context, x hook.Saved) (hook.Saved, error) {
	if len(s.active("")) >= MaxActive {
		return hook.Saved{}, ErrFull
	}
	prefix := "always-"
	if x.Kind == hook.SavedGrant {
		prefix = "grant-"
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	if x.PublicKey != nil {
		// What is signed may be sent again, by others too: it is the same thing then.
		sum := sha256.Sum256([]byte(strings.Join([]string{
			x.By.ID, x.RequestID, x.InputSHA256, x.Kind, x.Digest, x.Bounds, strconv.Itoa(x.Count),
		}, "\n")))
		copy(b[:], sum[:])
	}
	x.ID = prefix + hex.EncodeToString(b[:])
	if x.PublicKey != nil {
		if had, err := s.change(ctx, x.ID, func(*hook.Saved) error { return errUnchanged }); err == nil {
			return again(had)
		} else if !errors.Is(err, ErrNotFound) {
			return hook.Saved{}, err
		}
	}
	x.CreatedAt = time.Now().UTC()
	x.Rule, x.Tests = WithID(x.Rule, x.ID), WithID(x.Tests, x.ID)
	if err := Check([]hook.Saved{x}, "proposal"); err != nil {
		return hook.Saved{}, fmt.Errorf("the rule as it would be saved: %w", err)
	}
	value, err := json.Marshal(x)
	if err != nil {
		return hook.Saved{}, fmt.Errorf("encode %s: %w", x.ID, err)
	}
	rev, err := s.cfg.KV.Create(ctx, keyPrefix+x.ID, value)
	if err != nil {
		if value, rev, getErr := s.cfg.KV.Get(ctx, keyPrefix+x.ID); getErr == nil { // another replica was first, or our own try
			var had hook.Saved
			if json.Unmarshal(value, &had) == nil && had.ID == x.ID {
				s.kv.Offer(keyPrefix+x.ID, value, rev)
				return again(had)
			}
		}
		return hook.Saved{}, fmt.Errorf("%w: save %s: %w", ErrUnavailable, x.ID, err)
	}
	if !s.kv.Offer(keyPrefix+x.ID, value, rev) { // the watch was quicker, and may not be done
		s.tell()
	}
	return x, nil
}

// again is the answer to what was saved before.
func again(had hook.Saved) (hook.Saved, error) {
	if had.State(time.Now()) != hook.StateActive {
		return hook.Saved{}, ErrBefore
	}
	return had, nil
}

// Revoke ends what was saved, for good. It is not in force when Revoke returns. ErrNotFound.
func (s *Store) Revoke(ctx context.Context, kind, id string, by hook.Approver) (hook.Saved, error) {
	x, err := s.change(ctx, id, func(x *hook.Saved) error {
		if x.Kind != kind || x.State(time.Now()) != hook.StateActive {
			return ErrNotFound
		}
		x.RevokedAt, x.RevokedBy = time.Now().UTC(), &by
		s.mu.Lock()
		s.addUsesLocked(x) // the rule goes, and its count with it
		s.mu.Unlock()
		return nil
	})
	if err == nil {
		s.tell()
	}
	return x, err
}

// errUnchanged says that nothing needs to be written.
var errUnchanged = errors.New("unchanged")

// change lets f change what the record says now. It is tried again when somebody else changes it
// at the same time.
func (s *Store) change(ctx context.Context, id string, f func(*hook.Saved) error) (hook.Saved, error) {
	s.mu.Lock()
	_, known := s.entries[id]
	s.mu.Unlock()
	if !known { // also what would be no key
		return hook.Saved{}, ErrNotFound
	}
	key := keyPrefix + id
	var last error
	for n := range attempts {
		if n > 0 {
			select {
			case <-time.After(time.Duration(n) * time.Millisecond):
			case <-ctx.Done():
				return hook.Saved{}, fmt.Errorf("%w: %s: %w", ErrUnavailable, id, context.Cause(ctx))
			}
		}
		value, rev, err := s.cfg.KV.Get(ctx, key)
		if err != nil {
			last = err
			continue
		}
		var x hook.Saved
		if err := json.Unmarshal(value, &x); err != nil || x.ID != id {
			return hook.Saved{}, fmt.Errorf("%w: %s is unreadable", ErrUnavailable, key)
		}
		if err := f(&x); err != nil {
			s.kv.Offer(key, value, rev) // it may be news
			if errors.Is(err, errUnchanged) {
				err = nil
			}
			return x, err
		}
		if value, err = json.Marshal(x); err != nil {
			return hook.Saved{}, fmt.Errorf("encode %s: %w", id, err)
		}
		if rev, err = s.cfg.KV.Update(ctx, key, value, rev); err != nil {
			last = err // it may have been written all the same: the next look tells
			continue
		}
		s.kv.Offer(key, value, rev)
		return x, nil
	}
	return hook.Saved{}, fmt.Errorf("%w: %s: %w", ErrUnavailable, id, last)
}
