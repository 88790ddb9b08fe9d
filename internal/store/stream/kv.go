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

// Get returns a key's value and revision, or ErrKeyNotFound. Keys are made of letters,
// digits and "-/_=." (a dot between levels). Other errors of the key-value functions wrap
// broker.ErrUnavailable.
func (s *Stream) Get(ctx context.Context, key string) (value []byte, rev uint64, err error) {
	m, err := s.get(ctx, key)
	return m.body, m.seq, err
}

// get is Get with all that is known of the value.
func (s *Stream) get(ctx context.Context, key string) (rawMessage, error) {
	m, err := s.last(ctx, key)
	if err == nil && m.header.Get(kvOperation) != "" {
		err = jetstream.ErrKeyNotFound
	}
	if err != nil {
		return rawMessage{}, s.kvError("get", key, err)
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
func (s *Stream) last(ctx context.Context, key string) (rawMessage, error) {
	if !plainKey.MatchString(key) {
		return rawMessage{}, jetstream.ErrInvalidKey
	}
	ctx, cancel := context.WithTimeout(ctx, s.record.answerTime())
	defer cancel()
	ask, err := json.Marshal(map[string]any{"last_by_subj": kvSubjects + key})
	if err != nil {
		return rawMessage{}, err
	}
	m, err := s.record.message(ctx, kvStream, ask)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = jetstream.ErrKeyNotFound
	}
	return m, err
}

// set writes one message of a key.
func (s *Stream) set(ctx context.Context, key string, value []byte, operation string, opts ...jetstream.PublishOpt) (rev uint64, err error) {
	if !plainKey.MatchString(key) {
		return 0, jetstream.ErrInvalidKey
	}
	err = s.record.write(ctx, len(value), func(ctx context.Context) (err error) {
		msg := nats.NewMsg(kvSubjects + key)
		msg.Data = value
		if operation != "" {
			msg.Header.Set(kvOperation, operation)
		}
		rev, err = s.record.store(ctx, kvStream, msg, opts...)
		return err
	})
	return rev, err
}

// Put sets a key whatever it was.
func (s *Stream) Put(ctx context.Context, key string, value []byte) (rev uint64, err error) {
	rev, err = s.set(ctx, key, value, "")
	return rev, s.kvError("put", key, err)
}

// Create sets a key that is not there; broker.ErrConflict if it is.
func (s *Stream) Create(ctx context.Context, key string, value []byte) (rev uint64, err error) {
	rev, err = s.set(ctx, key, value, "", jetstream.WithExpectLastSequencePerSubject(0))
	if isConflict(err) {
		// A key that was deleted is not there either.
		if m, lastErr := s.last(ctx, key); lastErr == nil && m.header.Get(kvOperation) != "" {
			rev, err = s.set(ctx, key, value, "", jetstream.WithExpectLastSequencePerSubject(m.seq))
		}
	}
	return rev, s.kvError("create", key, err)
}

// Update sets a key whose revision is rev; broker.ErrConflict if it is not.
func (s *Stream) Update(ctx context.Context, key string, value []byte, rev uint64) (newRev uint64, err error) {
	newRev, err = s.set(ctx, key, value, "", jetstream.WithExpectLastSequencePerSubject(rev))
	return newRev, s.kvError("update", key, err)
}

// Delete removes a key; one that is not there is no error. rev is that of the deletion.
func (s *Stream) Delete(ctx context.Context, key string) (rev uint64, err error) {
	rev, err = s.set(ctx, key, nil, "DEL")
	return rev, s.kvError("delete", key, err)
}

// Watch calls fn with the keys that begin with prefix, which is empty or ends with a dot, as they are now, then
// caughtUp once (nil is fine), then fn with every change in order, until ctx is done; it
// returns ctx's error, ErrClosed, or kvmirror.ErrAnew. A nil value says that the key was deleted,
// perhaps before the call. A value that was soon replaced may be left out, the last one never is.
func (s *Stream) Watch(ctx context.Context, prefix string, fn func(key string, value []byte, rev uint64), caughtUp func()) error {
	f := follower{
		engine: s.record, js: s.record.js, stream: kvStream, filter: kvSubjects + prefix + ">",
		anew: kvmirror.ErrAnew, whole: true,
		apply: func(m jetstream.Msg, meta *jetstream.MsgMetadata) {
			value := m.Data()
			if m.Headers().Get(kvOperation) != "" { // DEL or PURGE
				value = nil
			} else if value == nil {
				value = []byte{}
			}
			fn(strings.TrimPrefix(m.Subject(), kvSubjects), value, meta.Sequence.Stream)
		},
		caughtUp: caughtUp,
	}
	return f.run(ctx)
}

// kvError gives an error of the bucket the package's own kinds; nil stays nil.
func (s *Stream) kvError(what, key string, err error) error {
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
	return fmt.Errorf("%s %s: %w", what, key, s.record.refused(err))
}
