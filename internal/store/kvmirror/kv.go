package kvmirror

import (
	"context"
	"errors"
)

// ErrAnew is what KV.Watch returns when the store it watches was deleted and made anew, or put back to
// what it once was: its revisions say nothing about those of before. Another Watch shows what it has now.
var ErrAnew = errors.New("the store was made anew, or put back")

// KV is a durable store of keys and values that replicas share: the bucket ASSENT_STATE.
//
// Keys are made of letters, digits, "-", "_" and ".". Every write has a revision, greater than that
// of any write before it, whatever the key.
type KV interface {
	// Get returns a key's value and its revision.
	Get(ctx context.Context, key string) (value []byte, rev uint64, err error)
	// Create fails when the key exists.
	Create(ctx context.Context, key string, value []byte) (rev uint64, err error)
	// Update fails when rev is not the key's last revision, so that it cannot bring back
	// what was deleted.
	Update(ctx context.Context, key string, value []byte, rev uint64) (newRev uint64, err error)
	// Delete removes a key; one that is not there is no error. rev is that of the deletion.
	Delete(ctx context.Context, key string) (rev uint64, err error)
	// Watch calls fn, from the goroutine of its caller, with the present value of every key that
	// begins with prefix, which ends with a dot, then caughtUp once, then fn with every
	// change, until ctx is done or the store is another one, see ErrAnew. A nil value says that the key
	// was deleted.
	Watch(ctx context.Context, prefix string, fn func(key string, value []byte, rev uint64), caughtUp func()) error
}
