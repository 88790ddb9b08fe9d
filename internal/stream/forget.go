package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
	"assent/internal/hook"
)

// Forget removes a session's events and requests from EVENTS, HOOK_EVENTS and APPROVALS, and
// overwrites their bytes in the files of an embedded server. Of events it takes the sequences of
// which isIts says that they are the session's: a stream that lost its end gives sequences to
// others. What is not there is no error, so a Forget that failed can be called again.
//
// What readers took before, they have; so do the backups and the logs of an external server.
func (s *Stream) Forget(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool) error {
	if err := s.forgetEvents(ctx, events, isIts); err != nil {
		return fmt.Errorf("forget events: %w", err)
	}
	for _, id := range requests {
		if err := s.forgetRequest(ctx, id); err != nil {
			return fmt.Errorf("forget request %s: %w", id, err)
		}
	}
	return nil
}

// forgetEvents removes from EVENTS first: what is gone there cannot come to the mirror any more.
func (s *Stream) forgetEvents(ctx context.Context, seqs []uint64, isIts func(hook.Event) bool) error {
	if len(seqs) == 0 {
		return nil
	}
	mirror, done, err := s.events.mirrorJS()
	if err != nil {
		return err
	}
	defer done()
	for _, x := range []struct {
		js   jetstream.JetStream
		name string
	}{{s.events.js, EventsStream}, {mirror, HookEvents}} {
		st, err := x.js.Stream(ctx, x.name)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, s.events.unavailable(err))
		}
		for _, seq := range seqs {
			m, err := st.GetMsg(ctx, seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: read %d: %w", x.name, seq, s.events.unavailable(err))
			}
			if !isIts(messageEvent(keptMsg{m: m}, m.Sequence, m.Time)) {
				continue
			}
			if err := st.SecureDeleteMsg(ctx, seq); err != nil {
				return fmt.Errorf("%s: remove %d: %w", x.name, seq, err)
			}
		}
	}
	return nil
}

// keptMsg is a message read by its sequence, as messageEvent wants it.
type keptMsg struct {
	jetstream.Msg
	m *jetstream.RawStreamMsg
}

func (k keptMsg) Headers() nats.Header { return k.m.Header }
func (k keptMsg) Data() []byte         { return k.m.Data }
func (k keptMsg) Subject() string      { return k.m.Subject }

// forgetRequest removes the records of a request that is settled.
func (s *Stream) forgetRequest(ctx context.Context, id string) error {
	recs, err := s.Records(ctx, id)
	if err != nil {
		return err
	}
	settled := false
	for _, rec := range recs {
		settled = settled || rec.Step == hook.StepDecided || rec.Step == hook.StepEnded
	}
	if len(recs) > 0 && !settled {
		return errors.New("it still waits")
	}
	st, err := s.record.js.Stream(ctx, RecordStream)
	if err != nil {
		return s.record.unavailable(err)
	}
	for range maxRecords {
		// Records leaves out what it cannot read; that goes too.
		m, err := s.record.leaderMessage(ctx, recordSubject(id), 1)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := st.SecureDeleteMsg(ctx, m.seq); err != nil {
			return fmt.Errorf("remove record %d: %w: %w", m.seq, broker.ErrUnavailable, err)
		}
	}
	return nil
}
