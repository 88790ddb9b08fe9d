package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// settleTime is how long the records of other replicas may lag behind the events they follow.
const settleTime = time.Second

// order gives every record its position among the events (hook.Record.After) and knows when no
// further record can come before an event. The zero value works.
type order struct {
	mu      sync.Mutex
	seen    uint64                   // guarded by mu; the last event this process knows of
	writing map[chan struct{}]uint64 // guarded by mu; a channel for each Append under way → its After
	aged    uint64                   // guarded by mu; events up to it are older than settleTime
}

// see notes that event seq is in the stream.
func (o *order) see(seq uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = max(o.seen, seq)
}

// begin sets rec.After. The caller calls end when the append is over, however it went.
func (o *order) begin(rec *hook.Record) (end func()) {
	done := make(chan struct{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = max(o.seen, rec.EventSeq)
	if rec.Request != nil {
		o.seen = max(o.seen, rec.Request.EventSeq)
	}
	rec.After = o.seen
	if o.writing == nil {
		o.writing = map[chan struct{}]uint64{}
	}
	o.writing[done] = rec.After
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.writing, done)
		close(done)
	}
}

// Writing reports whether a record is being written at this moment.
func (s *Stream) Writing() bool {
	s.order.mu.Lock()
	defer s.order.mu.Unlock()
	return len(s.order.writing) > 0
}

// settle returns when every append that began before event seq was known is over. Appends that
// begin later come after seq.
func (o *order) settle(ctx context.Context, seq uint64) error {
	o.mu.Lock()
	o.seen = max(o.seen, seq)
	var wait []chan struct{}
	for done, after := range o.writing {
		if after < seq {
			wait = append(wait, done)
		}
	}
	o.mu.Unlock()
	for _, done := range wait {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Settled returns when no record can come any more that stands before event eventSeq, which the
// caller has read: the last record there is then, 0 for none. A record whose append failed
// but that was stored is the exception: it stays where it was stored.
//
// On a cluster, where other replicas write too, it returns when the event is a second old.
func (s *Stream) Settled(ctx context.Context, eventSeq uint64) (recordSeq uint64, err error) {
	if s.cfg.URL != "" {
		if err := s.age(ctx, eventSeq); err != nil {
			return 0, fmt.Errorf("settle event %d: %w", eventSeq, err)
		}
	}
	if err := s.order.settle(ctx, eventSeq); err != nil {
		return 0, fmt.Errorf("settle event %d: %w", eventSeq, err)
	}
	if recordSeq, err = s.record.newest(ctx, RecordStream, recordSubjects); err != nil {
		return 0, fmt.Errorf("settle event %d: %w", eventSeq, err)
	}
	return recordSeq, nil
}

// age waits until event seq is older than settleTime. All events there are at the call grow old
// together, so a long backlog waits once.
func (s *Stream) age(ctx context.Context, seq uint64) error {
	s.order.mu.Lock()
	aged := s.order.aged
	s.order.mu.Unlock()
	if seq <= aged {
		return nil
	}
	last, err := s.LastEventSeq(ctx)
	if err != nil {
		return err
	}
	wait := s.cfg.settle
	if wait == 0 {
		wait = settleTime
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.order.mu.Lock()
	defer s.order.mu.Unlock()
	s.order.aged = max(s.order.aged, last)
	return nil
}

// EventBounds returns the sequences of the oldest and the newest event that can still be read;
// both are 0 when there is none.
func (s *Stream) EventBounds(ctx context.Context) (oldest, newest uint64, err error) {
	state, err := s.events.streamState(ctx, s.events.js, EventsStream)
	if err == nil {
		newest, err = s.events.newest(ctx, EventsStream, "hooks.>")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("bounds of the events: %w", err)
	}
	if newest == 0 {
		return 0, 0, nil
	}
	return state.FirstSeq, newest, nil
}

// newest is the sequence of the last message that is there, 0 if none is: a stream's own last
// sequence may be that of a message that was removed. subjects are all of the stream.
func (e *engine) newest(ctx context.Context, stream, subjects string) (uint64, error) {
	// The server finds the last of ">" at once, but not when that one was removed; the last of a
	// narrower subject it searches.
	seq, err := e.lastOf(ctx, stream, ">")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		seq, err = e.lastOf(ctx, stream, subjects)
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	return seq, err
}

// lastOf asks the stream's leader for the sequence of the last message of subject.
func (e *engine) lastOf(ctx context.Context, stream, subject string) (uint64, error) {
	ask, err := json.Marshal(map[string]any{"last_by_subj": subject})
	if err != nil {
		return 0, err
	}
	m, err := e.message(ctx, stream, ask)
	return m.seq, err
}
