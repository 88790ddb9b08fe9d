package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Cursor is up to where a follower has read the events, kept with the record: on disk before anything
// depends on it, and the same for all replicas.
type Cursor struct {
	s   *Stream
	key string
}

// Cursor returns the cursor that is kept under a key, see Get.
func (s *Stream) Cursor(key string) Cursor { return Cursor{s, key} }

// Load returns the sequence of the last event that the follower is done with; ok is false if none was
// saved.
func (c Cursor) Load(ctx context.Context) (seq uint64, ok bool, err error) {
	text, _, err := c.s.Get(ctx, c.key)
	if errors.Is(err, ErrKeyNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if seq, err = strconv.ParseUint(string(text), 10, 64); err != nil {
		return 0, false, fmt.Errorf("the cursor %s is %.32q, which is no number", c.key, text)
	}
	return seq, true, nil
}

// Save replaces what Load returns.
func (c Cursor) Save(ctx context.Context, seq uint64) error {
	_, err := c.s.Put(ctx, c.key, strconv.AppendUint(nil, seq, 10))
	return err
}
