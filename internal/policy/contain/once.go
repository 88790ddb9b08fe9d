package contain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"assent/internal/store/kvmirror"
)

// Once knows which commands a session was already allowed contained: the same one again may well be
// there because it failed for being contained, so that a person is asked. It is kept in the record's
// store, and all brokers share it.
type Once struct {
	kv       kvmirror.KV
	notFound error // what KV.Get returns for a key that is not there
}

// NewOnce returns a Once on kv, whose Get wraps notFound for a key that is not there.
func NewOnce(kv kvmirror.KV, notFound error) *Once { return &Once{kv: kv, notFound: notFound} }

const (
	onceKeys = "contained."
	// maxOnce bounds the commands of a session. Beyond it a person is asked.
	maxOnce      = 400
	onceAttempts = 5
	// keptFor is as long as the record is kept.
	keptFor = 90 * 24 * time.Hour
	// maxSwept bounds how many sessions one Sweep removes.
	maxSwept = 10_000
)

// calls is what is kept of a session.
type calls struct {
	At    time.Time         `json:"at"` // of the newest
	Calls map[string]string `json:"calls"`
}

// First notes that a request runs a command contained, and reports whether it is the first of its session
// that does: the same request may ask again. An error says that nobody knows.
func (o *Once) First(ctx context.Context, session, command, requestID string) (bool, error) {
	key, call := onceKeys+sum(session), sum(command)
	var last error
	for range onceAttempts {
		have := calls{Calls: map[string]string{}}
		value, rev, err := o.kv.Get(ctx, key)
		switch {
		case errors.Is(err, o.notFound):
			rev = 0
		case err != nil:
			return false, err
		default:
			if err := json.Unmarshal(value, &have); err != nil {
				return false, err
			}
		}
		if by, known := have.Calls[call]; known || len(have.Calls) >= maxOnce {
			return by == requestID && known, nil
		}
		if have.Calls == nil {
			have.Calls = map[string]string{}
		}
		have.At, have.Calls[call] = time.Now().UTC(), requestID
		if value, err = json.Marshal(have); err != nil {
			return false, err
		}
		if rev == 0 {
			_, err = o.kv.Create(ctx, key, value)
		} else {
			_, err = o.kv.Update(ctx, key, value, rev)
		}
		if err == nil {
			return true, nil
		}
		last = err // somebody else was first, or it was written all the same
	}
	return false, last
}

// Sweep removes what is kept of sessions that have run nothing contained for as long as the record goes
// back.
func (o *Once) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	old := map[string]bool{}
	err := o.kv.Watch(ctx, onceKeys, func(key string, value []byte, _ uint64) {
		var have calls
		delete(old, key) // what came before it no longer holds
		if value != nil && len(old) < maxSwept && (json.Unmarshal(value, &have) != nil || time.Since(have.At) > keptFor) {
			old[key] = true
		}
	}, cancel)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	for key := range old {
		if _, err := o.kv.Delete(context.WithoutCancel(ctx), key); err != nil {
			return err
		}
	}
	return nil
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:16])
}
