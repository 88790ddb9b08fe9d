package stream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/store/kvmirror"
)

// The stream of what people wrote to agents. A value of it is written once, and never replaced: the server leaves the
// bytes of a replaced value of the state in its files, and nobody can overwrite them any more.
const (
	textsStream  = "TEXTS"
	textSubjects = "texts."
)

// layoutTexts makes TEXTS. An operator's cluster that does not allow it goes without.
func (s *Stream) layoutTexts(ctx context.Context) error {
	e := s.record
	_, err := e.ensureStream(ctx, e.js, jetstream.StreamConfig{
		Name:              textsStream,
		Description:       "the texts of messages to agents, until they are forgotten",
		Subjects:          []string{textSubjects + ">"},
		MaxMsgsPerSubject: 1,
		Replicas:          s.replicas(),
	})
	if err != nil && s.cfg.URL != "" {
		s.logf("the texts of messages are kept in the state, where forgetting them does not overwrite them: %v; docs/nats.md says what the server has to allow", err)
		s.noTexts, err = true, nil
	}
	return err
}

// Texts is a store of keys and values whose Delete overwrites the bytes of the value in the files of the server. A key is
// written once, by Create, and not used again after Delete. nil: the server does not let the broker have one.
func (s *Stream) Texts() kvmirror.KV {
	if s.noTexts {
		return nil
	}
	return texts{bucket{s, textsStream, textSubjects}}
}

type texts struct{ bucket }

// Delete overwrites a value. One that is not there is no error. Whoever watches does not hear of it.
func (t texts) Delete(ctx context.Context, key string) (rev uint64, err error) {
	if t.s.damage != nil { // what is open then is a copy
		return 0, t.kvError("erase", key, t.s.damage)
	}
	m, err := t.last(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err == nil {
		var st jetstream.Stream
		if st, err = t.s.record.js.Stream(ctx, t.stream); err == nil {
			err = remove(ctx, st, m.seq, true)
		}
	}
	return m.seq, t.kvError("erase", key, err)
}
