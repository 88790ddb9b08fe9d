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

const (
	// maxErase is how many messages of a stream a Forget overwrites. nats-server writes a whole file of
	// up to 8 MiB anew for each, about 10 ms in which nothing else is written.
	maxErase = 2000
	// forgetRounds is how often Forget looks for what was recorded while it removed. Of a request that is settled, or a message, few
	// entries can still come.
	forgetRounds = 10
)

// Forget removes a session's events and requests from EVENTS, HOOK_EVENTS and APPROVALS. In each
// it overwrites the bytes of the newest maxErase messages; those of further ones stay in the
// server's files until it tidies them, or they are too old for the stream.
//
// The sequences of events rise. Only those are removed of which isIts says that they are the
// session's: a stream that lost its end gives sequences to others. What is not there is no
// error, so a Forget that failed can be called again.
//
// say is told of entries of the record before they are removed, and nothing is removed there that it was not told of: what is
// recorded of a request meanwhile, perhaps by another broker, is told and removed after that. nil: nobody is told.
//
// What readers took before, they have; so do the backups and the logs of an external server. Nothing
// is forgotten while the record is damaged: what is shown of it then is a copy.
func (s *Stream) Forget(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool, say func(ctx context.Context, entries []uint64) error) error {
	if s.damage != nil {
		return fmt.Errorf("forget: %w", s.record.unavailable(s.damage))
	}
	for _, id := range requests {
		if err := s.waitsForNobody(ctx, id); err != nil {
			return fmt.Errorf("forget request %s: %w", id, err)
		}
	}
	if err := s.forgetEvents(ctx, events, isIts); err != nil {
		return fmt.Errorf("forget events: %w", err)
	}
	if err := s.forgetRecords(ctx, requests, say); err != nil {
		return fmt.Errorf("forget records: %w", err)
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
			erase--
			if err := remove(ctx, st, seq, erase >= 0); err != nil {
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

// remove removes a message, and overwrites its bytes if that is wanted.
func remove(ctx context.Context, st jetstream.Stream, seq uint64, overwrite bool) (err error) {
	if overwrite {
		err = st.SecureDeleteMsg(ctx, seq)
	} else {
		err = st.DeleteMsg(ctx, seq)
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

// waitsForNobody returns an error if a request still waits for its answer. One whose entries are gone in part does not: a Forget that
// failed removed them.
func (s *Stream) waitsForNobody(ctx context.Context, id string) error {
	if _, message := hook.MessageOfRecord(id); message {
		return nil
	}
	recs, err := s.Records(ctx, id)
	if err != nil {
		return err
	}
	if len(recs) > 0 && recs[0].Step == hook.StepAsked && !slices.ContainsFunc(recs, settles) {
		return errors.New("it still waits")
	}
	return nil
}

// forgetRecords removes what stands in the record about requests that are settled, and messages, and about who had them on the screen.
// The oldest goes first: a request of which a part is left when the broker is killed is none that waits.
func (s *Stream) forgetRecords(ctx context.Context, ids []string, say func(context.Context, []uint64) error) error {
	if len(ids) == 0 {
		return nil
	}
	st, err := s.record.js.Stream(ctx, RecordStream)
	if err != nil {
		return s.record.unavailable(err)
	}
	erase := maxErase
	for range forgetRounds {
		var seqs []uint64
		for _, id := range ids {
			of, err := s.EntriesOf(ctx, id) // also what cannot be read
			if err != nil {
				return err
			}
			seqs = append(seqs, of...)
		}
		if len(seqs) == 0 {
			return nil
		}
		slices.Sort(seqs)
		if say != nil {
			if err := say(ctx, seqs); err != nil {
				return err
			}
		}
		for i, seq := range seqs {
			if s.mark != nil {
				if err := s.mark.Remove(ctx, approvals, seq); err != nil {
					return s.markFailed(err)
				}
			}
			if err := remove(ctx, st, seq, len(seqs)-i <= erase); err != nil {
				return fmt.Errorf("remove record %d: %w", seq, s.record.refused(err))
			}
		}
		erase = max(0, erase-len(seqs))
	}
	return errors.New("more is recorded of them again and again; forget them once more")
}
