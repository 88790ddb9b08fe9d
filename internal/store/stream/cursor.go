package stream

import (
	"context"
	"errors"
	"fmt"

	"assent/internal/store/follow"
)

// KeptCursor is a cursor that is kept with the record: on disk before anything depends on it, and
// the same for all replicas.
type KeptCursor struct {
	s   *Stream
	key string
}

// Cursor returns the cursor that is kept under a key, see Get.
func (s *Stream) Cursor(key string) KeptCursor { return KeptCursor{s, key} }

// Load returns the cursor; ok is false if none was saved.
func (k KeptCursor) Load(ctx context.Context) (c follow.Cursor, ok bool, err error) {
	m, err := k.s.get(ctx, k.key)
	if errors.Is(err, ErrKeyNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	if c, err = follow.Decode(m.body); err != nil {
		return c, false, fmt.Errorf("%s: %w", k.key, err)
	}
	c.Stored = m.stored
	return c, true, nil
}

// Save replaces what Load returns.
func (k KeptCursor) Save(ctx context.Context, c follow.Cursor) error {
	_, err := k.s.Put(ctx, k.key, c.Encode())
	return err
}
