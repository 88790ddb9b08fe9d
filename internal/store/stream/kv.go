package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
	"assent/internal/store/kvmirror"
)

// Errors of the key-value functions. A revision that is not the last is broker.ErrConflict.
var ErrKeyNotFound = errors.New("no such key")

// bucket is a stream of the record that keeps the last value of each key. Its functions for keys and values are those
// of the state, as Stream has them, and of Texts.
type bucket struct {
	s        *Stream
	stream   string
	subjects string // what stands before a key; ends with a dot
}

// Get returns a key's value and revision, or ErrKeyNotFound. Keys are made of letters,
// digits and "-/_=." (a dot between levels). Other errors of the key-value functions wrap
// broker.ErrUnavailable.
func (b bucket) Get(ctx context.Context, key string) (value []byte, rev uint64, err error) {
	m, err := b.get(ctx, key)
	return m.body, m.seq, err
}

// get is Get with all that is known of the value.
func (b bucket) get(ctx context.Context, key string) (rawMessage, error) {
	m, err := b.last(ctx, key)
	if err == nil && m.header.Get(kvOperation) != "" {
		err = jetstream.ErrKeyNotFound
	}
	if err != nil {
		return rawMessage{}, b.kvError("get", key, err)
	}
	return m, nil
}

const (
	kvStream    = "KV_" + StateBucket
	kvSubjects  = "$KV." + StateBucket + "."
	kvOperation = "KV-Operation" // of a deletion
)

var plainKey = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)

// last is the last message of a key, which may be a deletion.
func (b bucket) last(ctx context.Context, key string) (rawMessage, error) {
	if !plainKey.MatchString(key) {
		return rawMessage{}, jetstream.ErrInvalidKey
	}
	ctx, cancel := context.WithTimeout(ctx, b.s.record.answerTime())
	defer cancel()
	ask, err := json.Marshal(map[string]any{"last_by_subj": b.subjects + key})
	if err != nil {
		return rawMessage{}, err
	}
	m, err := b.s.record.message(ctx, b.stream, ask)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = jetstream.ErrKeyNotFound
	}
	return m, err
}

// set writes one message of a key.
func (b bucket) set(ctx context.Context, key string, value []byte, operation string, opts ...jetstream.PublishOpt) (rev uint64, err error) {
	if !plainKey.MatchString(key) {
		return 0, jetstream.ErrInvalidKey
	}
	err = b.s.record.write(ctx, len(value), func(ctx context.Context) (err error) {
		msg := nats.NewMsg(b.subjects + key)
		msg.Data = value
		if operation != "" {
			msg.Header.Set(kvOperation, operation)
		}
		rev, err = b.s.record.store(ctx, b.stream, msg, opts...)
		return err
	})
	return rev, err
}

// Put sets a key whatever it was.
func (b bucket) Put(ctx context.Context, key string, value []byte) (rev uint64, err error) {
	rev, err = b.set(ctx, key, value, "")
	return rev, b.kvError("put", key, err)
}

// Create sets a key that is not there; broker.ErrConflict if it is.
func (b bucket) Create(ctx context.Context, key string, value []byte) (rev uint64, err error) {
	rev, err = b.set(ctx, key, value, "", jetstream.WithExpectLastSequencePerSubject(0))
	if isConflict(err) {
		// A key that was deleted is not there either.
		if m, lastErr := b.last(ctx, key); lastErr == nil && m.header.Get(kvOperation) != "" {
			rev, err = b.set(ctx, key, value, "", jetstream.WithExpectLastSequencePerSubject(m.seq))
		}
	}
	return rev, b.kvError("create", key, err)
}

// Update sets a key whose revision is rev; broker.ErrConflict if it is not.
func (b bucket) Update(ctx context.Context, key string, value []byte, rev uint64) (newRev uint64, err error) {
	newRev, err = b.set(ctx, key, value, "", jetstream.WithExpectLastSequencePerSubject(rev))
	return newRev, b.kvError("update", key, err)
}

// Delete removes a key; one that is not there is no error. rev is that of the deletion.
func (b bucket) Delete(ctx context.Context, key string) (rev uint64, err error) {
	rev, err = b.set(ctx, key, nil, "DEL")
	return rev, b.kvError("delete", key, err)
}

// Watch calls fn with the keys that begin with prefix, which is empty or ends with a dot, as they are now, then
// caughtUp once (nil is fine), then fn with every change in order, until ctx is done; it
// returns ctx's error, ErrClosed, or kvmirror.ErrAnew. A nil value says that the key was deleted,
// perhaps before the call. A value that was soon replaced may be left out, the last one never is.
func (b bucket) Watch(ctx context.Context, prefix string, fn func(key string, value []byte, rev uint64), caughtUp func()) error {
	f := follower{
		engine: b.s.record, js: b.s.record.js, stream: b.stream, filter: b.subjects + prefix + ">",
		anew: kvmirror.ErrAnew, whole: true,
		apply: func(m *delivery) {
			value := m.Data()
			if m.Headers().Get(kvOperation) != "" { // DEL or PURGE
				value = nil
			} else if value == nil {
				value = []byte{}
			}
			fn(strings.TrimPrefix(m.Subject(), b.subjects), value, m.seq)
		},
		caughtUp: caughtUp,
	}
	return f.run(ctx)
}

// kvError gives an error of the bucket the package's own kinds; nil stays nil.
func (b bucket) kvError(what, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return ErrKeyNotFound
	case errors.Is(err, jetstream.ErrKeyExists), isConflict(err):
		return fmt.Errorf("%s %s: %w", what, key, broker.ErrConflict)
	case errors.Is(err, jetstream.ErrInvalidKey):
		return fmt.Errorf("%s %q: %w", what, key, err)
	}
	return fmt.Errorf("%s %s: %w", what, key, b.s.record.refused(err))
}
