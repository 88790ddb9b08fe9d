package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/store/tree"
)

const auditSubject = "audit.block"

var _ tree.Store = (*Stream)(nil)

// LastBlock implements tree.Store.
func (s *Stream) LastBlock(ctx context.Context) (n uint64, body []byte, err error) {
	return s.auditMessage(ctx, map[string]any{"last_by_subj": auditSubject})
}

// Block implements tree.Store.
func (s *Stream) Block(ctx context.Context, n uint64) ([]byte, error) {
	at, body, err := s.auditMessage(ctx, map[string]any{"seq": max(n, 1)})
	if err == nil && at != n {
		err = tree.ErrNoBlock
	}
	return body, err
}

func (s *Stream) auditMessage(ctx context.Context, ask map[string]any) (uint64, []byte, error) {
	text, err := json.Marshal(ask)
	if err != nil {
		return 0, nil, err
	}
	m, err := s.record.message(ctx, AuditStream, text)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil, tree.ErrNoBlock
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read %s: %w", AuditStream, err)
	}
	return m.seq, m.body, nil
}

// AppendBlock implements tree.Store. The stream has one subject, so the last of the subject is the last at all.
func (s *Stream) AppendBlock(ctx context.Context, after uint64, body []byte) error {
	msg := nats.NewMsg(auditSubject)
	msg.Data = body
	err := s.record.write(ctx, msg.Size(), func(ctx context.Context) error {
		_, err := s.record.store(ctx, AuditStream, msg, jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
		return err
	})
	if isConflict(err) {
		// Perhaps this one, in a call whose answer was lost.
		if have, readErr := s.Block(ctx, after+1); readErr == nil && bytes.Equal(have, body) {
			return nil
		}
		return tree.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", AuditStream, s.record.refused(err))
	}
	return nil
}

// EntriesAfter implements tree.Store.
func (s *Stream) EntriesAfter(ctx context.Context, c follow.Cursor, fn func(tree.Entry, tree.Decode)) error {
	f := &follower{
		engine: s.record, js: s.record.js, stream: RecordStream, at: c, anew: follow.ErrAnew, shared: s.recordReader,
		apply: func(d *delivery) {
			// The queue and the history read the same record: the three read it once.
			fn(tree.Entry{Seq: d.seq, Subject: d.Subject(), Header: d.Headers(), Body: d.Data()}, func(tree.Entry) (hook.Record, error) { return d.record() })
		},
	}
	return f.run(ctx)
}

// entriesAtOnce is how many entries EntriesBetween asks for at once.
const entriesAtOnce = 256

// EntriesBetween implements tree.Store.
func (s *Stream) EntriesBetween(ctx context.Context, from, to uint64, fn func(tree.Entry) error) error {
	for ; from <= to; from += entriesAtOnce {
		end := min(to, from+entriesAtOnce-1)
		next := from
		var failed error
		give := func(m rawMessage) {
			if m.seq > end || m.seq < next || failed != nil {
				return
			}
			next = m.seq + 1
			failed = fn(tree.Entry{Seq: m.seq, Subject: m.subject, Header: m.header, Body: m.body})
		}
		ask := []batchGet{{Seq: from, Batch: int(end - from + 1), Subject: recordSubjects}}
		if err := s.record.getBatches(ctx, RecordStream, ask, func(_ int, m rawMessage) { give(m) }); err != nil {
			return fmt.Errorf("entries from %d: %w", from, err)
		}
		// A replica that is behind does not have the last ones yet; the leader does.
		for next <= end && failed == nil {
			m, err := s.record.leaderMessage(ctx, recordSubjects, next)
			if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.seq > end {
				break
			}
			if err != nil {
				return fmt.Errorf("entries from %d: %w", next, err)
			}
			give(m)
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// EntriesOf implements tree.Store. To a request belongs who had it on the screen.
func (s *Stream) EntriesOf(ctx context.Context, request string) (seqs []uint64, err error) {
	if !hook.PlainToken(request) {
		return nil, nil
	}
	for _, id := range []string{request, hook.ShownEntry(request)} {
		for seq, n := uint64(0), 0; n < maxRecords; n++ {
			m, err := s.record.leaderMessage(ctx, recordSubject(id), seq+1)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("records of %s: %w", id, err)
			}
			seq = m.seq
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

// DecodeEntry reads an entry of the record.
func DecodeEntry(e tree.Entry) (hook.Record, error) { return messageRecord(e.Header, e.Body, e.Seq) }
