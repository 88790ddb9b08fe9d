package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/store/follow"
)

// readTimeout bounds a read that the server should answer from memory or disk at once.
const readTimeout = 700 * time.Millisecond

// follower reads one stream in order, from one sequence on, each message once. It keeps no
// state in the server that matters: whenever anything is odd (the connection was lost, the
// server restarted, its consumer is gone, a delivery is missing) it makes a new consumer
// behind the last message it applied.
type follower struct {
	engine  *engine
	js      jetstream.JetStream
	stream  string
	filter  string        // subject; empty means all
	at      follow.Cursor // the message last applied, or to begin behind
	onlyNew bool          // begin behind the newest message, at is not set
	anew    error         // what run returns of a stream that was made anew; nil: all of it is read
	whole   bool          // run returns anew of a stream that has lost its end, too
	lossy   bool          // a power cut may take the stream's last messages and reuse their sequences
	applied bool          // something was applied
	holes   int           // how often messages were gone between two
	apply   func(*delivery)
	// shared is the reader of the whole stream that others read along with; nil: there is none.
	shared *shared
	// began is called with the session and the cursor behind which messages are read from then on, ended when they are
	// no more. Both may be nil.
	began func(context.Context, follow.Cursor)
	ended func()
	quiet bool // what it would log, others do who follow the same
	// counts is called with a stream when the sequences of its messages are those that the follower has
	// told: when it begins in the one it was in, and behind the first message of another. May be nil.
	counts func(made time.Time)
	// caughtUp is called once, when all that was there at the start is applied. May be nil.
	caughtUp func()
}

// errOdd says that the consumer has to be made anew. It is not logged.
var errOdd = errors.New("the consumer has to be made anew")

// run follows until ctx is done and returns its error, or ErrClosed, or what f.anew is.
func (f *follower) run(ctx context.Context) error {
	if f.shared != nil {
		defer f.shared.enter(f.js)()
	}
	const shortest, longest = 5 * time.Millisecond, 500 * time.Millisecond
	pause := shortest
	lastLogged := ""
	for {
		session := f.engine.currentSession()
		before := f.at
		err := f.pass(ctx, session)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case f.engine.ctx.Err() != nil:
			return ErrClosed
		case f.anew != nil && errors.Is(err, f.anew):
			return err
		}
		if f.at.Seq != before.Seq {
			pause, lastLogged = shortest, ""
		}
		if session.Err() == nil && f.engine.healthy() == nil && !errors.Is(err, errOdd) && err.Error() != lastLogged {
			lastLogged = err.Error()
			f.logf("%s: reading %s was interrupted, going on: %v", f.engine.kind.name, f.stream, err)
		}
		select {
		case <-ctx.Done():
		case <-session.Done():
		case <-time.After(pause):
			pause = min(2*pause, longest)
		}
	}
}

// pass applies what is delivered until something is wrong: to a consumer of its own, and once that has caught up to all
// who read along.
func (f *follower) pass(ctx, session context.Context) error {
	if session.Err() != nil {
		return errOdd
	}
	along, err := f.consume(ctx, session)
	if along == nil {
		return err
	}
	defer along.leave()
	for {
		d, err := along.next(ctx, session)
		if err != nil {
			return err
		}
		if ctx.Err() != nil || session.Err() != nil || d.seq <= f.at.Seq {
			return errOdd
		}
		f.take(d)
	}
}

// consume makes a consumer and applies what it delivers until something is wrong, or until f may read along.
func (f *follower) consume(ctx, session context.Context) (*companion, error) {
	createCtx, cancel := context.WithTimeout(ctx, 2*f.engine.answerTime())
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	if err := f.findStart(createCtx); err != nil {
		return nil, err
	}
	consumer, err := f.js.CreateConsumer(createCtx, f.stream, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       f.at.Seq + 1,
		FilterSubject:     f.filter,
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("make a consumer: %w", err)
	}
	info := consumer.CachedInfo()
	defer f.drop(info.Name)
	// The consumer may be another stream's than the one that was looked at.
	begin := f.at
	if err := f.findStart(createCtx); err != nil {
		return nil, err
	}
	if f.at != begin {
		return nil, errOdd
	}
	missing := info.NumPending
	if missing == 0 {
		f.reached()
		if along := f.join(session); along != nil {
			return along, nil
		}
	}
	if f.began != nil {
		f.began(session, f.at)
		defer f.ended()
	}
	messages, err := consumer.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(4096, 16<<20),
		jetstream.PullExpiry(30*time.Second),
		jetstream.PullHeartbeat(time.Second),
		jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	defer context.AfterFunc(session, messages.Stop)()
	for delivered := uint64(1); ; delivered++ {
		m, err := f.next(ctx, messages)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		if ctx.Err() != nil || session.Err() != nil {
			return nil, errOdd // what is still in the buffer is read again, or not wanted
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		if meta.Sequence.Consumer != delivered || meta.Sequence.Stream <= f.at.Seq {
			return nil, errOdd // a delivery was lost on the way
		}
		if err := f.enter(ctx, session, m, meta); err != nil {
			return nil, err
		}
		f.take(&delivery{Msg: m, seq: meta.Sequence.Stream, stored: meta.Timestamp})
		if delivered >= missing || meta.NumPending == 0 {
			f.reached()
		}
		if meta.NumPending == 0 {
			if along := f.join(session); along != nil {
				return along, nil
			}
		}
	}
}

// join lets f read along if it can.
func (f *follower) join(session context.Context) *companion {
	if f.shared == nil || f.caughtUp != nil {
		return nil
	}
	return f.shared.join(session, f.at)
}

// take applies a message.
func (f *follower) take(d *delivery) {
	if f.at.Seq > 0 && f.filter == "" && d.seq > f.at.Seq+1 {
		// Too old, forgotten, or in a damaged block, of which the server says nothing. A session that
		// was forgotten leaves thousands of holes: the log gets a line when their number has doubled.
		if f.holes++; f.holes&(f.holes-1) == 0 {
			f.logf("%s: %s: messages %d to %d are gone, skipping them (hole %d)", f.engine.kind.name, f.stream, f.at.Seq+1, d.seq-1, f.holes)
		}
	}
	f.apply(d)
	if f.at.Seq, f.applied = d.seq, true; f.counts != nil {
		f.counts(f.at.Made)
	}
}

func (f *follower) logf(format string, args ...any) {
	if !f.quiet {
		f.engine.logf(format, args...)
	}
}

// enter returns when a message that was delivered is in the mark of the record.
func (f *follower) enter(ctx, session context.Context, m jetstream.Msg, meta *jetstream.MsgMetadata) error {
	if f.engine.enter == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	return f.engine.enter(ctx, f.stream, rawMessage{seq: meta.Sequence.Stream, subject: m.Subject(), header: m.Headers(), body: m.Data()})
}

// next returns the next message. Before the follower has caught up it does not wait for long:
// if the messages it counts on were removed meanwhile, a new consumer knows. Damaged ones at
// the end of the stream it counts for ever and never delivers; the leader's own read tells.
func (f *follower) next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	if f.caughtUp == nil {
		return messages.Next()
	}
	m, err := messages.Next(jetstream.NextMaxWait(time.Second))
	if err != nil && errors.Is(f.look(ctx), jetstream.ErrMsgNotFound) {
		f.logf("%s: %s: what stands behind message %d cannot be read, going on without it", f.engine.kind.name, f.stream, f.at.Seq)
		f.reached()
	}
	if err != nil {
		return nil, errOdd
	}
	return m, nil
}

// look asks the stream's leader for the next message.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.engine.answerTime())
	defer cancel()
	subject := f.filter
	if subject == "" {
		subject = ">"
	}
	_, err := f.engine.firstMessage(ctx, f.stream, subject, f.at.Seq+1)
	return err
}

// reached says, once, that the follower has caught up.
func (f *follower) reached() {
	if f.caughtUp != nil {
		f.caughtUp()
		f.caughtUp = nil
	}
}

// findStart finds where to begin, and notices a stream that is not the one that was read, or has less:
// after a restart it may have lost its unsynced end, and will give its sequences to others.
func (f *follower) findStart(ctx context.Context) error {
	now, err := f.engine.streamNow(ctx, f.js, f.stream)
	if err != nil {
		return err
	}
	if f.onlyNew {
		f.onlyNew, f.at = false, follow.Cursor{Seq: now.Last, Made: now.Made}
		return nil
	}
	was := f.at
	next, found := was.Resume(now)
	if f.anew != nil && (found == follow.Anew || found == follow.Shorter && f.whole) {
		return fmt.Errorf("%s: %w", f.stream, f.anew)
	}
	if found == follow.Shorter && !f.lossy && !f.applied {
		found, next.Seq = follow.Anew, 0 // it loses nothing by itself: what it has now was not read
	}
	f.at = next
	switch {
	case found != follow.Same:
		f.logf("%s: %s", f.engine.kind.name, found.Explain(f.stream, was, now))
	case f.counts != nil:
		f.counts(now.Made)
	}
	return nil
}

// streamNow asks the server for what a cursor in a stream is compared with.
func (e *engine) streamNow(ctx context.Context, js jetstream.JetStream, name string) (follow.Stream, error) {
	info, err := e.streamInfo(ctx, js, name)
	if err != nil {
		return follow.Stream{}, err
	}
	return follow.Stream{Made: info.Created, Last: info.State.LastSeq}, nil
}

// drop removes the consumer, so that it does not stay until its threshold. It is a courtesy:
// it waits for no answer.
func (f *follower) drop(name string) {
	_ = f.engine.nc.Publish("$JS.API.CONSUMER.DELETE."+f.stream+"."+name, nil)
}
