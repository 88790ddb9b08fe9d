package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// maxErase is how many messages of a stream a Forget overwrites. nats-server writes a whole file of
// up to 8 MiB anew for each, about 10 ms in which nothing else is written.
const maxErase = 2000

// Forget removes a session's events and requests from EVENTS, HOOK_EVENTS and APPROVALS. In each
// it overwrites the bytes of the newest maxErase messages; those of further ones stay in the
// server's files until it tidies them, or they are too old for the stream.
//
// The sequences of events rise. Only those are removed of which isIts says that they are the
// session's: a stream that lost its end gives sequences to others. What is not there is no
// error, so a Forget that failed can be called again.
//
// What readers took before, they have; so do the backups and the logs of an external server. Nothing
// is forgotten while the record is damaged: what is shown of it then is a copy.
func (s *Stream) Forget(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool) error {
	if s.damage != nil {
		return fmt.Errorf("forget: %w", s.record.unavailable(s.damage))
	}
	if err := s.forgetEvents(ctx, events, isIts); err != nil {
		return fmt.Errorf("forget events: %w", err)
	}
	erase := maxErase
	for _, id := range slices.Backward(requests) {
		if err := s.forgetRequest(ctx, id, &erase); err != nil {
			return fmt.Errorf("forget request %s: %w", id, err)
		}
	}
	return nil
}

// forgetEvents removes events from EVENTS and its mirror.
func (s *Stream) forgetEvents(ctx context.Context, seqs []uint64, isIts func(hook.Event) bool) error {
	if len(seqs) == 0 {
		return nil
	}
	return s.inBoth(ctx, EventsStream, HookEvents, func(name string, st jetstream.Stream) error {
		erase := maxErase
		for _, seq := range slices.Backward(seqs) {
			m, err := st.GetMsg(ctx, seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: read %d: %w", name, seq, s.events.unavailable(err))
			}
			if !isIts(EventOf(keptMsg{m: m}, m.Sequence, m.Time)) {
				continue
			}
			if err := remove(ctx, st, seq, &erase); err != nil {
				return fmt.Errorf("%s: remove %d: %w", name, seq, s.events.refused(err))
			}
		}
		return nil
	})
}

// inBoth calls fn with a stream of events, and then with its mirror: what is gone from the first cannot come to the
// mirror any more.
func (s *Stream) inBoth(ctx context.Context, first, mirrored string, fn func(name string, st jetstream.Stream) error) error {
	mirror, done, err := s.events.mirrorJS()
	if err != nil {
		return err
	}
	defer done()
	for _, x := range []struct {
		js   jetstream.JetStream
		name string
	}{{s.events.js, first}, {mirror, mirrored}} {
		st, err := x.js.Stream(ctx, x.name)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, s.events.unavailable(err))
		}
		if err := fn(x.name, st); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a message, and overwrites it while *erase lasts.
func remove(ctx context.Context, st jetstream.Stream, seq uint64, erase *int) (err error) {
	if *erase--; *erase < 0 {
		err = st.DeleteMsg(ctx, seq)
	} else {
		err = st.SecureDeleteMsg(ctx, seq)
	}
	if err == nil {
		return nil
	}
	if _, gone := st.GetMsg(ctx, seq); errors.Is(gone, jetstream.ErrMsgNotFound) {
		return nil // it was too old by then
	}
	return err
}

// keptMsg is a message read by its sequence, as EventOf wants it.
type keptMsg struct {
	jetstream.Msg
	m *jetstream.RawStreamMsg
}

func (k keptMsg) Headers() nats.Header { return k.m.Header }
func (k keptMsg) Data() []byte         { return k.m.Data }
func (k keptMsg) Subject() string      { return k.m.Subject }

// forgetRequest removes the records of a request that is settled, or of a message.
func (s *Stream) forgetRequest(ctx context.Context, id string, erase *int) error {
	recs, err := s.Records(ctx, id)
	if err != nil {
		return err
	}
	_, settled := hook.MessageOfRecord(id) // which waits for nobody's answer
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
	for _, under := range []string{id, hook.ShownEntry(id)} {
		if err := s.removeRecords(ctx, st, under, erase); err != nil {
			return err
		}
	}
	return nil
}

// removeRecords removes what stands in the record under an id.
func (s *Stream) removeRecords(ctx context.Context, st jetstream.Stream, id string, erase *int) error {
	for range maxRecords {
		// Records leaves out what it cannot read; that goes too.
		m, err := s.record.leaderMessage(ctx, recordSubject(id), 1)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if s.mark != nil {
			if err := s.mark.Remove(ctx, approvals, m.seq); err != nil {
				return s.markFailed(err)
			}
		}
		if err := remove(ctx, st, m.seq, erase); err != nil {
			return fmt.Errorf("remove record %d: %w", m.seq, s.record.refused(err))
		}
	}
	return nil
}
