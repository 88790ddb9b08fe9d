package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/store/follow"
)

// checkpointKey is the key of the checkpoint in ASSENT_STATE.
const checkpointKey = "checkpoint"

// checkpoint is a broker's, with the streams that its sequences count in: Seq and Tail in the record,
// EventSeq in the events. Those of earlier releases do not say.
type checkpoint struct {
	broker.Checkpoint
	Records time.Time `json:"recordStream,omitzero"` // when it was made
	Events  time.Time `json:"eventStream,omitzero"`
}

// observed is what the broker reads: the streams that the sequences it has heard of count in.
type observed struct {
	mu     sync.Mutex
	record time.Time     // guarded by mu; when it was made, zero before the first look
	event  follow.Cursor // guarded by mu; without a Seq
}

func (o *observed) records() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.record
}

func (o *observed) setRecords(made time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record = made
}

func (o *observed) events() follow.Cursor {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.event
}

func (o *observed) setEvents(c follow.Cursor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.event = c
}

// Checkpoint implements broker.Log. One in a record that was made anew since says only how far the
// events were observed.
func (s *Stream) Checkpoint(ctx context.Context) (broker.Checkpoint, error) {
	now, err := s.RecordsNow(ctx)
	if err != nil {
		return broker.Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	var c checkpoint
	m, err := s.get(ctx, checkpointKey)
	switch {
	case errors.Is(err, ErrKeyNotFound):
	case err != nil:
		return broker.Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	default:
		if err := json.Unmarshal(m.body, &c); err != nil {
			return broker.Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
		}
	}
	at := follow.Cursor{Seq: c.Tail, Made: c.Records, Stored: m.stored}
	if _, found := at.Resume(now); found == follow.Anew {
		s.logf("checkpoint: %s", found.Explain("the record", at, now))
		c.Checkpoint = broker.Checkpoint{EventSeq: c.EventSeq}
	}
	s.observed.setRecords(now.Made)
	s.observed.setEvents(follow.Cursor{Made: c.Events, Stored: m.stored})
	return c.Checkpoint, nil
}

// SaveCheckpoint implements broker.Log.
func (s *Stream) SaveCheckpoint(ctx context.Context, c broker.Checkpoint) error {
	text, err := json.Marshal(checkpoint{c, s.observed.records(), s.observed.events().Made})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if _, err := s.Put(ctx, checkpointKey, text); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Observe is Events for the broker, from the sequence on that it wants after the start: the streams
// that are read are kept with its checkpoint, and one that was made anew is read from its beginning.
func (s *Stream) Observe(ctx context.Context, from uint64, fn func(hook.Event)) error {
	after := s.observed.events()
	after.Seq = max(from, 1) - 1
	f := s.eventFollower(after, fn)
	f.counts = func(made time.Time) { s.observed.setEvents(follow.Cursor{Made: made}) }
	return f.run(ctx)
}
