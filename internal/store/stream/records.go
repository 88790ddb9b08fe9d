package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/store/follow"
)

// Append implements broker.Log. It returns within a second when the record engine falls silent, and
// at once when it is known not to work; while the engine works, only ctx bounds it.
//
// The server compares and stores in one step (Nats-Expected-Last-Subject-Sequence). A record
// carries no Nats-Msg-Id: the server answers a repeated one with success before it compares.
func (s *Stream) Append(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	defer s.order.begin(&rec)()
	if !hook.PlainToken(rec.RequestID) {
		return 0, fmt.Errorf("append record: request id %q is no plain token", rec.RequestID)
	}
	msg, err := recordMessage(rec)
	if err != nil {
		return 0, fmt.Errorf("append record: %w", err)
	}
	if most := s.record.nc.MaxPayload(); int64(msg.Size()) > most {
		return 0, fmt.Errorf("append record: %d bytes are more than the server takes (%d)", msg.Size(), most)
	}
	var seq uint64
	sent := false
	if hook.Mutant("no-fsync-wait") && rec.Step == hook.StepDecided { // told before it is acknowledged, and lost
		return after + 1, nil
	}
	write := func() error {
		return s.record.write(ctx, msg.Size(), func(ctx context.Context) (err error) {
			sent = true
			if hook.Mutant("no-compare-and-set") {
				seq, err = s.record.store(ctx, RecordStream, msg, jetstream.WithRetryAttempts(0))
				return err
			}
			seq, err = s.record.store(ctx, RecordStream, msg,
				jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
			return err
		})
	}
	err = write()
	switch {
	case err == nil:
		return seq, nil
	case !sent:
		return 0, fmt.Errorf("append record: %w", err)
	}
	// Either the server refused, perhaps because an earlier attempt with this very record
	// went through after all, or nobody knows. The request's records do.
	look := func() (uint64, error) {
		if isConflict(err) {
			return s.lookFor(ctx, rec, after, s.record.answerTime()) // the engine works, however busy it is
		}
		return s.lookFor(ctx, rec, after, lookTimeout)
	}
	found, lookErr := look()
	// Another record of the request is on its way through the cluster, and cannot be read yet. It may be the one that
	// this one follows, for the leader is not always the first to have it: then this one is taken a moment later. Or
	// it is this one's rival: a loser that said so before that can be read would send its caller to look for a
	// settlement that is not there. This one was refused, so to send it again records nothing twice.
	for end := time.Now().Add(inFlightTimeout); errorCode(err) == wrongLastSequenceInFlight && errors.Is(lookErr, errNotThere); {
		if time.Now().After(end) {
			return 0, fmt.Errorf("append record: another one is on its way, and does not come: %w", s.record.refused(err))
		}
		time.Sleep(5 * time.Millisecond)
		if err = write(); err == nil {
			return seq, nil
		}
		found, lookErr = look()
	}
	switch {
	case lookErr == nil:
		return found, nil
	case errors.Is(lookErr, broker.ErrConflict):
		if hook.Mutant("conflict-is-success") {
			return after + 1, nil
		}
		return 0, lookErr
	case isConflict(err) && errors.Is(lookErr, errNotThere):
		return 0, broker.ErrConflict // by a server that knows more than the one that was asked
	case isConflict(err):
		return 0, fmt.Errorf("append record: %w; %w: %w", s.record.refused(err), errUnread, lookErr)
	}
	return 0, fmt.Errorf("append record: %w", s.record.refused(err))
}

// errUnread says that a record was refused because of another one, and nobody knows which.
var errUnread = errors.New("what came first cannot be read")

// errNotThere says that a request's last record is still the expected one.
var errNotThere = errors.New("the record is not there")

// lookFor returns the sequence of rec if it was recorded, broker.ErrConflict if another
// record stands in its place, and errNotThere if none does. It asks the stream's leader, and
// does not mind that ctx may be over: the caller waits for the truth.
func (s *Stream) lookFor(ctx context.Context, rec hook.Record, after uint64, timeout time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	seq := after
	for range maxRecords {
		m, err := s.record.leaderMessage(ctx, recordSubject(rec.RequestID), seq+1)
		for errors.Is(err, broker.ErrUnavailable) && ctx.Err() == nil {
			// The connection may come back in time.
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
				m, err = s.record.leaderMessage(ctx, recordSubject(rec.RequestID), seq+1)
			}
		}
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return 0, err
		}
		seq = m.seq
		if have, err := messageRecord(m.header, m.body, m.seq); err == nil && have.ID == rec.ID {
			return seq, nil
		}
	}
	if seq != after {
		return 0, broker.ErrConflict
	}
	return 0, errNotThere
}

// inFlightTimeout is how long a record that is on its way through a cluster is waited for.
const inFlightTimeout = 2 * time.Second

// isConflict reports whether a write was refused because another one came first.
func isConflict(err error) bool {
	code := errorCode(err)
	return code == wrongLastSequence || code == wrongLastSequenceInFlight
}

// errorCode is the server's code of an error, 0 if it has none.
func errorCode(err error) jetstream.ErrorCode {
	var apiErr *jetstream.APIError
	if errors.As(err, &apiErr) {
		return apiErr.ErrorCode
	}
	return 0
}

// rawMessage is a stored message as the leader of its stream returns it.
type rawMessage struct {
	seq     uint64
	subject string
	header  nats.Header
	body    []byte
	stored  time.Time // zero where the answer did not say
}

// leaderMessage is firstMessage of the engine's own stream.
func (e *engine) leaderMessage(ctx context.Context, subject string, from uint64) (rawMessage, error) {
	return e.firstMessage(ctx, e.kind.stream, subject, from)
}

// firstMessage returns the first message of subject with at least the sequence from. Unlike
// a direct get, which any replica answers, it never misses what was acknowledged.
func (e *engine) firstMessage(ctx context.Context, stream, subject string, from uint64) (rawMessage, error) {
	ask, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": subject})
	if err != nil {
		return rawMessage{}, err
	}
	return e.message(ctx, stream, ask)
}

// answerTimeout bounds one answer of the server.
const answerTimeout = 5 * time.Second

// message asks the stream's leader for a message. A caller that waits for less time says so in ctx.
func (e *engine) message(ctx context.Context, stream string, ask []byte) (rawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := e.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, ask)
	if err != nil {
		return rawMessage{}, e.unavailable(err)
	}
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq     uint64    `json:"seq"`
			Subject string    `json:"subject"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return rawMessage{}, e.unavailable(fmt.Errorf("answer of the server: %w", err))
	}
	if got.Error != nil {
		if got.Error.Code == 404 {
			return rawMessage{}, jetstream.ErrMsgNotFound
		}
		return rawMessage{}, e.unavailable(got.Error)
	}
	m := rawMessage{seq: got.Message.Seq, subject: got.Message.Subject, body: got.Message.Data, stored: got.Message.Time}
	if len(got.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(got.Message.Header); err != nil {
			return rawMessage{}, e.unavailable(fmt.Errorf("answer of the server: %w", err))
		}
	}
	if e.enter != nil {
		if err := e.enter(ctx, stream, m); err != nil {
			return rawMessage{}, e.unavailable(err)
		}
	}
	return m, nil
}

// maxRecords bounds the records of one request: there are five steps, and a request that was
// asked again after 90 days may have a few more.
const maxRecords = 64

// Records implements broker.Log. An error wraps broker.ErrUnavailable.
func (s *Stream) Records(ctx context.Context, requestID string) ([]hook.Record, error) {
	if !hook.PlainToken(requestID) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var recs []hook.Record
	seq := uint64(0)
	for range maxRecords {
		m, err := s.record.leaderMessage(ctx, recordSubject(requestID), seq+1)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return recs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("records of %s: %w", requestID, err)
		}
		seq = m.seq
		rec, err := messageRecord(m.header, m.body, m.seq)
		if err != nil {
			// As Tail does: one message must not keep the broker from starting. Its place in
			// the subject stays taken, so nothing can be settled a second time.
			s.logf("records of %s: passing over a message: %v", requestID, err)
			continue
		}
		rec.Stored = s.record.clock.stored(m.stored)
		recs = append(recs, rec)
	}
	return recs, nil
}

// RequestAt implements broker.Log. An error wraps broker.ErrUnavailable.
func (s *Stream) RequestAt(ctx context.Context, seq uint64) (string, error) {
	ask, err := json.Marshal(map[string]uint64{"seq": max(seq, 1)})
	if err != nil {
		return "", fmt.Errorf("the record at %d: %w", seq, err)
	}
	m, err := s.record.message(ctx, RecordStream, ask)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the record at %d: %w", seq, err)
	}
	rec, err := messageRecord(m.header, m.body, m.seq)
	if err != nil || rec.Step != hook.StepAsked || m.seq != seq {
		return "", nil // a message that is no record is nobody's
	}
	return rec.RequestID, nil
}

// Tail implements broker.Log. A message that is no record is logged and passed over.
func (s *Stream) Tail(ctx context.Context, from uint64, apply func(hook.Record), caughtUp func()) error {
	f := s.recordFollower(follow.Cursor{Seq: from, Made: s.observed.records()}, func(rec hook.Record) {
		if rec.ID != "" {
			apply(rec)
		}
	})
	f.counts = s.observed.setRecords
	f.caughtUp = caughtUp
	return f.run(ctx)
}

// RecordsAfter calls fn with every record behind the cursor c, in order, each once, and goes on with
// new ones until ctx is done; it returns ctx's error, or ErrClosed, or follow.ErrAnew when the stream
// that c counts in was made anew. A message that is no record comes as one with nothing but its Seq.
func (s *Stream) RecordsAfter(ctx context.Context, c follow.Cursor, fn func(hook.Record)) error {
	f := s.recordFollower(c, fn)
	f.anew = follow.ErrAnew
	return f.run(ctx)
}

// RecordsNow returns what cursors in the records are compared with. An error wraps
// broker.ErrUnavailable.
func (s *Stream) RecordsNow(ctx context.Context) (follow.Stream, error) {
	now, err := s.record.streamNow(ctx, s.record.js, RecordStream)
	if err != nil {
		return now, fmt.Errorf("the record: %w", err)
	}
	return now, nil
}

func (s *Stream) recordFollower(after follow.Cursor, apply func(hook.Record)) *follower {
	return &follower{
		engine: s.record, js: s.record.js, stream: RecordStream, at: after, shared: s.recordReader,
		apply: func(d *delivery) {
			rec, err := d.record()
			if err != nil {
				s.logf("record: passing over a message: %v", err)
				rec = hook.Record{Seq: d.seq}
			}
			rec.Stored = s.record.clock.stored(d.stored)
			apply(rec)
		},
	}
}
