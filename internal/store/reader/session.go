package reader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/stream"
)

// ackWait is when the server hands out anew what was not acknowledged. A reader that is slow
// to print knows such an event when it comes again.
const ackWait = 2 * time.Second

// session connects, finds or makes the consumer, and reads until something is odd.
func (s *subscription) session(ctx context.Context) error {
	info, err := s.info()
	if err != nil {
		return err
	}
	// An acknowledgement may still go out when ctx is done, but not without a connection.
	conn, lost := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lost(nil)
	nc, js, err := dial(info, nats.ClosedHandler(func(nc *nats.Conn) {
		why := errors.New("the connection was lost")
		if err := nc.LastError(); err != nil {
			why = fmt.Errorf("%w: %w", why, err)
		}
		lost(why)
	}))
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(conn, cancel)()

	consumer, err := s.consumer(ctx, js, info.Stream)
	if err != nil {
		return orCause(conn, err)
	}
	if s.opt.Durable == "" {
		defer func() { // a courtesy: it would go away by itself in a minute
			ctx, cancel := context.WithTimeout(conn, time.Second)
			defer cancel()
			_ = js.DeleteConsumer(ctx, info.Stream, consumer.CachedInfo().Name)
		}()
	}
	// A durable reader asks for an event when the one before is done with: what was on its way
	// to a reader that ended would come late to the next one, behind younger events.
	ahead := jetstream.PullMessagesOpt(jetstream.PullMaxMessages(1))
	if s.opt.Durable == "" {
		ahead = jetstream.PullMaxMessagesWithBytesLimit(4096, 16<<20)
	}
	messages, err := consumer.Messages(ahead,
		jetstream.PullExpiry(30*time.Second), jetstream.PullHeartbeat(5*time.Second), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("read %s: %w", info.Stream, err)
	}
	defer messages.Stop()
	if s.away != "" {
		s.away = ""
		s.opt.Logf("the event stream is back")
	}
	s.began, s.reading = true, true
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return orCause(conn, fmt.Errorf("read %s: %w", info.Stream, err))
		}
		if err := s.take(m); err != nil {
			return err
		}
		if s.opt.Durable != "" {
			ackCtx, cancel := context.WithTimeout(conn, answerTimeout)
			err := m.DoubleAck(ackCtx)
			cancel()
			if err != nil {
				return orCause(conn, fmt.Errorf("acknowledge: %w", err))
			}
		}
		if s.opt.Count > 0 && s.seen >= s.opt.Count {
			return errEnough
		}
	}
}

// orCause is err, or why the connection was lost if it was.
func orCause(conn context.Context, err error) error {
	if conn.Err() != nil {
		return context.Cause(conn)
	}
	return err
}

// consumer finds the stream as it is and finds or makes this session's consumer on it.
func (s *subscription) consumer(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	window, err := js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	consumer, err := s.find(ctx, window)
	if err != nil {
		return nil, err
	}
	if consumer != nil {
		s.last = max(s.last, s.cursor.of(consumer.CachedInfo().Created).stream)
	}
	rewound, err := s.checkEnd(window.CachedInfo())
	if err != nil {
		return nil, err
	}
	if consumer == nil {
		if consumer, err = window.CreateConsumer(ctx, s.config()); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		s.cursor.of(consumer.CachedInfo().Created)
	}
	info := consumer.CachedInfo()
	s.tally = tally{info.Delivered.Consumer, info.Delivered.Stream}
	if !s.began {
		s.earlier = info.Delivered.Stream
	}
	if rewound { // the server says where it stood before
		s.tally.stream = min(s.tally.stream, s.last)
	}
	switch ours := s.cursor.of(info.Created); {
	case s.began && s.opt.Durable == "":
		// Made to go on behind s.last, it begins behind what was evicted meanwhile.
		s.tally.stream = s.last
		return consumer, nil
	case ours.consumer > 0 && info.Delivered.Consumer == ours.consumer+1:
		// The one delivery since was on its way to us. If it does not come again, we missed it.
		s.tally.stream = min(s.tally.stream, ours.stream)
	}
	// What somebody got without acknowledging it may yet come to us.
	acked := info.Delivered.Stream - min(info.Delivered.Stream, uint64(info.NumAckPending))
	s.last = max(s.last, min(s.tally.stream, acked))
	return consumer, nil
}

// checkEnd notices a stream that ends before what was read, and one that does not go as far
// back as asked.
func (s *subscription) checkEnd(info *jetstream.StreamInfo) (rewound bool, err error) {
	ends := info.State.LastSeq
	if s.began && !info.Created.Equal(s.made) {
		ends = 0
	}
	s.made = info.Created
	if ends < s.last {
		if err := s.opt.Marker(rewindMarker(ends, s.last)); err != nil {
			return true, finalError{err}
		}
		s.last = ends
		if err := s.cursor.put(tally{stream: ends}); err != nil {
			return true, finalError{err}
		}
		rewound = true
	}
	if since := s.opt.Since; !s.began && !since.IsZero() && info.State.FirstSeq > 1 && info.State.FirstTime.After(since) {
		s.opt.Logf("the oldest event kept is of %s; what came before is gone", info.State.FirstTime.Local().Format(time.DateTime))
	}
	return rewound, nil
}

// find returns the durable consumer that is there, nil if none is.
func (s *subscription) find(ctx context.Context, window jetstream.Stream) (jetstream.Consumer, error) {
	if s.opt.Durable == "" {
		return nil, nil
	}
	c, err := window.Consumer(ctx, s.opt.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if errors.Is(err, jetstream.ErrNotPullConsumer) {
		return nil, finalError{s.foreign()}
	}
	if err != nil {
		return nil, fmt.Errorf("durable %s: %w", s.opt.Durable, err)
	}
	have, want := c.CachedInfo().Config, s.config()
	if have.FilterSubject != want.FilterSubject || len(have.FilterSubjects) > 0 || have.AckPolicy != want.AckPolicy || have.MaxAckPending != want.MaxAckPending {
		return nil, finalError{s.foreign()}
	}
	if !s.began {
		if s.opt.All || !s.opt.Since.IsZero() {
			s.opt.Logf("the durable %s is there and goes on where it stopped; --all and --since count for a new one", s.opt.Durable)
		}
		if c.CachedInfo().NumWaiting > 0 {
			s.share()
		}
	}
	return c, nil
}

func (s *subscription) foreign() error {
	return fmt.Errorf("the durable %s was made by another kind of program; choose another name", s.opt.Durable)
}

// share logs, once, that another reader has the same name.
func (s *subscription) share() {
	if !s.shared {
		s.shared = true
		s.opt.Logf("another reader goes by the name %s: each event goes to only one of you", s.opt.Durable)
	}
}

// config is that of a new consumer. It has no filter: who sees all events can tell what is
// missing between two of them.
func (s *subscription) config() jetstream.ConsumerConfig {
	cfg := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1,
		DeliverPolicy: jetstream.DeliverNewPolicy,
	}
	if s.opt.Durable != "" {
		cfg = jetstream.ConsumerConfig{
			Durable: s.opt.Durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.opt.ackWait, DeliverPolicy: jetstream.DeliverNewPolicy,
			MaxAckPending: 1, // one at a time keeps the order across redelivery
		}
	}
	switch {
	case s.began:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, s.last+1
	case s.opt.All:
		cfg.DeliverPolicy = jetstream.DeliverAllPolicy
	case !s.opt.Since.IsZero():
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &s.opt.Since
	}
	return cfg
}

// take hands out one delivery, unless it was handed out before or is not wanted.
func (s *subscription) take(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	at := tally{meta.Sequence.Consumer, meta.Sequence.Stream}
	seq, before := at.stream, max(s.tally.stream, s.last)
	missed, others := s.tally.next(at)
	if others > 0 && s.opt.Durable == "" {
		return errOdd // a delivery was lost on the way
	}
	if others > 0 && meta.NumDelivered == 1 {
		s.share()
	}
	if seq <= s.last {
		return s.noted(at)
	}
	if missed = min(missed, seq-before-1); missed > 0 {
		if err := s.opt.Marker(gapMarker(missed, before+1, seq-1, s.opt.Filter)); err != nil {
			return finalError{err}
		}
	}
	if e := stream.EventOf(m, seq, meta.Timestamp); s.opt.Filter == "" || e.Type == s.opt.Filter || m.Subject() == hook.Subject(s.opt.Filter) {
		// What this process alone could have got and did not, was lost on the way to it.
		if meta.NumDelivered > 1 && (seq <= s.earlier || s.shared) {
			if err := s.opt.Marker(repeatMarker(seq)); err != nil {
				return finalError{err}
			}
		}
		if err := s.fn(e); err != nil {
			return finalError{err}
		}
		s.seen++
	}
	s.last = seq
	return s.noted(at)
}

// noted remembers a delivery that is dealt with.
func (s *subscription) noted(at tally) error {
	at.stream = max(at.stream, s.last)
	if err := s.cursor.put(at); err != nil {
		return finalError{err}
	}
	return nil
}
