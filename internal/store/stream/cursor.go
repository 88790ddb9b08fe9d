package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"assent/broker"
	"assent/internal/store/follow"
)

// KeptCursor is a cursor that is kept with the record: on disk before anything depends on it, and
// the same for all replicas. Who saved it last, of several, is the only one that can save it again: the
// others must Load it first. Its methods may be called from any goroutine.
type KeptCursor struct {
	s   *Stream
	key string

	mu    sync.Mutex
	known bool   // guarded by mu; it was loaded
	rev   uint64 // guarded by mu; 0: none is kept
	tried []byte // guarded by mu; what was saved, or perhaps was
}

// Cursor returns the cursor that is kept under a key, see Get.
func (s *Stream) Cursor(key string) *KeptCursor { return &KeptCursor{s: s, key: key} }

// Load returns the cursor; ok is false if none was saved.
func (k *KeptCursor) Load(ctx context.Context) (c follow.Cursor, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, err := k.loadLocked(ctx)
	if err != nil || k.rev == 0 {
		return c, false, err
	}
	if c, err = follow.Decode(m.body); err != nil {
		return c, false, fmt.Errorf("%s: %w", k.key, err)
	}
	c.Stored = m.stored
	return c, true, nil
}

func (k *KeptCursor) loadLocked(ctx context.Context) (rawMessage, error) {
	m, err := k.s.get(ctx, k.key)
	if err != nil && !errors.Is(err, ErrKeyNotFound) {
		return m, err
	}
	k.known, k.rev = true, m.seq
	return m, nil
}

// Save replaces what Load returned. broker.ErrConflict: somebody else has saved it since.
func (k *KeptCursor) Save(ctx context.Context, c follow.Cursor) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known {
		if _, err := k.loadLocked(ctx); err != nil {
			return err
		}
	}
	was := k.tried
	k.tried = c.Encode()
	err := k.writeLocked(ctx)
	if !errors.Is(err, broker.ErrConflict) || was == nil {
		return err
	}
	// Perhaps it was us, and the acknowledgement was lost.
	ours, rev := was, k.rev
	m, loadErr := k.loadLocked(ctx)
	if loadErr == nil && bytes.Equal(m.body, ours) {
		return k.writeLocked(ctx)
	}
	k.rev, k.tried = rev, was // still theirs
	return err
}

func (k *KeptCursor) writeLocked(ctx context.Context) error {
	var rev uint64
	var err error
	if k.rev == 0 {
		rev, err = k.s.Create(ctx, k.key, k.tried)
	} else {
		rev, err = k.s.Update(ctx, k.key, k.tried, k.rev)
	}
	if err == nil {
		k.rev = rev
	}
	return err
}
